// Searches for a text in the fields of a service.
import { fieldsOf, NAMES } from './schema.js'

// The operators that find a text, best first, each with the value for one.
const OPERATORS = {
  $search: text => text,
  $ilike: text => `%${text}%`,
  $like: text => `%${text}%`,
  $eq: text => text
}
const MOST = 5

const has = ({ operators }, name) => name === '$eq' || operators.some(each => each.name === name)

// Returns the fields that are searched and the operator, or null if there are none.
export function searchOf (service) {
  const texts = fieldsOf(service).filter(({ kind, plain, isQueried, isId }) =>
    isQueried && !isId && ['text', 'longtext'].includes(kind) && !plain.format && !plain.pattern)
  if (texts.length === 0) return null
  const operator = Object.keys(OPERATORS).find(name => texts.some(field => has(field, name)))
  const place = ({ name }) => NAMES.includes(name) ? NAMES.indexOf(name) : /name$/i.test(name) ? 0.5 : NAMES.length
  const fields = texts.filter(field => has(field, operator)).sort((one, other) => place(one) - place(other))
  return { operator, names: fields.slice(0, MOST).map(({ name }) => name) }
}

// Returns a query with the conditions of its `$search`, a text that this page has for all fields.
export function withSearch (service, { $search, ...query }) {
  const terms = $search ? termsOf(service, String($search)) : []
  if (terms.length === 0) return query
  const found = terms.length > 1 && hasGroup(service, '$or') ? { $or: terms } : terms[0]
  if (!Object.keys(found).some(name => Object.hasOwn(query, name))) return { ...query, ...found }
  return { ...query, $and: [...query.$and ?? [], found] }
}

const hasGroup = (service, name) => Object.hasOwn(service.query?.properties ?? {}, name)

// Returns conditions one of which has to hold. Each word is searched in all of the first fields, and
// the whole text in the next ones: applications bound the operators that read all records.
function termsOf (service, text) {
  const { operator, names } = searchOf(service) ?? { names: [] }
  const ways = part => name => ({ [name]: operator === '$eq' ? part : { [operator]: OPERATORS[operator](part) } })
  const words = text.split(/\s+/)
  const { length } = words
  const count = length > 1 && operator !== '$eq' && ['$or', '$and'].every(name => hasGroup(service, name)) ? Math.floor(service.maxScans / length) : 0
  const first = names.slice(0, count)
  const each = words.map(word => first.length === 1 ? ways(word)(first[0]) : { $or: first.map(ways(word)) })
  const rest = names.slice(count, service.maxScans - count * (length - 1))
  const terms = [...count ? [{ $and: each }] : [], ...rest.map(ways(text))]
  return mayBeKey(service, text) ? [{ [service.id]: keyOf(service, text) }, ...terms] : terms
}

const idOf = service => fieldsOf(service).find(({ isId, isQueried }) => isId && isQueried)

const keyOf = (service, text) => idOf(service).kind === 'integer' ? Number(text) : text

// Returns whether a text may be the identifier of a record.
export function mayBeKey (service, text) {
  const { kind, plain } = idOf(service) ?? {}
  if (kind === 'integer') return /^\d+$/.test(text) && Number.isSafeInteger(Number(text))
  return kind === 'text' && !plain.format && !plain.pattern
}
