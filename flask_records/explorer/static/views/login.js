// Logins: with a password, at a provider, with a token, and the end of each.
import { attempt, button, dialog, element, field, replace } from '../dom.js'
import { address } from '../paths.js'
import { nameOf, recordLink } from '../values.js'
import { keepWish, renewals } from '../requests.js'

const LONG = { dateStyle: 'medium', timeStyle: 'medium' }

export async function show (place, explorer, route, signal) {
  const draw = () => {
    const { user, caller } = explorer.connection
    replace(place, element('h1', { tabindex: -1 }, user || caller ? 'Your login' : 'Log in'), refusal(explorer),
      user || caller ? ownLogin(explorer, signal) : null,
      user || caller ? otherLogins(explorer) : logins(explorer))
  }
  draw()
  explorer.connection.addEventListener('ended', draw, { signal })
}

// The reason why the caller sees no services.
function refusal ({ description, connection }) {
  if (!description.isRefused) return null
  return connection.caller
    ? element('p', { role: 'alert', class: 'card' }, description.message)
    : element('p', {}, 'Log in to see the records of this application.')
}

// The login that is in use: whose it is, where it is kept, and when it ends.
function ownLogin ({ description, connection }, signal) {
  const { user, caller } = connection
  const parts = [['User', userLink(description, user)]]
  if (caller) {
    parts.push(['Kept', caller.isKept ? 'in this browser, until you log out' : 'in this tab, until it is closed'])
    parts.push(['Ends', caller.expires ? ending(caller.expires, signal) : 'never, as far as the token tells'])
  } else {
    parts.push(['Kept', 'by the application, in its own session. Log out there.'])
  }
  const list = element('dl', { class: 'pairs' }, parts.map(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]))
  const logOut = button('Log out', event => attempt(event.target, () => connection.logOut()), { class: 'danger' })
  return element('section', { class: 'login card stack', 'aria-label': 'Your login' }, list, caller ? element('p', { class: 'row' }, logOut) : null)
}

function userLink ({ userPath, services }, user) {
  const service = services.find(({ path }) => path === userPath)
  return recordLink(service, user?.[service?.id], nameOf(user))
}

// The time at which a login ends, and how long that is from now.
function ending (expires, signal) {
  const left = element('span', { class: 'soft', role: 'timer', 'aria-live': 'off' })
  const time = element('time', { datetime: expires.toISOString(), title: expires.toISOString() }, expires.toLocaleString(undefined, LONG))
  const count = () => { left.textContent = `in ${duration(expires - Date.now())}` }
  const timer = setInterval(count, 1000)
  signal.addEventListener('abort', () => clearInterval(timer))
  count()
  return [time, ' ', left]
}

// Returns milliseconds as text: the two largest units that there are.
function duration (milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000))
  const units = [['d', 86400, Infinity], ['h', 3600, 24], ['min', 60, 60], ['s', 1, 60]]
  const counts = units.map(([name, size, most]) => [name, Math.floor(seconds / size) % most])
  const first = counts.findIndex(([, count]) => count > 0)
  return counts.slice(first, first < 0 ? undefined : first + 2).map(([name, count]) => `${count} ${name}`).join(' ')
}

const otherLogins = explorer =>
  element('details', {}, element('summary', {}, 'Use another login'), logins(explorer))

// Shows that something is not there. Without a login, it may be there with one.
export function showAbsence (place, explorer, { message, title = 'Not here' }) {
  const mayLogIn = !explorer.connection.user && explorer.description.logins.length > 0
  replace(place, element('h1', { tabindex: -1 }, title), element('p', {}, message),
    mayLogIn ? [element('p', {}, 'You are not logged in: log in to see more.'), logins(explorer)] : null,
    element('p', {}, element('a', { href: address('') }, 'All services')))
}

