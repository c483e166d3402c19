// The login form, and logins at OAuth providers, which return to this page.
import { address, client, storageKey } from './client.js'
import { attempt, find, onSubmit, say } from './dom.js'
import { logIn, resume } from './session.js'

const section = find('#login')
const form = find('#login form')
const alert = find('#login [role=alert]')
const reset = find('#reset')
const BEGUN = `${storageKey} login`

export function showLogin (words = '') {
  section.hidden = false
  say(alert, words)
  find('[name=email]', form).focus()
}

export function hideLogin () {
  section.hidden = true
  say(alert)
}

// Goes to a provider. This tab remembers that it has begun the login.
export function startLogin (provider, query = {}) {
  sessionStorage.setItem(BEGUN, provider)
  location.assign(address(`oauth/${provider}?${new URLSearchParams(query)}`))
}

// Returns the token that the browser returns from a provider with, or null.
function finishLogin () {
  const isOwn = sessionStorage.getItem(BEGUN) !== null
  sessionStorage.removeItem(BEGUN)
  const [page, answer] = location.href.split(/#(?=access_token=|error=)/)
  if (!answer) return null
  // A reload, or a copied address, must not have it.
  history.replaceState(null, '', page)
  const login = new URLSearchParams(answer)
  // Other sites can send a visitor here with a login, or a message, of their own.
  if (!isOwn) throw new Error('This tab has not begun a login. Log in again.')
  if (login.has('error')) throw new Error(login.get('error'))
  return login.get('access_token')
}

// Logs in with the token of a provider's login, or with the one that the browser keeps.
export async function enter () {
  let problem

  try {
    const token = finishLogin()
    if (token) await client.authentication.setAccessToken(token)
  } catch (error) {
    problem = error
  }

  try {
    await resume()
  } catch (error) {
    // Without a token there is nothing to say.
    return showLogin(problem ?? (error.code === 401 ? '' : error))
  }

  if (problem) throw problem
}

// Asks for the mail for a forgotten password. Its link ends with a token.
async function forget (email) {
  await client.service('authManagement').create({ action: 'sendResetPwd', value: { email } })
  say(alert, 'If there is an account, a mail with a link is on its way.')
}

let resetToken

// Shows the form of that link.
function showReset () {
  const [page, token] = location.href.split('#reset=')
  if (!token) return
  resetToken = token
  history.replaceState(null, '', page)
  reset.showModal()
}

onSubmit(find('form', reset), find('[role=alert]', reset), async ({ password }) => {
  const value = { token: resetToken, password }
  await client.service('authManagement').create({ action: 'resetPwdLong', value })
  reset.close()
  say(alert, 'Log in with the new password.')
})
showReset()
window.addEventListener('hashchange', showReset)

onSubmit(form, alert, async ({ email, password }, button) => {
  if (button?.value === 'forgotten') return forget(email)
  if (button?.value === 'register') await client.service('users').create({ email, password })
  await logIn({ strategy: 'local', email, password })
  form.reset()
})

for (const button of section.querySelectorAll('[data-provider]')) {
  button.addEventListener('click', () => {
    attempt(button, alert, () => startLogin(button.dataset.provider))
  })
}
