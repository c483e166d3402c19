// Requests with the login of this page, of which the first do not wait for the rest of it.
import { encoded, readAddress } from './paths.js'

export const BASE = new URL('.', document.baseURI).href
// Several applications may share an origin. Each gets its own token alone.
export const keyOf = kind => `flask-records-explorer ${new URL(BASE).pathname} ${kind}`
const STORES = [sessionStorage, localStorage]

// The login that this tab, or the browser, keeps: `{ path, token, isKept }`.
export function keptLogin () {
  const store = STORES.find(each => each.getItem(keyOf('login')))
  try {
    return store ? { ...JSON.parse(store.getItem(keyOf('login'))), isKept: store === localStorage } : null
  } catch {
    forgetLogin()
    return null
  }
}

export function keepLogin (path, token, { isKept = false } = {}) {
  forgetLogin()
  STORES[isKept ? 1 : 0].setItem(keyOf('login'), JSON.stringify({ path, token }))
}

export function forgetLogin () {
  for (const store of STORES) store.removeItem(keyOf('login'))
  sessionStorage.removeItem(keyOf('shown'))
}

// The login that another window of this browser was opened for.
export const renewals = () => new BroadcastChannel(keyOf('renewal'))

// The login to make of what a provider sends, which this tab keeps until then.
export const keepWish = wish => sessionStorage.setItem(keyOf('wish'), JSON.stringify(wish))

export function takeWish () {
  const text = sessionStorage.getItem(keyOf('wish'))
  sessionStorage.removeItem(keyOf('wish'))
  return JSON.parse(text)
}

// Returns a request with the token of a login.
export const request = (url, login = keptLogin(), { headers, ...options } = {}) => fetch(url, {
  ...options,
  headers: { ...headers, Accept: 'application/json', ...(login ? { Authorization: `Bearer ${login.token}` } : {}) }
})

// Returns what a response has, or throws its error.
export async function answerOf (response) {
  const answer = await response.json().catch(() => ({ message: response.statusText }))
  if (!response.ok) throw Object.assign(new Error(answer.message), answer)
  return answer
}

const { others, ...needed } = JSON.parse(document.documentElement.dataset.modules)
const { view, parts: [path], query } = readAddress()

// Loads modules before they are imported: those of other views by default.
export function preload (names = others) {
  document.head.append(...names.map(name => Object.assign(document.createElement('link'), { rel: 'modulepreload', href: new URL(name, import.meta.url) })))
}

// Returns whether a view needs no client, and is shown before it is there.
export const isEarly = name => ['', 'records'].includes(name)
export const describedAt = `${BASE}services.json${path ? `?path=${encodeURIComponent(path)}` : ''}`
export const services = request(describedAt)

// The records that are asked for before their view is there.
export const first = { token: keptLogin()?.token, url: null, answer: null }

function ask (url) {
  Object.assign(first, { url, answer: request(url) })
  first.answer.catch(() => {})
}

// Keeps where the records are from that this tab shows.
export const keepShown = url => sessionStorage.setItem(keyOf('shown'), JSON.stringify({ hash: location.hash, url }))

// Asks for the records that this tab has shown last at the same address, or for the page that the address
// names. Without pages, or with a search, the view makes the query.
async function askFirst () {
  const { hash, url } = JSON.parse(sessionStorage.getItem(keyOf('shown'))) ?? {}
  if (view !== 'records') return
  if (url && hash === location.hash) return ask(url)
  const { prefix, services: all } = await (await services).clone().json()
  const isPage = all.some(each => each.path === path && each.pageSize && each.methods.includes('find'))
  if (isPage && !/(\$|%24)search=/.test(query)) ask(`${location.origin}${prefix}/${encoded(path)}${query && `?${query}`}`)
}

for (const each of [services, askFirst()]) each.catch(() => {})
preload(needed[view] ?? others)
