// What the tests of the page share: a browser, its windows, and people who use them.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { afterEach } from 'node:test'
import { chromium } from 'playwright-core'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// The shell has no windows of its own to draw, and takes half the time.
const EXECUTABLES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'
]

export const SCREENS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
]

export const PASSWORD = 'a long password'

const tabs = new Map()

// A test that fails tells what its tabs show, and what they wait for. Scripts have no hooks.
if (process.env.NODE_TEST_CONTEXT) {
  afterEach(async ({ name, passed }) => {
    if (passed === false) await Promise.all([...tabs].map(tab => describe(name, ...tab)))
  })
}

async function describe (name, page, requests) {
  const text = await page.locator('body').innerText({ timeout: 5000 }).catch(error => error.message)
  const waiting = [...requests].map(request => `waiting for ${request.method()} ${request.url()}`)
  process.stderr.write([`${name}: ${page.url()}`, ...page.problems, ...waiting, text, ''].join('\n'))
}

export const launch = (...options) => chromium.launch({
  executablePath: process.env.CHROMIUM || EXECUTABLES.find(existsSync),
  args: [...ARGUMENTS, ...options]
})

// Opens a window of its own for somebody, and notes what goes wrong in it.
export async function openWindow (browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  // Nothing comes from elsewhere.
  const elsewhere = []
  await context.route(url => url.hostname !== '127.0.0.1', route => {
    elsewhere.push(route.request().url())
    return route.abort()
  })
  const page = await openTab(context)
  return Object.assign(page, { elsewhere })
}

export async function openTab (context) {
  const page = await context.newPage()
  const problems = []
  page.setDefaultTimeout(15_000)
  const requests = new Set()
  tabs.set(page, requests)
  page.on('close', () => tabs.delete(page))
  page.on('request', request => requests.add(request))
  page.on('requestfinished', request => requests.delete(request))
  page.on('requestfailed', request => requests.delete(request))
  page.on('pageerror', error => problems.push(error.message))
  page.on('response', response => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`)
  })
  // Violations of the content security policy are told here.
  page.on('console', message => {
    const isElsewhere = /^https?:/.test(message.location().url) && !message.location().url.startsWith('http://127.0.0.1')
    if (message.type() === 'error' && !isElsewhere) problems.push(message.text())
  })
  return Object.assign(page, { problems })
}

// Returns what axe finds in a view, as the rule and the elements, and whether anything is wider than
// the screen.
export async function audit (page, view) {
  if (!await page.evaluate(() => Boolean(window.axe))) await page.evaluate(AXE)
  // Colours that fade in are checked at their end.
  await page.waitForFunction(() => document.getAnimations().every(({ playState }) => playState === 'finished'))
  const { violations } = await page.evaluate(() => window.axe.run(document))
  const found = violations.map(({ id, nodes }) => [view, id, nodes.map(({ html, any }) => [html, any[0]?.message])])
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  return overflow > 0 ? [...found, [view, 'is too wide', overflow]] : found
}

// Stands between a page and its WebSocket. `toPage` returns whether a message goes on, and `toServer`
// may wait, or return `false` for a message that does not. `upgraded` is a promise: what comes before
// that is posted, if anything is.
export async function standBetween (page, { toPage = () => true, toServer = () => true }) {
  let tell
  const upgraded = new Promise(resolve => { tell = resolve })
  await page.routeWebSocket(/socket\.io/, socket => {
    const server = socket.connectToServer()
    server.onMessage(message => { if (toPage(String(message))) socket.send(message) })
    socket.onMessage(async message => {
      if (String(message) === '5' || String(message).startsWith('40')) tell()
      if (await toServer(String(message), socket) !== false) server.send(message)
    })
  })
  return { upgraded }
}

export async function register (page, base, name) {
  await page.goto(base)
  await fillLogin(page, name, PASSWORD)
  await page.getByRole('button', { name: 'Register' }).click()
  await page.locator('#chat').waitFor()
}

export async function logIn (page, name, password = PASSWORD) {
  await fillLogin(page, name, password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}

async function fillLogin (page, name, password) {
  const form = page.getByRole('main', { name: 'Log in' })
  await form.getByLabel('Email').fill(`${name}@example.com`)
  await form.getByLabel('Password').fill(password)
}

export async function createRoom (page, name) {
  await page.getByRole('button', { name: 'New room' }).click()
  const dialog = page.getByRole('dialog', { name: 'New room' })
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name }).waitFor()
}

export const openRoom = async (page, name) => {
  await page.locator('#rooms a').filter({ has: page.getByText(name, { exact: true }) }).click()
  await page.locator('#room').getByRole('heading', { name }).waitFor()
}

export async function write (page, text) {
  await page.getByLabel('Message in').fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
  await line(page, text).waitFor()
}

export const alert = (page, text) => page.getByRole('alert').filter({ hasText: text })

export const line = (page, text) => page.locator('#messages li', { hasText: text })

export const texts = page => page.locator('#messages .text').allInnerTexts()

// Waits until the page shows some texts, in this order.
export async function shows (page, expected) {
  const isShown = wanted => {
    const found = [...document.querySelectorAll('#messages .text')].map(item => item.innerText)
    return JSON.stringify(found) === JSON.stringify(wanted)
  }
  await page.waitForFunction(isShown, expected).catch(() => {})
  assert.deepEqual(await texts(page), expected)
}

// A client over HTTP, as another program would be.
export class Api {
  constructor (base, token) {
    Object.assign(this, { base, token })
  }

  static async logIn (base, name, password = PASSWORD) {
    const api = new Api(base)
    const login = await api.call('POST', 'authentication', { strategy: 'local', email: `${name}@example.com`, password })
    return Object.assign(api, { token: login.accessToken, user: login.user })
  }

  static async register (base, name) {
    await new Api(base).call('POST', 'users', { email: `${name}@example.com`, password: PASSWORD, name })
    return Api.logIn(base, name)
  }

  async call (method, path, data) {
    // The server closes idle connections, which the next call would meet.
    const headers = { Accept: 'application/json', 'Content-Type': 'application/json', Connection: 'close' }
    if (this.token) headers.Authorization = `Bearer ${this.token}`
    const response = await fetch(`${this.base}/${path}`, { method, headers, body: data && JSON.stringify(data) })
    const answer = await response.json()
    assert.ok(response.ok, answer.message)
    return answer
  }

  async room (name, fields = {}) {
    return this.call('POST', 'rooms', { name, ...fields })
  }

  // Messages with the texts "1", "2" and so on, or others.
  async write (room, texts) {
    const list = typeof texts === 'number' ? Array.from({ length: texts }, (_, index) => `${index + 1}`) : texts
    const written = []
    for (let start = 0; start < list.length; start += 100) {
      const data = list.slice(start, start + 100).map(text => ({ text, roomId: room.id }))
      written.push(...await this.call('POST', 'messages', data))
    }
    return written
  }
}
