// The services, each with what it allows and how many records it has.
import { element, replace } from '../dom.js'
import { homeOf } from '../links.js'
import { address } from '../paths.js'
import { onEvents } from './live.js'

const AT_ONCE = 4

export async function show (place, explorer, route, signal) {
  const { description } = explorer
  const counts = new Map(description.services.filter(isCounted).map(({ path }) => [path, element('span', { class: 'total' }, '…')]))
  const title = element('h1', { tabindex: -1 }, 'Services')
  const cards = description.services.map(service => card(service, counts.get(service.path)))
  const hint = 'There is no service that you may use. Log in to see more.'
  replace(place, title, cards.length ? element('ul', { class: 'services' }, cards) : element('p', { class: 'card' }, hint))
  for (const [path, count] of counts) onEvents(explorer, path, signal, () => fill(explorer, path, count))
  fillAll(explorer, counts, signal)
}

const isCounted = service => service.isPaged && !service.placeholders.length && service.methods.includes('find')

// Counts some services at once, so that a page of many does not hold up the others.
async function fillAll (explorer, counts, signal) {
  const rest = [...counts]
  const work = async () => {
    for (let next = rest.shift(); next && !signal.aborted; next = rest.shift()) await fill(explorer, ...next)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

async function fill (explorer, path, count) {
  try {
    const { total } = await explorer.connection.service(path).find({ query: { $limit: 0 } })
    replace(count, total === undefined ? null : [element('b', {}, total.toLocaleString()), total === 1 ? ' record' : ' records'])
  } catch (error) {
    replace(count, error.message)
  }
}

function card (service, count) {
  const { path, methods, customMethods } = service
  const isRead = methods.includes('find')
  return element('li', { class: 'card service' },
    element('h2', {}, element('a', { href: homeOf(service) }, path)),
    count,
    service.description ? element('p', { class: 'soft description' }, service.description) : null,
    element('ul', { class: 'tags', 'aria-label': `Methods of ${path}` }, methods.map(name => method(service, name)), customMethods.map(name => method(service, name))),
    element('p', { class: 'soft' }, access(service)),
    element('p', { class: 'links' },
      isRead ? element('a', { href: address('records', [path]) }, 'Records') : null,
      methods.includes('create') ? element('a', { href: address('create', [path]) }, 'New record') : null,
      customMethods.length ? element('a', { href: address('custom', [path]) }, 'Try a method') : null))
}

function method ({ publicMethods }, name) {
  const isPublic = publicMethods.includes(name)
  return element('li', { class: isPublic ? 'tag public' : 'tag', title: isPublic ? 'Public' : 'Needs a login' }, name)
}

function access ({ methods, customMethods, publicMethods }) {
  const names = [...methods, ...customMethods]
  const open = names.filter(name => publicMethods.includes(name))
  if (open.length === 0) return 'Needs a login'
  return open.length === names.length ? 'Public' : `Public: ${open.join(', ')}`
}
