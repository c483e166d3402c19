// Records as this page shows them: their values, their names, and links to them.
import { button, download, element } from './dom.js'
import { address } from './paths.js'
import { isKey, isRounded, NAMES, ROUNDED } from './schema.js'

const LONGEST = 120
const BYTES = 8
const NAMED_AT_ONCE = 100
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const BY_KIND = {
  datetime: moment,
  date: time,
  time,
  enum: value => element('span', { class: 'tag' }, text(value)),
  binary
}
const BY_TYPE = {
  string: words,
  number: value => element('span', { class: 'number' }, String(value)),
  boolean: value => element('span', { class: `boolean ${value ? 'true' : 'false'}` }, String(value)),
  object: value => Array.isArray(value) ? list(value) : json(value)
}

// The text that names a record, if it has one.
export const titleOf = record => NAMES.map(key => record?.[key]).find(value => typeof value === 'string' && value)

// A short name of a user, or of any record.
export function nameOf (record) {
  return titleOf(record) ?? (record ? Object.values(record).find(value => value !== null && typeof value !== 'object')?.toString() ?? 'A record' : 'Nobody')
}

// Returns a node for a value. Null, an empty text and a value that is not there differ.
export function show (value, field, explorer) {
  if (value === undefined) return element('span', { class: 'absent', title: 'Not in the answer' }, '–')
  if (value === null) return element('span', { class: 'null' }, 'null')
  if (value === '') return element('span', { class: 'empty' }, field.kind === 'binary' ? '0 bytes' : 'empty text')
  if (isRounded(value, field) && !isLoaded(value, field)) return rounded(value)
  if (field.relation) return related(value, field.relation, explorer)
  const isText = typeof value === 'string'
  return (isText && BY_KIND[field.kind] ? BY_KIND[field.kind] : BY_TYPE[typeof value])(value, field)
}

// Returns a value as one line of text, with times in the reader's zone.
export function text (value, { kind } = {}) {
  const date = kind === 'datetime' ? new Date(value) : null
  if (date?.getTime()) return MOMENT.format(date)
  return typeof value === 'string' ? value : JSON.stringify(value) ?? ''
}

const isLoaded = (value, { relation }) => relation !== null && typeof value === 'object'

function related (value, relation, explorer) {
  if (Array.isArray(value)) {
    return element('span', { class: 'related' }, value.length ? value.map(each => related(each, relation, explorer)) : element('span', { class: 'empty' }, 'none'))
  }
  const service = explorer.services.get(relation.path)
  const isRecord = value !== null && typeof value === 'object'
  const id = isRecord ? value[service?.id ?? 'id'] : value
  const link = recordLink(service, id, isRecord ? nameOf(value) : String(value), { title: `${relation.path} ${id}` })
  if (isRecord || !service || !isKey(id)) return link
  const name = Object.assign(element('span', { class: 'soft name' }), { reference: { path: relation.path, key: id } })
  return element('span', { class: 'reference' }, link, ' ', name)
}

function moment (value) {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return words(value)
  const utc = date.toISOString()
  return element('time', { datetime: utc, title: `${utc.replace('T', ' ').replace('Z', '')} UTC` }, MOMENT.format(date))
}

function rounded (value) {
  return element('span', { class: 'number', title: ROUNDED }, '≈ ', typeof value === 'object' ? json(value) : String(value))
}

function time (value) {
  return element('time', { datetime: value }, value)
}

