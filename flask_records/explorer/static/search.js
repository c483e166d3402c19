// Searches for a text in the fields of a service.
import { fieldsOf, NAMES } from './schema.js'

// The operators that find a text, best first, each with the value for one.
const OPERATORS = {
  $search: text => text,
  $ilike: text => `%${text}%`,
  $like: text => `%${text}%`,
  $eq: text => text
}
// Applications bound the operators of a query that read all records.
const MOST = 5

const has = ({ operators }, name) => name === '$eq' || operators.some(each => each.name === name)

// Returns the fields that are searched and the operator, or null if there are none.
export function searchOf (service) {
  const texts = fieldsOf(service).filter(({ kind, plain, isQueried, isId }) =>
    isQueried && !isId && ['text', 'longtext'].includes(kind) && !plain.format && !plain.pattern)
  if (texts.length === 0) return null
  const operator = Object.keys(OPERATORS).find(name => texts.some(field => has(field, name)))
  const place = ({ name }) => NAMES.includes(name) ? NAMES.indexOf(name) : NAMES.length
  const fields = texts.filter(field => has(field, operator)).sort((one, other) => place(one) - place(other))
  return { operator, names: fields.slice(0, MOST).map(({ name }) => name) }
}

// Returns a query with the conditions of its `$search`, a text that this page has for all fields.
export function withSearch (service, { $search, ...query }) {
  const terms = $search ? termsOf(service, String($search)) : []
  if (terms.length === 0) return query
  const found = Object.hasOwn(service.query?.properties ?? {}, '$or') ? { $or: terms } : terms[0]
  if (!Object.keys(found).some(name => Object.hasOwn(query, name))) return { ...query, ...found }
  return { ...query, $and: [...query.$and ?? [], found] }
}

function termsOf (service, text) {
  const { operator, names } = searchOf(service) ?? { names: [] }
  const terms = names.map(name => ({ [name]: operator === '$eq' ? text : { [operator]: OPERATORS[operator](text) } }))
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