// Opens the logins over the view, and returns whether one has been renewed. Others begin the page anew.
export function loginDialog (explorer, isRenewal) {
  const { connection } = explorer
  const channel = renewals()
  const alert = element('p', { role: 'alert', class: 'field-error' })
  const done = () => opened.close('renewed')
  channel.onmessage = ({ data: { path, accessToken } }) =>
    connection.logIn(path, { strategy: 'jwt', accessToken }, { isRenewal }).then(done, error => { alert.textContent = error.message })
  const opened = dialog('Log in', element('div', { class: 'stack' },
    isRenewal ? element('p', {}, `The login of ${nameOf(connection.owner.user)} has ended. What is typed stays.`) : null,
    logins(explorer, isRenewal ? { isRenewal, done } : {}),
    alert,
    element('p', { class: 'row' }, button('Cancel', () => opened.close()))))
  return new Promise(resolve => opened.addEventListener('close', () => {
    channel.close()
    resolve(opened.returnValue === 'renewed')
  }))
}

export function logins (explorer, { isRenewal = false, done } = {}) {
  const logins = explorer.description.logins.filter(({ path }) => !isRenewal || path === explorer.connection.owner.path)
  if (logins.length === 0) return element('p', { class: 'soft' }, 'The application has no logins of its own.')
  const kept = field('Keep me logged in in this browser', element('input', { type: 'checkbox' }), 'Otherwise the login ends with this tab.')
  const options = () => ({ isKept: kept.control.checked, isRenewal })
  const logIn = (path, credentials) => explorer.connection.logIn(path, credentials, options()).then(done)
  return element('div', { class: 'login stack' },
    logins.map(login => oneLogin(logIn, login, options, logins.length > 1)), kept)
}

function oneLogin (logIn, login, options, isNamed) {
  const title = isNamed ? `Log in at ${login.path}` : 'Log in'
  return element('section', { class: 'card stack', 'aria-label': title },
    isNamed ? element('h2', {}, title) : null,
    login.local ? localForm(logIn, login) : null,
    hasProviders(login) ? element('p', { class: 'row' }, login.oauth.map(provider => providerButton(login, provider, options))) : null,
    tokenForm(logIn, login))
}

function localForm (logIn, { path, local }) {
  const username = element('input', { type: isEmail(local.username) ? 'email' : 'text', autocomplete: 'username', required: true })
  const password = element('input', { type: 'password', autocomplete: 'current-password', required: true })
  const controls = [field(title(local.username), username), field(title(local.password), password)]
  return form(controls, 'Log in', () =>
    logIn(path, { [local.username]: username.value, [local.password]: password.value, strategy: 'local' }))
}

function tokenForm (logIn, login) {
  const token = element('textarea', { rows: 3, class: 'code', autocomplete: 'off', spellcheck: 'false', required: true })
  const made = form([field('Token', token, 'The accessToken of a login, a JWT.')], 'Use the token', () =>
    logIn(login.path, { strategy: 'jwt', accessToken: token.value.trim() }))
  if (!login.local && !hasProviders(login)) return made
  return element('details', {}, element('summary', {}, 'Paste a token'), made)
}

function form (fields, label, submit) {
  const alert = element('p', { role: 'alert', class: 'field-error' })
  const send = element('button', { class: 'main' }, label)
  const onsubmit = event => {
    event.preventDefault()
    alert.textContent = ''
    attempt(send, submit, error => { alert.textContent = error.message })
  }
  return element('form', { class: 'stack', method: 'post', onsubmit }, fields, element('p', {}, send), alert)
}

// Users return to this page from some providers only.
const hasProviders = ({ oauth }) => oauth.some(provider => provider.redirect !== null)

function providerButton ({ path }, { title, name, url, redirect }, options) {
  if (redirect === null) return null
  const begin = () => {
    const way = `${url}?${new URLSearchParams({ redirect })}`
    const { isRenewal } = options()
    keepWish({ path, hash: location.hash.startsWith('#/login') ? '' : location.hash, ...options() })
    // A window of its own has a copy of the wish, and what is typed stays here.
    if (isRenewal) open(way)
    else location.assign(way)
  }
  return button(`Log in with ${title ?? name}`, event => attempt(event.target, begin))
}

const isEmail = name => /e-?mail$/i.test(name)

// The name of a field as a label: "userName" is "User name".
function title (name) {
  const words = name.replace(/_+/g, ' ').replace(/(?<=[a-z])(?=[A-Z])/g, ' ').trim().toLowerCase()
  return words ? words[0].toUpperCase() + words.slice(1) : name
}
