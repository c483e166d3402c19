// Paths of services, also with values in place of placeholders, and addresses of this page.

// A placeholder is written as <name>, <converter:name> or :name.
const PLACEHOLDER = /<(?:(\w+)(?:\([^<>]*\))?:)?(\w+)>|(?<=^|\/):(\w+)/g
// A URL with one of these as a part is that of something else.
const PART = '(?!\\.{1,2}(?:/|$))[^/]+'
const VALUES = { int: '\\d+', path: `${PART}(?:/${PART})*` }

// Returns an address of this page: a view, its parts, and a query.
export const address = (view, parts = [], query = '') =>
  `#/${[view, ...parts].map(part => encodeURIComponent(String(part).toWellFormed())).join('/')}${query ? `?${query}` : ''}`

// Returns the view that the address names, with its parts and its query as text.
export function readAddress () {
  const [path, ...query] = location.hash.replace(/^#\/?/, '').split('?')
  const [view, ...parts] = path.split('/').map(decode)
  return { view, parts, query: query.join('?') }
}

function decode (text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

// Returns the path with a value for each placeholder.
export const pathWith = (path, values) =>
  path.replace(PLACEHOLDER, (all, converter, name, colonName) => values[name ?? colonName])

// Returns the path as a part of a URL.
export const encoded = path => path.split('/').map(encodeURIComponent).join('/')

function patternOf (path) {
  const literals = path.split(PLACEHOLDER).filter((_, index) => index % 4 === 0)
  const parts = [...path.matchAll(PLACEHOLDER)].map(([, converter]) => `(?:${VALUES[converter] ?? PART})`)
  return new RegExp(`^${literals.map((text, index) => quoted(text) + (parts[index] ?? '')).join('')}$`)
}

const quoted = text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

// A Map of services. One with placeholders is also found by a path with values for them:
// it has that path then, and its own as `pattern`.
export class Services extends Map {
  constructor (services) {
    super(services.map(service => [service.path, service]))
    this.patterns = services.filter(({ placeholders }) => placeholders.length).map(service => [patternOf(service.path), service])
  }

  get (path) {
    if (this.has(path) || path === undefined) return super.get(path)
    const [, service] = this.patterns.find(([pattern]) => pattern.test(path)) ?? []
    return service && { ...service, path, placeholders: [], pattern: service.path }
  }
}
