// The export of the records that a filter and a search leave, as CSV or JSON.
import { announce, attempt, button, download, element } from '../dom.js'
import { BYTE_ORDER_MARK, toLine } from '../csv.js'
import { isRounded, ROUNDED, valueOf } from '../schema.js'

const SIZE = 500
const KINDS = {
  CSV: { type: 'text/csv', start: names => BYTE_ORDER_MARK + toLine(names), line: toLine, end: '' },
  JSON: {
    type: 'application/json',
    start: () => '[',
    line: (values, names, index) => `${index ? ',' : ''}\n${JSON.stringify(Object.fromEntries(names.map((name, place) => [name, values[place]])))}`,
    end: '\n]\n'
  }
}

export function exportPanel (view) {
  const stop = new AbortController()
  const status = element('span', { class: 'soft', role: 'status' })
  const cancel = button('Cancel', () => stop.abort(), { hidden: true })
  const start = async kind => {
    cancel.hidden = false
    const isDone = await save(view, kind, AbortSignal.any([stop.signal, view.signal]), count => { status.textContent = `${count.toLocaleString()} records` })
    cancel.hidden = true
    if (!isDone) status.textContent = 'Cancelled.'
  }
  const buttons = Object.keys(KINDS).map(kind => button(kind, event => attempt(event.target, () => start(kind))))
  return element('div', { class: 'stack' },
    element('p', {}, 'All records that match the filter and the search, with the columns that are shown.'),
    element('div', { class: 'row' }, buttons, cancel, status))
}

// Saves the records in a file. Returns whether it was not stopped.
async function save (view, kind, signal, tell) {
  const { type, start, line, end } = KINDS[kind]
  const columns = view.shown
  const names = columns.map(({ name }) => name)
  const parts = [start(names)]
  let count = 0
  let isExact = true
  for await (const records of allPages(view)) {
    if (signal.aborted) return false
    for (const record of records) {
      parts.push(line(columns.map(({ name }) => valueOf(record, name)), names, count++))
      isExact &&= !columns.some(column => isRounded(valueOf(record, column.name), column))
    }
    tell(count)
  }
  download(new Blob([...parts, end], { type }), `${view.service.path.replaceAll('/', '-')}.${kind.toLowerCase()}`)
  if (!isExact) announce(`The file has other numbers than the database. ${ROUNDED}`, 'error')
  return true
}

// Yields the records, page by page: by key where the order allows it, since that is fast.
async function * allPages (view) {
  const { pages, service, query } = view
  const { $sort, $populate } = query
  const isByKey = pages.hasKeys && Object.keys($sort ?? {}).every(name => name === service.id)
  const size = Math.min(SIZE, service.maxPageSize ?? SIZE)
  let next = { ...view.conditions, $search: query.$search, $populate, $sort: isByKey ? $sort ?? { [service.id]: 1 } : $sort, $limit: size }
  for (;;) {
    const { records, error } = await view.find(next)
    if (error) throw error
    yield records
    if (records.length < size) return
    next = isByKey ? pages.after(next, records.at(-1)[service.id]) : { ...next, $skip: (next.$skip ?? 0) + size }
  }
}
