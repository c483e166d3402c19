// The frame of the explorer: its header, its navigation, and the view that the address names.
import { absence, announce, button, element, guardActions, isTyped, mayLeave, moveByArrows, replace } from './dom.js'
import { EventLog } from './eventlog.js'
import { servicesList } from './groups.js'
import { address, readAddress } from './paths.js'
import { homeOf, nameOf } from './values.js'
import { Connection } from './connection.js'
import { answerOf, BASE, describedAt, forgetLogin, isEarly, keepLogin, keptLogin, preload, renewals, request, services, takeWish } from './requests.js'

const MODULES = {
  '': () => import('./views/services.js'),
  records: () => import('./views/records.js'),
  record: () => import('./views/record.js'),
  create: () => import('./views/create.js'),
  events: () => import('./views/events.js'),
  custom: () => import('./views/custom.js'),
  compare: () => import('./views/compare.js'),
  login: () => import('./views/login.js')
}
const ofServices = ['records', 'record', 'create', 'custom', 'compare']
const place = document.getElementById('main')
let left = new AbortController()

// Returns what the caller may use: no services, and the reason, if that is nothing.
async function describe (answer = request(describedAt)) {
  const response = await answer
  if (response.ok) return response.json()
  if (response.status === 401 && keptLogin()) {
    forgetLogin()
    announce('The login has ended. Log in again.', 'error')
    return describe()
  }
  const error = await answerOf(response).catch(error => error)
  if (![401, 403].includes(response.status)) throw error
  const entrance = await request(`${BASE}logins.json`, null)
  return { ...await entrance.json(), services: [], realtime: null, user: null, isRefused: true, message: error.message }
}

