// Queries: as the text of a URL, as code to copy, with types, and as conditions.

const GROUPS = ['$or', '$and', '$nor']
const LISTS = ['$select', '$populate']
const TEXTS = ['text', 'longtext', 'binary', 'enum']

export const SPECIAL = ['$limit', '$skip', '$sort', '$search', ...LISTS]

const LABELS = {
  $eq: 'is',
  $ne: 'is not',
  $in: 'is one of',
  $nin: 'is none of',
  $lt: 'is less than',
  $lte: 'is at most',
  $gt: 'is more than',
  $gte: 'is at least',
  $between: 'is between',
  $search: 'contains',
  $text: 'has the words',
  $like: 'is like',
  $notLike: 'is not like',
  $ilike: 'is like, in any case',
  $regex: 'matches',
  $null: 'is null'
}

const OF_TIMES = { $lt: 'is before', $lte: 'is not after', $gt: 'is after', $gte: 'is not before' }

// Returns an operator of a field in words.
export function labelOf (name, { kind }) {
  return (['datetime', 'date', 'time'].includes(kind) && OF_TIMES[name]) || LABELS[name]
}

// Returns a query as text, nested as the server reads it.
export function toText (query) {
  const pairs = Object.entries(query).flatMap(([name, value]) => pairsOf(encoded(name), value))
  return pairs.map(([name, value]) => `${name}=${encoded(value)}`).join('&')
}

// The dollar of operators stays as it is.
const encoded = text => encodeURIComponent(text.toWellFormed()).replaceAll('%24', '$')

function pairsOf (name, value) {
  if (value === undefined) return []
  if (value === null || typeof value !== 'object') return [[name, value === null ? 'null' : String(value)]]
  return Object.entries(value).flatMap(([key, part]) => pairsOf(`${name}[${encoded(key)}]`, part))
}

// Returns the query that a text stands for. Values are texts, and lists of them if a name
// is repeated.
export function parse (text) {
  const query = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const [first, ...rest] = name.split('[')
    put(query, [first, ...rest.map(part => part.replace(/\]$/, ''))], value)
  }
  return lists(query)
}

function put (query, [key, ...rest], value) {
  const name = key === '' ? String(Object.keys(query).length) : key
  if (rest.length === 0) {
    define(query, name, isValue(query, name) ? [query[name], value].flat() : value)
    return
  }
  if (!Object.hasOwn(query, name) || typeof query[name] !== 'object') define(query, name, {})
  put(query[name], rest, value)
}

const isValue = (query, name) => Object.hasOwn(query, name) && [query[name]].flat().every(each => typeof each === 'string')

// A name such as __proto__ is a name as any other.
const define = (target, name, value) =>
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })

function lists (part) {
  if (typeof part !== 'object') return part
  const keys = Object.keys(part)
  if (keys.length && keys.every((key, index) => key === String(index))) return keys.map(key => lists(part[key]))
  for (const key of keys) define(part, key, lists(part[key]))
  return part
}

// Returns a call of find as a URL, and as code.
export function addresses (connection, path, query) {
  const text = toText(query)
  const url = `${connection.address(path)}${text ? `?${text}` : ''}`
  const needsLogin = Boolean(connection.caller)
  return {
    url,
    curl: `curl -g ${needsLogin ? "-H 'Authorization: Bearer '\"$TOKEN\" " : ''}${quoted(url)}`,
    javascript: `await client.service(${JSON.stringify(path)}).find({ query: ${script(query)} })`
  }
}

const quoted = text => `'${text.replaceAll("'", "'\\''")}'`

