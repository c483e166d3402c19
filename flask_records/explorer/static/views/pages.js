// Pages of records, by number or by key.
import { button, element } from '../dom.js'
import { isKey } from '../schema.js'
import { remember, remembered } from './table.js'

const SIZES = [10, 25, 50, 100, 250]
const DEFAULT = 25
const LARGE = 1000
const OPPOSITE = { $gt: '$lt', $lt: '$gt' }

export class Pages {
  constructor ({ service, fields }) {
    this.service = service
    const id = fields.find(({ isId }) => isId)
    const names = id?.operators.map(({ name }) => name) ?? []
    this.hasKeys = Boolean(id?.isSortable) && names.includes('$gt') && names.includes('$lt')
  }

  // Keys need an order by the identifier alone.
  isByKey ({ $sort = {} }) {
    const { id, isPaged, path } = this.service
    const isOrdered = Object.keys($sort).every(name => name === id)
    return this.hasKeys && isOrdered && remembered('pages', path, isPaged ? 'number' : 'key') === 'key'
  }

  sizeOf ({ $limit }) {
    return $limit ?? this.service.pageSize ?? Math.min(DEFAULT, this.service.maxPageSize ?? DEFAULT)
  }

  // Returns the query that is sent for one of the address.
  sent (query) {
    const { id, pageSize } = this.service
    const sort = this.isByKey(query) && !query.$sort ? { $sort: { [id]: 1 } } : {}
    return { ...query, ...sort, ...(pageSize ? {} : { $limit: this.sizeOf(query) }) }
  }

  // The side of the key on which the records are.
  side (query) {
    return query.$sort?.[this.service.id] === -1 ? '$lt' : '$gt'
  }

  keyOf (query) {
    return this.isByKey(query) ? query[this.service.id]?.[this.side(query)] : undefined
  }

  // Returns the query of the page after a key, or of the first one.
  after (query, key) {
    const { id } = this.service
    const side = this.side(query)
    const { [id]: compared, $skip, ...others } = query
    const { [side]: before, ...rest } = compared !== null && typeof compared === 'object' ? compared : {}
    const isSame = compared !== undefined && (compared === null || typeof compared !== 'object')
    if (isSame) return { ...others, [id]: compared }
    const conditions = key === undefined ? rest : { ...rest, [side]: key }
    return Object.keys(conditions).length ? { ...others, [id]: conditions } : others
  }

  // Returns a query from its first page on.
  first (query) {
    const { $skip, ...others } = query
    return this.isByKey(query) ? this.after(others) : others
  }

  // Finds the page before the one that begins with a record.
  async before (query, record, find) {
    const { id } = this.service
    if (!record) return this.first(query)
    const side = this.side(query)
    const { $populate, ...others } = this.after(query)
    const turned = { ...others, [id]: { ...others[id], [OPPOSITE[side]]: record[id] }, $sort: { [id]: side === '$gt' ? -1 : 1 } }
    const { records } = await find({ ...turned, $select: [id], $skip: this.sizeOf(query), $limit: 1 })
    return this.after(query, records[0]?.[id])
  }
}

// Returns what is below a table: the pages, their size and their way.
export function pagesOf (view) {
  const { pages, query } = view
  const isByKey = pages.isByKey(query)
  const links = isByKey ? byKey(view) : byNumber(view)
  return [
    links.some(Boolean) ? element('nav', { 'aria-label': 'Pages of records' }, element('ul', {}, links.map(link => element('li', {}, link)))) : null,
    element('div', { class: 'row' }, sizes(view), isSwitched(view, isByKey) ? ways(view, isByKey) : null)
  ]
}

