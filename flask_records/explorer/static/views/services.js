// The services, each with what it allows and how many records it has.
import { element, moveByArrows, replace } from '../dom.js'
import { servicesList } from '../groups.js'
import { homeOf } from '../values.js'
import { address } from '../paths.js'
import { onEvents } from '../eventlog.js'
import { logins } from './login.js'

const AT_ONCE = 4

export async function show (place, explorer, route, signal) {
  const { services } = explorer.description
  const counter = new Counter(explorer, signal)
  const list = servicesList(services, service => card(service, counter.count(service)), { label: 'Search all services' })
  const mayLogIn = !explorer.connection.user && explorer.description.logins.length > 0
  const isEmpty = !services.some(({ methods }) => methods.includes('find') || methods.includes('get'))
  replace(place, element('h1', { tabindex: -1 }, 'Services'),
    isEmpty && mayLogIn ? [element('p', {}, 'Log in to see your records.'), logins(explorer)] : null,
    services.length ? element('div', { class: 'services' }, list) : element('p', { class: 'card' }, 'There is no service that you may use.'))
  moveByArrows(place, '.service h2 a', 'input')
}

// Counts the records of some services at once, so that a page of many does not hold up the others.
class Counter {
  constructor (explorer, signal) {
    Object.assign(this, { explorer, signal, waiting: [], running: 0 })
  }

  // Returns a node for the number of records, which comes with the client, and follows events.
  count ({ path, isPaged, placeholders, methods }) {
    if (!isPaged || placeholders.length || !methods.includes('find')) return null
    const node = element('span', { class: 'total' }, '…')
    this.explorer.connection.open().then(() => {
      onEvents(this.explorer, path, this.signal, () => fill(this.explorer, path, node))
      this.waiting.push([path, node])
      this.run()
    }, error => replace(node, error.message))
    return node
  }

  async run () {
    if (this.running === AT_ONCE || this.waiting.length === 0 || this.signal.aborted) return
    this.running += 1
    await fill(this.explorer, ...this.waiting.shift())
    this.running -= 1
    this.run()
  }
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
  return element('article', { class: 'card service' },
    element('h2', {}, element('a', { href: homeOf(service) }, path)),
    count,
    service.description ? element('p', { class: 'soft description' }, service.description) : null,
    element('ul', { class: 'tags', 'aria-label': `Methods of ${path}` }, methods.map(name => method(service, name)), customMethods.map(name => method(service, name))),
    access(service),
    element('p', { class: 'links' },
      isRead ? element('a', { href: address('records', [path]) }, 'Records') : null,
      methods.includes('create') ? element('a', { href: address('create', [path]) }, isRead ? 'New record' : 'Call create') : null,
      customMethods.length ? element('a', { href: address('custom', [path]) }, 'Try a method') : null))
}

function method ({ publicMethods }, name) {
  const isPublic = publicMethods.includes(name)
  return element('li', { class: isPublic ? 'tag public' : 'tag', title: isPublic ? 'Public' : 'Needs a login' }, name)
}

function access ({ methods, customMethods, publicMethods }) {
  const names = [...methods, ...customMethods]
  const open = names.filter(name => publicMethods.includes(name))
  return open.length ? element('p', { class: 'soft' }, open.length === names.length ? 'Public' : `Public: ${open.join(', ')}`) : null
}
