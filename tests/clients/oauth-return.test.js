// Logins at a provider that end on front ends of other origins, in a browser.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { launch } from './browser.js'
import { startFrontEnd } from './frontend.js'
import { freePort, start, startProvider } from './server.js'

// A host that is reached without HTTPS.
const HOST = '--host-resolver-rules=MAP records.test 127.0.0.1'
const USERS = ['cy', 'di', 'fay'].map(name => ({
  sub: name, name: name.toUpperCase(), email: `${name}@example.com`, email_verified: true
}))
const NOT_BEGUN = 'This tab has not begun a login. Log in again.'
// A page that leaves all to the official client.
const PLAIN = `
export const startLogin = url => location.assign(url)
export const enter = client => client.reAuthenticate().then(({ user }) => user)
`

let provider
let server
let frontEnd
let port
let browser
let context
let page
let home

before(async () => {
  port = await freePort()
  frontEnd = await startFrontEnd(port)
  provider = await startProvider(...USERS)
  const origins = ['127.0.0.1', 'records.test'].map(host => `http://${host}:${port}`)
  server = await start({ FLASK_RECORDS_CORS__origins: JSON.stringify(origins), ...provider.settings })
  browser = await launch(HOST)
})

after(async () => {
  await browser?.close()
  await server?.stop()
  await provider?.stop()
  await frontEnd?.stop()
})

beforeEach(async () => {
  await open()
  home = `http://127.0.0.1:${port}`
  frontEnd.api = server.base
})

afterEach(() => context.close())

async function open () {
  context = await browser.newContext()
  page = await context.newPage()
  page.setDefaultTimeout(30_000)
}

async function begin (tab = page) {
  await tab.goto(home)
  await tab.getByText('Nobody').or(tab.getByText('Hello')).waitFor()
  await tab.getByRole('link').click()
}

async function logIn (name = 'cy', tab = page) {
  await begin(tab)
  await tab.getByRole('button', { name, exact: true }).click()
  await tab.getByText(`Hello, ${name.toUpperCase()}`).waitFor()
}

// Returns the token of somebody else.
async function tokenOf (name) {
  const other = await browser.newContext()
  const tab = await other.newPage()
  await logIn(name, tab)
  const token = await tab.evaluate(() => localStorage.getItem('feathers-jwt'))
  await other.close()
  return token
}

const shown = async role => page.locator(`[role=${role}]`).innerText()

for (const host of ['127.0.0.1', 'records.test']) {
  test(`a login returns to the front end at ${host}`, async () => {
    home = `http://${host}:${port}`
    frontEnd.api = server.base.replace('127.0.0.1', host)

    await logIn()

    assert.equal(page.url(), `${home}/`)
    assert.deepEqual(frontEnd.requests.filter(url => /eyJ|access_token/.test(url)), [])
  })
}

test('the official client alone reads the token, and that of the next user after a logout', async () => {
  await page.route('**/login.js', route => route.fulfill({ contentType: 'text/javascript', body: PLAIN }))

  for (const name of ['cy', 'di']) {
    await page.goto(home)
    await page.getByText('No accessToken').waitFor()
    await page.getByRole('link').click()

    await page.getByRole('button', { name, exact: true }).click()

    await page.getByText(`Hello, ${name.toUpperCase()}`).waitFor()
    assert.doesNotMatch(page.url(), /eyJ/)
    await page.evaluate(() => window.client.logout())
  }
})

test('a second login is that of the second person, over sockets', async () => {
  await page.goto(home)
  await page.evaluate(() => localStorage.setItem('transport', 'socket'))
  await logIn('cy')

  await logIn('di')

  assert.equal(await shown('status'), 'Hello, DI')
  await page.reload()
  await page.getByText('Hello, DI').waitFor()
})

test('a token that is not valid any more is replaced', async () => {
  await begin()
  await page.getByRole('button', { name: 'cy', exact: true }).waitFor()
  const other = await context.newPage()
  await other.goto(`${home}/feathers.min.js`)
  await other.evaluate(() => localStorage.setItem('feathers-jwt', 'e30.e30.stale'))

  await page.getByRole('button', { name: 'cy', exact: true }).click()

  await page.getByText('Hello, CY').waitFor()
  assert.notEqual(await page.evaluate(() => localStorage.getItem('feathers-jwt')), 'e30.e30.stale')
})

test('an error after a first login is shown, and the first user is not', async () => {
  await logIn('cy')
  await page.getByRole('link').click()
  await page.getByRole('button', { name: 'Deny' }).waitFor()

  // The button of this provider leaves out the state, which RFC 6749 asks for.
  const state = new URL(page.url()).searchParams.get('state')
  await page.goto(`${server.base}/oauth/google/callback?error=access_denied&state=${state}`)

  await page.getByText('The login was cancelled.').waitFor()
  assert.equal(await shown('status'), '')
  assert.equal(page.url(), `${home}/`)
})

test('two tabs log in at once, and each finishes its own', async () => {
  const second = await context.newPage()
  await begin(page)
  await begin(second)

  await page.getByRole('button', { name: 'cy', exact: true }).click()
  await second.getByRole('button', { name: 'di', exact: true }).click()

  await page.getByText('Hello, CY').waitFor()
  await second.getByText('Hello, DI').waitFor()
})

test('a link of an attacker logs nobody in, and shows no text of theirs', async () => {
  const links = [`#access_token=${await tokenOf('di')}`, '#error=Call%20evil.example']

  for (const visitor of [null, 'cy']) {
    if (visitor) await logIn(visitor)
    for (const link of links) {
      await page.goto('about:blank')
      await page.goto(`${home}/${link}`)
      await page.getByText(NOT_BEGUN).waitFor()
      assert.equal(page.url(), `${home}/`)
    }

    await page.goto('about:blank')
    await page.goto(home)
    await page.getByText(visitor ? 'Hello, CY' : 'Nobody').waitFor()
  }
})

test('a login returns to the page that it names', async () => {
  await page.goto(home)
  await page.evaluate(async () => {
    const { startLogin } = await import('./login.js')
    startLogin(`${api}/oauth/google?lang=de&redirect=${encodeURIComponent(`${location.origin}/inbox?unread=true`)}`)
  })

  await page.getByRole('button', { name: 'cy', exact: true }).click()

  await page.getByText('Hello, CY').waitFor()
  assert.equal(page.url(), `${home}/inbox?unread=true`)
})
