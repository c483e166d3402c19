// Each call and each event of this page, as it happens.
import { address, client, socket } from './client.js'

const LONGEST_LOG = 200
const SECRETS = { password: '$PASSWORD', accessToken: '$TOKEN' }
const VERBS = { find: 'GET', get: 'GET', create: 'POST', update: 'PUT', patch: 'PATCH', remove: 'DELETE' }

export const entries = []
const watchers = []

export const onEntry = watcher => watchers.push(watcher)

const tell = entry => { for (const watcher of watchers) watcher(entry) }

function add (entry) {
  entries.push(entry)
  if (entries.length > LONGEST_LOG) entries.shift()
  tell(entry)
}

client.hooks([async (context, next) => {
  const { path, method, id, data, params } = context
  const entry = { kind: 'call', path, method, id, query: params.query, data: redacted(data), at: new Date() }
  const began = performance.now()
  add(entry)

  try {
    await next()
    Object.assign(entry, sizeOf(context.result))
  } catch (error) {
    entry.error = `${error.code ?? ''} ${error.message}`.trim()
    throw error
  } finally {
    entry.ms = Math.round(performance.now() - began)
    tell(entry)
  }
}])

socket.onAny((name, record) => {
  const [path, event] = name.split(' ')
  add({ kind: 'event', path, method: event, data: redacted(record), at: new Date(), ...sizeOf(record) })
})

const sizeOf = result => ({
  size: new Blob([JSON.stringify(result ?? null)]).size,
  count: result?.data?.length ?? (Array.isArray(result) ? result.length : undefined)
})

// Neither passwords nor tokens are shown or copied.
function redacted (value) {
  if (Array.isArray(value)) return value.map(redacted)
  if (value === null || typeof value !== 'object') return value
  const pairs = Object.entries(value)
  return Object.fromEntries(pairs.map(([name, item]) => [name, SECRETS[name] ?? redacted(item)]))
}

// The same call over HTTP, for a shell in which TOKEN is the access token.
export function curl ({ path, method, id, query, data }) {
  const verb = VERBS[method] ?? 'POST'
  const target = id === undefined || id === null ? path : `${path}/${encodeURIComponent(id)}`
  const search = parameters(query ?? {}).join('&')
  const parts = [`curl -sg -X ${verb} ${quoted(address(target) + (search && `?${search}`))}`]
  const isLogin = path === 'authentication' && method === 'create'
  if (!isLogin) parts.push('-H "Authorization: Bearer $TOKEN"')
  if (!VERBS[method]) parts.push(`-H ${quoted(`X-Service-Method: ${method}`)}`)
  if (data !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(data))}`)
  return parts.join(' \\\n  ')
}

const quoted = text => `'${text.replaceAll("'", "'\\''")}'`

function parameters (value, name = '') {
  if (Array.isArray(value)) return value.flatMap(item => parameters(item, `${name}[]`))
  if (value === null || typeof value !== 'object') return [`${name}=${encodeURIComponent(value)}`]
  const nested = ([key, item]) => parameters(item, name ? `${name}[${encodeName(key)}]` : encodeName(key))
  return Object.entries(value).flatMap(nested)
}

// The signs of operators and of `$limit` stay readable.
const encodeName = name => encodeURIComponent(name).replaceAll('%24', '$')