// A value as JavaScript writes it.
function script (value) {
  if (Array.isArray(value)) return `[${value.map(script).join(', ')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'undefined'
  const pairs = Object.entries(value).filter(([, part]) => part !== undefined)
  return pairs.length ? `{ ${pairs.map(([name, part]) => `${scriptName(name)}: ${script(part)}`).join(', ')} }` : '{}'
}

// A plain __proto__ would not be a name.
function scriptName (name) {
  if (name === '__proto__') return '["__proto__"]'
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

// Returns the query of an address, with numbers, booleans and null as such.
export function typed (text, fields) {
  return mapped(parse(text), fields, cast)
}

// Returns a query as a socket carries it, where documents are no text. A list or an object
// needs an operator, so that it is not taken for several values or operators.
export function carried (query, fields) {
  return mapped(query, fields, (kind, value) => {
    if (!['json', 'array', 'any'].includes(kind) || typeof value !== 'string') return value
    try {
      return JSON.parse(value)
    } catch {
      return value
    }
  })
}

function mapped (query, fields, change) {
  const byName = new Map(fields.map(each => [each.name, each]))
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, part(name, value, fields, byName, change)]))
}

function part (name, value, fields, byName, change) {
  if (GROUPS.includes(name)) return Array.isArray(value) ? value.map(each => isMapping(each) ? mapped(each, fields, change) : each) : value
  if (LISTS.includes(name)) return [value].flat()
  if (name === '$limit' || name === '$skip') return cast('integer', value)
  if (name === '$sort') return isMapping(value) ? Object.fromEntries(Object.entries(value).map(([key, way]) => [key, cast('integer', way)])) : value
  const field = byName.get(name)
  return field ? compared(field, value, change) : value
}

function compared (field, value, change) {
  if (!isMapping(value)) {
    const changed = each(value, item => change(field.kind, item))
    return typeof value === 'string' && changed !== null && typeof changed === 'object' ? { $eq: changed } : changed
  }
  const kinds = new Map(field.operators.map(({ name, schema, kind }) => [name, isPair(schema) ? field.kind : kind]))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, each(item, one => change(kinds.get(name) ?? field.kind, one))]))
}

const each = (value, change) => Array.isArray(value) ? value.map(change) : change(value)

const isMapping = value => value !== null && typeof value === 'object' && !Array.isArray(value)

// An operator such as $between takes two values.
export const isPair = schema => schema?.type === 'array' && schema.maxItems === 2

// Returns the value that a text stands for. A text that is no such value stays as it is.
export function cast (kind, value) {
  if (typeof value !== 'string') return value
  if (value === 'null' && !TEXTS.includes(kind)) return null
  if (kind === 'boolean') return ['true', 'false'].includes(value) ? value === 'true' : value
  const isNumber = ['integer', 'number'].includes(kind) && String(Number(value)) === value
  return isNumber ? Number(value) : value
}

// Returns the conditions of a query: those that must all hold, those of which one must,
// and the parts that are not so simple.
export function readConditions (query, fields) {
  const found = { all: [], any: [], rest: {} }
  for (const [name, value] of Object.entries(query)) {
    const simple = simpleGroup(name, value, fields)
    const own = conditionsOf(name, value, fields)
    if (SPECIAL.includes(name)) continue
    else if (name === '$or' && simple) found.any = simple
    else if (name === '$and' && simple) found.all.push(...simple)
    else if (own) found.all.push(...own)
    else found.rest[name] = value
  }
  return found
}

function simpleGroup (name, value, fields) {
  if (!GROUPS.includes(name) || !Array.isArray(value)) return null
  const parts = value.map(item => {
    const entries = isMapping(item) ? Object.entries(item) : []
    return entries.length === 1 ? conditionsOf(...entries[0], fields) : null
  })
  return parts.every(item => item?.length === 1) ? parts.flat() : null
}

function conditionsOf (name, value, fields) {
  const field = fields.find(each => each.name === name)
  if (!field) return null
  if (Array.isArray(value)) return [{ field, operator: '$in', value }]
  if (!isMapping(value)) return [{ field, operator: '$eq', value }]
  const names = field.operators.map(operator => operator.name)
  const parts = Object.entries(value)
  return parts.every(([operator]) => names.includes(operator)) ? parts.map(([operator, item]) => ({ field, operator, value: item })) : null
}

// Returns the query of conditions.
export function writeConditions ({ all, any, rest }) {
  const query = { ...rest }
  const further = []
  for (const condition of all) {
    if (!add(query, condition)) further.push(add({}, condition))
  }
  if (any.length) query.$or = any.map(condition => add({}, condition))
  if (further.length) query.$and = [...(query.$and ?? []), ...further]
  return query
}

// Adds a condition to a query, which is returned, unless it has such a condition.
function add (query, { field: { name }, operator, value }) {
  const there = Object.hasOwn(query, name) ? query[name] : undefined
  const isFree = there === undefined || (isMapping(there) && !Object.hasOwn(there, operator))
  const wraps = operator === '$eq' && isFree && there === undefined && !isMapping(value)
  if (!isFree) return null
  return Object.defineProperty(query, name, {
    value: wraps ? value : { ...there, [operator]: value }, enumerable: true, configurable: true, writable: true
  })
}
