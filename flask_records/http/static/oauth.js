// Logins at OAuth providers, for pages that a script makes: docs/oauth-return.md.
const KEY = 'flask-records-login'
const LIFETIME = 15 * 60 * 1000

// Goes to a provider, and remembers that this tab has begun a login.
export async function startLogin (address, { redirect } = {}) {
  const url = new URL(address, document.baseURI)
  const login = { address: url.origin + url.pathname, began: Date.now() }
  // Without HTTPS there are no digests, and only the cookie of the server binds the answer.
  if (crypto.subtle) {
    login.verifier = encode(crypto.getRandomValues(new Uint8Array(32)))
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(login.verifier))
    url.searchParams.set('challenge', encode(new Uint8Array(digest)))
  }
  if (redirect) url.searchParams.set('redirect', redirect)
  sessionStorage.setItem(KEY, JSON.stringify(login))
  location.assign(url)
}

// Begins a login by each plain click on a link to a provider.
export function startLoginOnClick (selector = 'a[href*="/oauth/"]') {
  document.addEventListener('click', event => {
    const link = event.target.closest?.(selector)
    const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    if (!link || opensElsewhere || event.defaultPrevented) return
    event.preventDefault()
    startLogin(link.href)
  })
}

// Returns the login that this page load returns from, or null. Throws why it failed.
export async function finishLogin ({ url, fragment = false } = {}) {
  const page = new URL(location)
  const end = page.hash.lastIndexOf('#')
  const answer = new URLSearchParams(page.hash.slice(end + 1))
  const [code, error, accessToken] = ['code', 'error', 'access_token'].map(name => answer.get(name))
  if (code === null && error === null && accessToken === null) return null
  // Before anything else, so that neither a reload nor a copied address has it.
  page.hash = page.hash.slice(0, Math.max(end, 0))
  history.replaceState(history.state, '', page)
  const login = JSON.parse(sessionStorage.getItem(KEY) || '{}')
  sessionStorage.removeItem(KEY)
  // Other sites can send a visitor here with a login, or a message, of their own.
  if (!(Date.now() - login.began < LIFETIME)) throw new Error('This tab has not begun a login. Log in again.')
  if (error !== null) throw new Error(error)
  if (code !== null) return exchange(url || `${login.address}/token`, { code, verifier: login.verifier })
  if (fragment) return { accessToken }
  throw new Error('The login has no code. Log in again.')
}

async function exchange (url, body) {
  const response = await fetch(url, {
    method: 'POST',
    credentials: 'include',
    headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
    body: JSON.stringify(body)
  })
  const result = await response.json().catch(() => ({}))
  if (response.ok) return result
  const message = result.message || `The login failed with status ${response.status}. Log in again.`
  throw Object.assign(new Error(message), { code: response.status })
}

function encode (bytes) {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '')
}
