// The records of other services that lead to a record, below it.
import { element, replace, table } from '../dom.js'
import { address } from '../paths.js'
import { toText } from '../query.js'
import { fieldsOf, isKey, NAMES, valueOf } from '../schema.js'
import { Names, recordLink, show } from '../values.js'

const SIZE = 5
const COLUMNS = 4

// Returns the fields that lead to the records of a service, of those that the caller finds.
function shownReferrers ({ services }, { referrers = [] }) {
  const isShown = service => service?.methods.includes('find') && !service.placeholders.length
  return referrers.filter(({ path }) => isShown(services.get(path)))
}

// Returns links to the records that lead to those with some keys, or null if the caller finds none.
export async function referrersOf (explorer, service, keys) {
  const { connection } = explorer
  const links = await Promise.all(shownReferrers(explorer, service).map(async ({ path, field }) => {
    await connection.load(path)
    const query = { [field]: keys.length === 1 ? keys[0] : { $in: keys } }
    const found = await connection.service(path).find({ query: { ...query, $limit: 1 } })
    const isThere = (found.data ?? found).length > 0
    const count = found.total?.toLocaleString() ?? 'Some'
    return isThere ? element('li', {}, element('a', { href: address('records', [path], toText(query)) }, `${count} ${path}`), ` by ${field}`) : null
  }))
  return links.some(Boolean) ? element('ul', {}, links) : null
}

// Returns a section for each field that leads to the record, which appears once it has loaded.
export function relatedRecords (explorer, service, record, signal) {
  const key = record[service.id]
  const shown = isKey(key) ? shownReferrers(explorer, service) : []
  return shown.map(({ path, field }) => {
    const place = element('section', { class: 'stack', 'aria-label': `${path} by ${field}` })
    load(explorer, explorer.services.get(path), field, key, place, signal)
    return place
  })
}

async function load (explorer, service, field, key, place, signal) {
  const { connection } = explorer
  const query = { [field]: key }
  try {
    await connection.load(service.path)
    const answer = await connection.service(service.path).find({ query: { ...query, $limit: SIZE } })
    if (signal.aborted) return
    const records = (answer.data ?? answer).slice(0, SIZE)
    replace(place, head(service, field, query, answer.total), records.length ? recordsTable(explorer, service, field, records) : null)
    await new Names(explorer).fill(place)
  } catch (error) {
    replace(place, head(service, field, query), element('p', { class: 'soft' }, error.message))
  }
}

function head (service, field, query, total) {
  const { path, methods } = service
  const count = total === undefined ? 'All' : total === 0 ? 'None' : `All ${total.toLocaleString()}`
  return element('div', { class: 'row' },
    element('h2', {}, path, ' ', element('span', { class: 'soft' }, `by ${field}`)),
    element('a', { href: address('records', [path], toText(query)), 'aria-label': `${count} ${path}` }, count),
    methods.includes('create') ? element('a', { href: address('create', [path], toText(query)), 'aria-label': `New record of ${path}` }, 'New') : null)
}

// The fields that name a record come first, and the one that is the same in all is left out.
function columnsOf (service, field) {
  const place = ({ name }) => NAMES.includes(name) ? NAMES.indexOf(name) : NAMES.length
  return fieldsOf(service).filter(({ name, isId }) => !isId && name !== field).sort((one, other) => place(one) - place(other)).slice(0, COLUMNS)
}

function recordsTable (explorer, service, field, records) {
  const columns = columnsOf(service, field)
  const heads = [service.id, ...columns.map(({ name }) => name)]
  const rows = records.map(record => [recordLink(service, record[service.id]), ...columns.map(column => show(valueOf(record, column.name), column, explorer))])
  return table(`Records of ${service.path}`, heads, rows, { caption: null, class: 'scroll records' })
}
