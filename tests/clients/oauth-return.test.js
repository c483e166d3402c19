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
const USED_UP = 'This login was used, took too long, or began in another browser. Log in again.'

let provider
let server
let frontEnd
let port
let browser
let context
let page
let home
let addresses
let settings

before(async () => {
  port = await freePort()
  frontEnd = await startFrontEnd(port)
  provider = await startProvider(...USERS)
  const origins = ['127.0.0.1', 'localhost', 'records.test'].map(host => `http://${host}:${port}`)
  settings = {
    FLASK_RECORDS_CORS__origins: JSON.stringify(origins),
    ...provider.settings
  }
  server = await start(settings)
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
  addresses = []
  context.on('request', request => addresses.push(request.url()))
  page = await context.newPage()
  page.on('framenavigated', frame => addresses.push(frame.url()))
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

// Returns the code with which a browser of somebody else would log in, who keeps it.
async function codeOf (name) {
  const other = await browser.newContext()
  const tab = await other.newPage()
  await tab.route('**/main.js', route => route.fulfill({ body: '', contentType: 'text/javascript' }))
  await tab.goto(`${frontEnd.api}/oauth/google?redirect=${home}/`)
  await tab.getByRole('button', { name, exact: true }).click()
  await tab.waitForURL(url => url.hash.startsWith('#code='))
  const code = new URL(tab.url()).hash
  await other.close()
  return code
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

const exchanges = () => addresses.filter(url => url.endsWith('/token') && url.startsWith(frontEnd.api))
const shown = async role => page.locator(`[role=${role}]`).innerText()

for (const host of ['127.0.0.1', 'localhost', 'records.test']) {
  test(`a login returns to the front end at ${host}`, async () => {
    home = `http://${host}:${port}`
    frontEnd.api = server.base.replace('127.0.0.1', host === 'localhost' ? '127.0.0.1' : host)

    await logIn()

    assert.equal(page.url(), `${home}/`)
    assert.equal(exchanges().length, 1)
    // No token was in an address, and no code reached a server.
    assert.deepEqual(addresses.filter(url => /eyJ|access_token/.test(url)), [])
    assert.deepEqual(frontEnd.requests.filter(url => url.includes('code')), [])
  })
}

for (const transport of ['rest', 'socket']) {
  test(`a second login is that of the second person, over ${transport}`, async () => {
    await page.goto(home)
    await page.evaluate(name => localStorage.setItem('transport', name), transport)
    await logIn('cy')

    await logIn('di')

    assert.equal(await shown('status'), 'Hello, DI')
    await page.reload()
    await page.getByText('Hello, DI').waitFor()
  })

  test(`a token that is not valid any more is replaced, over ${transport}`, async () => {
    await page.goto(home)
    await page.evaluate(name => localStorage.setItem('transport', name), transport)
    await begin()
    await page.getByRole('button', { name: 'cy', exact: true }).waitFor()
    const other = await context.newPage()
    await other.goto(`${home}/feathers.min.js`)
    await other.evaluate(() => localStorage.setItem('feathers-jwt', 'e30.e30.stale'))

    await page.getByRole('button', { name: 'cy', exact: true }).click()

    await page.getByText('Hello, CY').waitFor()
    assert.notEqual(await page.evaluate(() => localStorage.getItem('feathers-jwt')), 'e30.e30.stale')
  })
}

test('an error after a first login is shown, and the first user is not', async () => {
  await logIn('cy')
  await page.getByRole('link').click()

  await page.getByRole('button', { name: 'Deny' }).click()

  await page.getByText('The login was cancelled.').waitFor()
  assert.equal(await shown('status'), '')
  assert.equal(page.url(), `${home}/`)
})

test('a login that is reloaded is not finished again', async () => {
  await logIn()

  await page.reload()
  await page.getByText('Hello, CY').waitFor()

  assert.equal(exchanges().length, 1)
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
  const links = [await codeOf('di'), `#access_token=${await tokenOf('di')}`, '#error=Call%20evil.example']

  for (const visitor of [null, 'cy']) {
    if (visitor) await logIn(visitor)
    const before = exchanges().length

    for (const link of links) {
      await page.goto('about:blank')
      await page.goto(`${home}/${link}`)
      await page.getByText(NOT_BEGUN).waitFor()
      assert.equal(page.url(), `${home}/`)
    }

    assert.equal(exchanges().length, before)
    await page.goto('about:blank')
    await page.goto(home)
    await page.getByText(visitor ? 'Hello, CY' : 'Nobody').waitFor()
  }
})

test('a link of an attacker does not end a login that the visitor has begun', async () => {
  const [code, token] = [await codeOf('di'), await tokenOf('di')]

  for (const [link, message] of [[code, USED_UP], [`#access_token=${token}`, 'The login has no code.']]) {
    await begin()
    await page.getByRole('button', { name: 'cy', exact: true }).waitFor()
    await page.goto(`${home}/${link}`)

    await page.getByText(message).waitFor()
    assert.equal(await page.evaluate(() => localStorage.getItem('feathers-jwt')), null)
  }
})

test('a login that another site begins is not finished', async () => {
  const challenge = 'c'.repeat(43)
  await page.goto(provider.url)
  await page.evaluate(url => { location.href = url }, `${server.base}/oauth/google?challenge=${challenge}&redirect=${home}/`)
  await page.getByRole('button', { name: 'cy', exact: true }).click()

  await page.getByText(NOT_BEGUN).waitFor()
  assert.equal(exchanges().length, 0)
})

test('a login is connected to the user of a front end', async () => {
  await page.goto(home)
  await page.evaluate(async () => {
    const user = { email: 'eve@example.com', password: 'a long password' }
    await client.service('users').create(user)
    const { accessToken } = await client.authenticate({ strategy: 'local', ...user })
    const response = await fetch(`${api}/oauth/google`, {
      method: 'POST', credentials: 'include', headers: { Authorization: `Bearer ${accessToken}` }
    })
    const { startLogin } = await import('./oauth.js')
    await startLogin((await response.json()).url)
  })

  await page.getByRole('button', { name: 'fay', exact: true }).click()

  await page.getByText('Hello, FAY').waitFor()
  const user = await page.evaluate(() => client.get('authentication').then(({ user }) => user))
  assert.equal(user.email, 'eve@example.com')
})

test('a login returns to the page that it names', async () => {
  await page.goto(home)
  await page.evaluate(async () => {
    const { startLogin } = await import('./oauth.js')
    await startLogin(`${api}/oauth/google?lang=de`, { redirect: '/inbox?unread=true' })
  })

  await page.getByRole('button', { name: 'cy', exact: true }).click()

  await page.getByText('Hello, CY').waitFor()
  assert.equal(page.url(), `${home}/inbox?unread=true`)
})

test('only the answer is removed from the address', async () => {
  for (const [path, rest] of [['/#/inbox#error=x', '/#/inbox'], ['/?a=1#error=', '/?a=1'], ['//x#code=1', '//x']]) {
    await page.goto('about:blank')
    await page.goto(home + path)
    await page.getByText(NOT_BEGUN).waitFor()
    assert.equal(page.url(), home + rest)
  }

  for (const path of ['/#/inbox', '/#section', '/#codes=1']) {
    await page.goto('about:blank')
    await page.goto(home + path)
    await page.getByText('Nobody').waitFor()
    assert.equal(page.url(), home + path)
  }
})

test('a token in the address is taken from a login of the tab only, if the page says so', async () => {
  const plain = await start({ ...settings, FLASK_RECORDS_AUTHENTICATION__oauth__response: 'fragment' })
  frontEnd.api = plain.base
  const tokens = async () => {
    const { finishLogin } = await import('./oauth.js')
    const finished = await finishLogin({ fragment: true }).catch(error => error.message)
    return [Object.keys(finished), finished.accessToken]
  }
  await page.route('**/main.js', route => route.fulfill({
    contentType: 'text/javascript', body: "import('./oauth.js').then(({ startLoginOnClick }) => { startLoginOnClick(); document.title = 'ready' })"
  }))
  await page.goto(home)
  await page.waitForFunction(() => document.title === 'ready')
  await page.getByRole('link').click()
  await page.getByRole('button', { name: 'cy', exact: true }).click()
  await page.waitForURL(url => url.hash.startsWith('#access_token='))
  const stolen = new URL(page.url()).hash

  const [names, token] = await page.evaluate(tokens)

  assert.deepEqual(names, ['accessToken'])
  assert.equal(stolen, `#access_token=${token}`)
  assert.equal(page.url(), `${home}/`)
  await page.goto('about:blank')
  await page.goto(`${home}/${stolen}`)
  assert.equal((await page.evaluate(tokens))[1], undefined)
  await plain.stop()
})

test('an answer of a proxy is told by its status', async () => {
  await begin()
  await page.route('**/oauth/google/token', route => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }))

  await page.getByRole('button', { name: 'cy', exact: true }).click()

  await page.getByText('The login failed with status 502. Log in again.').waitFor()
})