// Takes up the login that the browser returns from a provider with, or gives it to the tab that has
// opened this window for it. Returns whether this window goes on.
function comeBack () {
  const wish = takeWish()
  const [page, answer] = location.href.split(/#(?=access_token=|error=)/)
  if (!answer) return true
  // A reload, or a copied address, must not have it.
  history.replaceState(null, '', page + (wish?.hash ?? ''))
  const login = new URLSearchParams(answer)
  // Other sites can send a visitor here with a login, or a message, of their own.
  if (!wish) announce('This tab has not begun a login. Log in again.', 'error')
  else if (login.has('error')) announce(login.get('error'), 'error')
  else if (wish.isRenewal) return handOver(wish.path, login.get('access_token'))
  else keepLogin(wish.path, login.get('access_token'), wish)
  return true
}

function handOver (path, accessToken) {
  renewals().postMessage({ path, accessToken })
  replace(place, element('p', {}, 'You are logged in. Close this window.'))
  close()
  return false
}

function drawFrame (explorer) {
  const { description, connection } = explorer
  const pages = [['', 'Services'], ['events', 'Events'], ['compare', 'Compare']]
  const state = element('span', { id: 'state' })
  const outage = element('p', { class: 'problem', role: 'alert', id: 'outage', hidden: true })
  document.getElementById('messages').before(outage)
  const onclick = event => {
    if (connection.user || connection.caller) return
    event.preventDefault()
    if (place.querySelector('.login')) place.querySelector('.login input').focus()
    else askLogin(explorer, Boolean(connection.owner) && isTyped(document))
  }
  const caller = element('a', { href: address('login'), id: 'caller', class: 'button', onclick })
  const drawState = () => {
    state.textContent = connection.hasEvents ? (connection.isLive ? 'Live' : connection.isLost || connection.isOpened ? 'Not connected' : 'Connecting …') : 'No live events'
    state.className = connection.isLive ? 'live' : 'soft'
    replace(outage, connection.problem)
    outage.hidden = !connection.problem
    caller.textContent = connection.user || connection.caller ? nameOf(connection.user) : keptLogin() ? '…' : 'Log in'
  }
  connection.addEventListener('state', drawState)
  drawState()
  replace(document.getElementById('header'),
    element('a', { href: address(''), class: 'name' }, description.name),
    description.isRefused ? null : element('nav', { 'aria-label': 'Pages' }, element('ul', {}, pages.map(([view, title]) => element('li', {}, element('a', { href: address(view) }, title))))),
    element('div', { class: 'row' }, description.isRefused ? null : state, caller))
  const navigation = document.getElementById('navigation')
  navigation.hidden = description.services.length === 0
  explorer.list = servicesList(description.services, service => element('a', { href: homeOf(service) }, service.path), { label: 'Search services' })
  replace(navigation, explorer.list)
  moveByArrows(navigation, 'a', 'input')
}

// Goes to the search of the view, or else to that of the services.
function goToSearch (event) {
  if (event.key !== '/' || event.target.closest('input, select, textarea, dialog')) return
  const box = document.querySelector('#main input[type=search]') ?? document.querySelector('#navigation input[type=search]')
  if (!box) return
  event.preventDefault()
  box.select()
}

// Many services are longer than the screen: a column, or a line on a phone.
function scrollToCurrent (navigation) {
  const link = navigation.querySelector('[aria-current]')
  const list = link?.closest('ul')
  if (!list) return
  list.scrollLeft = link.offsetLeft - list.offsetLeft - list.clientWidth / 3
  const { top, bottom } = link.getBoundingClientRect()
  if (top < 0 || bottom > innerHeight) navigation.scrollTop += top - innerHeight / 3
}

// Marks the links to the view, and that to the service whose record it shows.
function markCurrent ({ services, list }, { parts: [path] }) {
  const found = services.get(path)
  const service = services.get(found?.pattern) ?? found
  list.reveal(service?.path)
  const own = [location.hash.split('?')[0] || '#/', ...(service ? [homeOf(service)] : [])]
  for (const link of document.querySelectorAll('#header nav a, #navigation a, #caller')) {
    if (own.includes(link.getAttribute('href'))) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  scrollToCurrent(document.getElementById('navigation'))
}

// Returns the loader of a view. Without the values of placeholders, that asks for them.
function loaderOf ({ services }, { view, parts: [path] }) {
  if (ofServices.includes(view) && services.get(path)?.placeholders.length) return () => import('./views/placeholders.js')
  return Object.hasOwn(MODULES, view) ? MODULES[view] : MODULES['']
}

async function showView (explorer) {
  left.abort()
  left = new AbortController()
  const { signal } = left
  const route = explorer.description.isRefused ? { view: 'login', parts: [], query: '' } : readAddress()
  const view = element('div', { class: 'view' }, element('p', { class: 'soft loading' }, 'Loading …'))
  for (const open of document.querySelectorAll('dialog')) open.close()
  markCurrent(explorer, route)
  replace(place, view)
  try {
    const [path] = route.parts
    if (ofServices.includes(route.view) && path && !explorer.services.get(path)) throw absence(`There is no service ${path} for you.`)
    const isReady = isEarly(route.view) || explorer.connection.open()
    const [module] = await Promise.all([loaderOf(explorer, route)(), explorer.connection.load(path), isReady])
    if (!signal.aborted) await module.show(view, explorer, route, signal)
  } catch (error) {
    if (signal.aborted) return
    if (error.code === 404) return (await MODULES.login()).showAbsence(view, explorer, error)
    const again = () => showView(explorer)
    showError(view, error, again)
    explorer.connection.addEventListener('state', () => explorer.connection.isLive && again(), { signal })
  } finally {
    if (!signal.aborted) focusTitle(view)
  }
}

function showError (view, error, again = () => location.reload()) {
  replace(view,
    element('h1', { tabindex: -1 }, 'This could not be shown'),
    element('p', { role: 'alert' }, error.message),
    element('p', {}, button('Try again', again)))
}

function focusTitle (view) {
  const title = view.querySelector('h1')
  document.title = title ? `${title.textContent} – Explorer` : 'Explorer'
  title?.focus({ preventScroll: true })
}

const askLogin = async (explorer, isRenewal) => (await MODULES.login()).loginDialog(explorer, isRenewal)

// Asks for a login that has ended before an action, and after one that was refused.
async function admit (explorer, error) {
  const { owner, caller } = explorer.connection
  const isEnded = owner && (error ? error.code === 401 : !caller)
  return isEnded && !document.querySelector('.login') ? askLogin(explorer, true) : !error
}

async function start () {
  const token = keptLogin()?.token
  if (!comeBack()) return
  const description = await describe(keptLogin()?.token === token ? services : undefined)
  const connection = new Connection(description)
  // Events are kept before somebody looks at them.
  const explorer = { description, services: connection.services, connection, log: new EventLog(connection), go: hash => { location.hash = hash } }
  guardActions(error => admit(explorer, error))
  connection.addEventListener('ended', () => {
    const message = announce('The login has ended. Log in again: nothing that is typed is lost.', 'error')
    connection.addEventListener('renewed', () => message.remove(), { once: true })
  })
  // A connection that fails is told while the login waits for it.
  drawFrame(explorer)
  addEventListener('hashchange', ({ oldURL }) => {
    if (mayLeave(document)) showView(explorer)
    else history.replaceState(null, '', oldURL)
  })
  addEventListener('keydown', goToSearch)
  addEventListener('keydown', ({ key, ctrlKey, metaKey, target }) => { if (key === 'Enter' && (ctrlKey || metaKey)) target.form?.requestSubmit() })
  addEventListener('beforeunload', event => { if (isTyped(document)) event.preventDefault() })
  const shown = showView(explorer)
  if (isEarly(readAddress().view)) await shown
  connection.open().catch(error => announce(error.message, 'error'))
  await shown
  preload()
}

start().catch(error => showError(place, error))
