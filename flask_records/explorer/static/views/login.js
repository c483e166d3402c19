// Logins: with a password, at a provider, with a token, and the end of each.
import { attempt, button, element, field, replace } from '../dom.js'
import { recordLink } from '../links.js'
import { nameOf } from '../values.js'
import { keepWish } from '../connection.js'

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

function logins (explorer) {
  const { logins } = explorer.description
  if (logins.length === 0) return element('p', { class: 'soft' }, 'The application has no logins of its own.')
  const kept = field('Keep me logged in in this browser', element('input', { type: 'checkbox' }), 'Otherwise the login ends with this tab.')
  const options = () => ({ isKept: kept.control.checked })
  return element('div', { class: 'login stack' },
    logins.map(login => oneLogin(explorer, login, options, logins.length > 1)), kept)
}

function oneLogin ({ connection }, login, options, isNamed) {
  const title = isNamed ? `Log in at ${login.path}` : 'Log in'
  return element('section', { class: 'card stack', 'aria-label': title },
    isNamed ? element('h2', {}, title) : null,
    login.local ? localForm(connection, login, options) : null,
    hasProviders(login) ? element('p', { class: 'row' }, login.oauth.map(provider => providerButton(login, provider, options))) : null,
    tokenForm(connection, login, options))
}

function localForm (connection, { path, local }, options) {
  const username = element('input', { type: isEmail(local.username) ? 'email' : 'text', autocomplete: 'username', required: true })
  const password = element('input', { type: 'password', autocomplete: 'current-password', required: true })
  const controls = [field(title(local.username), username), field(title(local.password), password)]
  return form(controls, 'Log in', () =>
    connection.logIn(path, { [local.username]: username.value, [local.password]: password.value }, options()))
}

function tokenForm (connection, login, options) {
  const token = element('textarea', { rows: 3, class: 'code', autocomplete: 'off', spellcheck: 'false', required: true })
  const made = form([field('Token', token, 'The accessToken of a login, a JWT.')], 'Use the token', () =>
    connection.useToken(login.path, token.value.trim(), options()))
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
    keepWish({ path, ...options() })
    location.assign(`${url}?${new URLSearchParams({ redirect })}`)
  }
  return button(`Log in with ${title ?? name}`, event => attempt(event.target, begin))
}

const isEmail = name => /e-?mail$/i.test(name)

// The name of a field as a label: "userName" is "User name".
function title (name) {
  const words = name.replace(/_+/g, ' ').replace(/(?<=[a-z])(?=[A-Z])/g, ' ').trim().toLowerCase()
  return words ? words[0].toUpperCase() + words.slice(1) : name
}
