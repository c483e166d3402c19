// The frame of the explorer: its header, its navigation, and the view that the address names.
import { announce, button, element, replace } from './dom.js'
import { Connection, forgetLogin, keptLogin, request } from './connection.js'

const BASE = new URL('.', document.baseURI).href
const MODULES = {
  '': () => import('./views/services.js'),
  records: () => import('./views/records.js'),
  record: () => import('./views/record.js'),
  create: () => import('./views/create.js'),
  events: () => import('./views/events.js'),
  custom: () => import('./views/custom.js'),
  compare: () => import('./views/compare.js'),
  calls: () => import('./views/calls.js'),
  login: () => import('./views/login.js')
}
const place = document.getElementById('main')
let left = new AbortController()

// Returns an address of this page: a view, its parts, and a query.
export const address = (view, parts = [], query = '') =>
  `#/${[view, ...parts].map(encodeURIComponent).join('/')}${query ? `?${query}` : ''}`

function readAddress () {
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

async function describe () {
  const response = await request(`${BASE}services.json`)
  if (response.status === 401 && keptLogin()) {
    forgetLogin()
    announce('The login has ended. Log in again.', 'error')
    return describe()
  }
  const answer = await response.json()
  if (!response.ok) throw Object.assign(new Error(answer.message), { code: response.status })
  return answer
}

function drawFrame (explorer) {
  const { description, connection } = explorer
  const links = description.services.map(({ path }) => element('li', {}, element('a', { href: address('records', [path]) }, path)))
  const pages = [['events', 'Events'], ['compare', 'Compare'], ...(description.hasCalls ? [['calls', 'Calls']] : [])]
  const state = element('span', { id: 'state' })
  const caller = element('a', { href: address('login'), id: 'caller' })
  const drawState = () => {
    state.textContent = connection.socket ? (connection.isLive ? 'Live' : 'Not connected') : 'No live events'
    state.className = connection.isLive ? 'live' : 'soft'
    caller.textContent = connection.caller ? nameOf(connection.caller.user) : 'Log in'
  }
  connection.addEventListener('state', drawState)
  drawState()
  replace(document.getElementById('header'),
    element('a', { href: address(''), class: 'name' }, description.name),
    element('nav', { 'aria-label': 'Pages' }, element('ul', {}, pages.map(([view, title]) => element('li', {}, element('a', { href: address(view) }, title))))),
    state, caller)
  replace(document.getElementById('navigation'), element('h2', { id: 'services-title' }, 'Services'), element('ul', { 'aria-labelledby': 'services-title' }, links))
}

// A short name of a user, or of any record.
export function nameOf (record) {
  const found = ['name', 'title', 'username', 'email', 'label', 'text'].map(key => record?.[key]).find(value => typeof value === 'string' && value)
  return found ?? (record ? Object.values(record).find(value => value !== null && typeof value !== 'object')?.toString() ?? 'A record' : 'Nobody')
}

function markCurrent () {
  for (const link of document.querySelectorAll('#header a, #navigation a')) {
    const [path] = link.getAttribute('href').split('?')
    if (location.hash.split('?')[0] === path) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

async function showView (explorer) {
  left.abort()
  left = new AbortController()
  const { signal } = left
  const route = readAddress()
  const view = element('div', { class: 'view' })
  markCurrent()
  replace(place, view)
  try {
    const load = Object.hasOwn(MODULES, route.view) ? MODULES[route.view] : MODULES['']
    const module = await load()
    if (!signal.aborted) await module.show(view, explorer, route, signal)
  } catch (error) {
    if (!signal.aborted) showError(view, error)
  }
  if (!signal.aborted) focusTitle(view)
}

function showError (view, error) {
  replace(view, element('h1', { tabindex: -1 }, 'This could not be shown'), element('p', { role: 'alert' }, error.message), button('Try again', () => location.reload()))
}

function focusTitle (view) {
  const title = view.querySelector('h1')
  document.title = title ? `${title.textContent} – Explorer` : 'Explorer'
  title?.focus({ preventScroll: true })
}

async function start () {
  let description
  try {
    description = await describe()
  } catch (error) {
    if (![401, 403].includes(error.code)) return showError(place, error)
    // A caller who may see nothing may log in.
    const entrance = await (await fetch(`${BASE}logins.json`)).json()
    description = { ...entrance, realtime: null, user: null, userPath: null, services: [], hasCalls: false }
    announce(error.message, 'error')
    location.hash = address('login')
  }
  const connection = new Connection(description, BASE)
  const services = new Map(description.services.map(service => [service.path, service]))
  const explorer = { description, services, connection, go: hash => { location.hash = hash } }
  await connection.open().catch(error => announce(error.message, 'error'))
  drawFrame(explorer)
  addEventListener('hashchange', () => showView(explorer))
  await showView(explorer)
}

start()
