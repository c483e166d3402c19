// The login of this page: its user, and the reasons for which it ends.
import { client, socket, storageKey } from './client.js'

export const session = { user: null }

const RETRY_INTERVAL = 10_000
const LONGEST_TIMER = 2 ** 31 - 1
const beginners = []
const enders = []
let expiry

export const onBegin = action => beginners.push(action)
export const onEnd = action => enders.push(action)

export async function logIn (credentials) {
  return begin(await client.authenticate(credentials))
}

// Logs in with the token that the browser keeps, which another tab may have replaced.
export async function resume () {
  return begin(await client.reAuthenticate(true))
}

export async function logOut () {
  await client.logout()
  end()
}

export function replaceUser (user) {
  session.user = user
}

async function begin ({ user, authentication }) {
  const isSame = session.user?.id === user.id
  session.user = user
  clearTimeout(expiry)
  const remaining = authentication.payload.exp * 1000 - Date.now()
  // The server has just accepted the token: otherwise the clock of the browser is wrong.
  if (remaining > 0) expiry = setTimeout(renew, Math.min(remaining + 500, LONGEST_TIMER))
  if (!isSame) for (const action of beginners) await action(user)
}

function end (words = '') {
  if (!session.user) return
  session.user = null
  clearTimeout(expiry)
  for (const action of enders) action(words)
}

// Logs in again, for a call was refused, the token expires, or another tab has a new one.
// Several calls that are refused cause one login.
let renewal = null

async function renew () {
  if (!session.user || renewal) return
  renewal = resume().catch(endIfRefused)
  await renewal
  renewal = null
}

// Runs an action that ends this login and begins another one.
export async function replaceLogin (action) {
  renewal = action()
  await renewal.finally(() => { renewal = null })
}

// After a reconnect the client logs in again by itself.
export async function renewed () {
  if (session.user) await Promise.resolve(client.get('authentication')).catch(endIfRefused)
}

function endIfRefused (error) {
  if (error.code === 401) end('Your session has ended. Log in again.')
  else if (session.user) setTimeout(renew, RETRY_INTERVAL)
}

client.hooks([async (context, next) => {
  try {
    await next()
  } catch (error) {
    if (error.code === 401 && context.path !== 'authentication') renew()
    throw error
  }
}])

// Another tab has logged out, or in as somebody else.
window.addEventListener('storage', event => {
  if (event.key === storageKey) renew()
})

// The token is revoked, or has expired.
socket.on('loggedOut', renew)
