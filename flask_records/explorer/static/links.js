// Links to services, and to their records.
import { element } from './dom.js'
import { address } from './paths.js'
import { isKey } from './schema.js'

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
