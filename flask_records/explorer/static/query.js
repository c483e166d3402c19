// Queries as the text of a URL, and as code to copy.

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