function words (value) {
  return /^https?:\/\/[^\s<>"]+$/i.test(value) && value.length < 2000
    ? element('a', { href: value, rel: 'noopener noreferrer', target: '_blank' }, start(value, LONGEST))
    : cut(value, 'text')
}

function json (value) {
  const flat = JSON.stringify(value)
  return flat.length > LONGEST ? cut(flat, 'code', JSON.stringify(value, null, 2)) : element('code', {}, flat)
}

function list (value) {
  const isFlat = value.length > 0 && value.every(each => each !== null && typeof each !== 'object')
  if (!isFlat || JSON.stringify(value).length > LONGEST) return json(value)
  return element('span', { class: 'list' }, value.map(each => element('span', { class: 'tag' }, text(each))))
}

// The beginnings of pictures as base64, with their types.
const PICTURES = { iVBORw: 'png', '/9j/': 'jpeg', R0lGOD: 'gif', UklGR: 'webp' }

// Returns the size of a file, its first bytes, its picture, if it is one, and a button that saves it.
export function binary (value, { name }) {
  const size = value.replace(/=+$/, '').length * 3 >> 2
  const amount = `${size.toLocaleString()} ${size === 1 ? 'byte' : 'bytes'}`
  const [, kind] = Object.entries(PICTURES).find(([start]) => value.startsWith(start)) ?? []
  const src = `data:image/${kind};base64,${value}`
  const save = () => download(new Blob([Uint8Array.from(atob(value), each => each.charCodeAt(0))]), `${name}.${kind ?? 'bin'}`)
  return element('span', { class: 'binary' }, amount, ' ', element('code', {}, hex(value, size)),
    kind ? element('img', { src, alt: name, onerror: event => event.target.remove() }) : null,
    button('Download', save, { 'aria-label': `Download ${name}`, class: 'quiet more' }))
}

function hex (value, size) {
  try {
    const bytes = [...atob(value.slice(0, BYTES / 2 * 4))].slice(0, BYTES)
    const digits = bytes.map(each => each.charCodeAt(0).toString(16).padStart(2, '0'))
    return digits.join(' ') + (size > BYTES ? ' …' : '')
  } catch {
    return start(value, 2 * BYTES)
  }
}

const start = (value, length) => value.length > length ? `${value.slice(0, length).replace(/[\ud800-\udbff]$/, '')}…` : value

// Shows the start of a long text, and all of it if asked.
function cut (value, name, whole = value) {
  if (value.length <= LONGEST && value === whole) return element('span', { class: name }, value)
  const place = element('span', { class: name }, start(value, LONGEST))
  const toggle = button('more', () => {
    const isOpen = toggle.getAttribute('aria-expanded') === 'false'
    toggle.setAttribute('aria-expanded', String(isOpen))
    toggle.textContent = isOpen ? 'less' : 'more'
    place.textContent = isOpen ? whole : start(value, LONGEST)
    place.classList.toggle('whole', isOpen)
  }, { 'aria-expanded': 'false', class: 'quiet more' })
  return element('span', { class: 'long' }, place, ' ', toggle)
}

// Returns the address of the first of these that the caller may do with a service: list its
// records, create some, or call custom methods. Otherwise the list says that there is none.
export function homeOf ({ path, methods, customMethods }) {
  if (methods.includes('find')) return address('records', [path])
  if (methods.includes('create')) return address('create', [path])
  return address(customMethods.length ? 'custom' : 'records', [path])
}

// Returns a link to a record of a service, or its text alone if the record can't be opened.
export function recordLink (service, key, text = String(key), attributes = {}) {
  if (!service?.methods.includes('get') || !isKey(key)) return element('span', {}, text)
  return element('a', { href: address('record', [service.path, String(key)]), ...attributes }, text)
}

// Returns a link back to a service, or to all of them if this is where it is looked at first.
export function wayBack (service, view) {
  const home = homeOf(service)
  const isThere = home === address(view, [service.path])
  const link = isThere ? element('a', { href: address('') }, '← All services') : element('a', { href: home }, `← ${service.path}`)
  return element('nav', { 'aria-label': 'Place' }, link)
}

// The names of related records, beside their keys.
export class Names {
  constructor (explorer) {
    this.explorer = explorer
    this.known = new Map()
  }

  // Fills in the names of all references in a node, with one call for each related service.
  async fill (node) {
    const wanted = Map.groupBy(node.querySelectorAll('.reference .name:empty'), each => each.reference.path)
    await Promise.all([...wanted].map(([path, places]) => this.fillIn(path, places)))
  }

  async fillIn (path, places) {
    const names = this.known.get(path) ?? this.known.set(path, new Map()).get(path)
    const keys = [...new Set(places.map(each => each.reference.key))].filter(key => !names.has(String(key)))
    for (const key of keys) names.set(String(key), '')
    for (const [key, name] of await this.find(path, keys)) names.set(String(key), name)
    for (const each of places) each.textContent = names.get(String(each.reference.key)) ?? ''
  }

  // Returns the records with some keys, as far as they can be read: names are never needed.
  async find (path, keys) {
    const { connection, services } = this.explorer
    const service = services.get(path)
    if (keys.length === 0 || !service.methods.includes('find') || service.placeholders.length) return []
    try {
      await connection.load(path)
      const size = Math.min(NAMED_AT_ONCE, service.maxPageSize ?? NAMED_AT_ONCE)
      const parts = Array.from({ length: Math.ceil(keys.length / size) }, (_, index) => keys.slice(index * size, (index + 1) * size))
      const answers = await Promise.all(parts.map(part => connection.service(path).find({ query: { [service.id]: { $in: part }, $limit: size } })))
      return answers.flatMap(answer => answer.data ?? answer).map(record => [record[service.id], titleOf(record) ?? ''])
    } catch {
      return []
    }
  }
}