export function placeOf ({ pages, query, records, total }) {
  const count = number => `${number.toLocaleString()} ${number === 1 ? 'record' : 'records'}`
  const skip = query.$skip ?? 0
  if (records.length === 0) return 'No records'
  if (pages.isByKey(query)) {
    const isFirst = pages.keyOf(query) === undefined && records.length >= pages.sizeOf(query)
    return total === undefined ? `${isFirst ? 'The first ' : ''}${count(records.length)}` : `${count(records.length)}, ${(total - records.length).toLocaleString()} after them`
  }
  const range = `${(skip + 1).toLocaleString()}–${(skip + records.length).toLocaleString()}`
  return total === undefined ? range : `${range} of ${count(total)}`
}

function byKey (view) {
  const { pages, query, records, total, service } = view
  const size = pages.sizeOf(query)
  const hasNext = isKey(records.at(-1)?.[service.id]) && (total === undefined ? records.length >= size : total > records.length)
  const back = async () => view.go(await pages.before(query, records[0], each => view.find(each)))
  return [
    pages.keyOf(query) === undefined ? null : button('‹ Previous', back, { 'data-key': 'previous' }),
    hasNext ? view.link('Next ›', pages.after(query, records.at(-1)[service.id]), { class: 'button', 'data-key': 'next' }) : null
  ]
}

function byNumber (view) {
  const { pages, query, records, total } = view
  const size = pages.sizeOf(query) || 1
  const skip = query.$skip ?? 0
  const current = Math.floor(skip / size) + 1
  const last = total === undefined ? null : Math.max(1, Math.ceil(total / size))
  const isLast = last === null ? records.length < size : current >= last
  const link = (label, number, attributes) => {
    const { $skip, ...others } = query
    return view.link(label, number === 1 ? others : { ...others, $skip: (number - 1) * size }, { class: 'button', 'data-key': `page ${label}`, ...attributes })
  }
  const numbers = last === null || last === 1 ? [] : shownNumbers(current, last).map(number => number === null
    ? element('span', { class: 'soft' }, '…')
    : link(number.toLocaleString(), number, { 'aria-label': `Page ${number.toLocaleString()}`, 'aria-current': number === current ? 'page' : null }))
  return [
    current > 1 ? link('‹ Previous', current - 1) : null,
    ...numbers,
    isLast ? null : link('Next ›', current + 1)
  ].filter(Boolean)
}

// The first and the last page, and those around the current one. Null is a gap.
function shownNumbers (current, last) {
  const near = [1, current - 1, current, current + 1, last].filter(number => number >= 1 && number <= last)
  const numbers = [...new Set(near)].sort((a, b) => a - b)
  return numbers.flatMap((number, index) => index && number > numbers[index - 1] + 1 ? [null, number] : [number])
}

function sizes (view) {
  const { pages, query, service } = view
  const current = pages.sizeOf(query)
  const most = service.maxPageSize ?? Infinity
  const all = [...new Set([...SIZES.filter(size => size <= most), service.pageSize, current].filter(Number.isInteger))].sort((a, b) => a - b)
  const select = element('select', { 'data-key': 'size' }, all.map(size => element('option', { value: size, selected: size === current }, String(size))))
  select.addEventListener('change', () => {
    const size = Number(select.value)
    view.go({ ...pages.first(query), $limit: size === service.pageSize ? undefined : size })
  })
  return element('label', { class: 'check' }, 'Rows', select)
}

const isSwitched = ({ pages, service, total }, isByKey) => pages.hasKeys && (isByKey || !service.isPaged || total >= LARGE)

function ways (view, isByKey) {
  const { pages, query, service } = view
  const choose = isKey => () => {
    const start = pages.first(query)
    remember('pages', service.path, isKey ? 'key' : 'number')
    const { [service.id]: way } = query.$sort ?? {}
    view.go(isKey ? { ...start, $sort: way ? { [service.id]: way } : undefined } : start)
  }
  const way = (label, isKey) => element('label', { class: 'check' },
    element('input', { type: 'radio', name: 'pages', checked: isByKey === isKey, 'data-key': `way ${label}`, onchange: choose(isKey) }), label)
  return element('fieldset', { class: 'row plain' }, element('legend', { class: 'unseen' }, 'Pages'), way('By number', false), way('By key', true))
}
