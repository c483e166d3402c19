// The page of the example application, used in a browser.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { chromium } from 'playwright-core'
import { granian, start, startProvider } from './server.js'

const EXECUTABLE = process.env.CHROMIUM || '/usr/bin/chromium'
const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'
]
const CLAIMS = {
  sub: 'cy', name: 'Cy Young', email: 'cy@example.com', email_verified: true
}

let provider
let server
let browser
let context
let page
let problems
let elsewhere

before(async () => {
  provider = await startProvider(CLAIMS)
  server = await start({
    FLASK_RECORDS_AUTHENTICATION__oauth__google__key: 'example',
    FLASK_RECORDS_AUTHENTICATION__oauth__google__secret: 'example-secret',
    FLASK_RECORDS_AUTHENTICATION__oauth__google__discovery_url: provider.url
  })
  browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS })
})

after(async () => {
  await browser?.close()
  await server?.stop()
  await provider?.stop()
})

beforeEach(async () => {
  context = await browser.newContext()
  // Nothing comes from elsewhere.
  elsewhere = []
  await context.route(url => url.hostname !== '127.0.0.1', route => {
    elsewhere.push(route.request().url())
    return route.abort()
  })
  page = await context.newPage()
  problems = []
  page.on('pageerror', error => problems.push(error.message))
  // What the policy of the page forbids is told here.
  page.on('console', message => {
    if (/Content.Security.Policy/.test(message.text())) problems.push(message.text())
  })
  page.setDefaultTimeout(10_000)
})

afterEach(() => context.close())

async function register (name, base = server.base) {
  await page.goto(base)
  await page.getByPlaceholder('Email').fill(`${name}@example.com`)
  await page.getByPlaceholder('Password').fill('a long password')
  await page.getByRole('button', { name: 'Register' }).click()
  await page.locator('#user').waitFor()
}

test('somebody registers, writes, and finds it again', async () => {
  await register('ann')
  await page.getByPlaceholder('Write something').fill('<b>Hello</b> & welcome')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('#messages li').first().waitFor()

  await page.reload()

  await page.locator('#messages li').first().waitFor()
  assert.equal(await page.locator('#messages li').first().innerText(), 'ann@example.com<b>Hello</b> & welcome')
  assert.deepEqual(problems, [])
})

test('the page uses a WebSocket, and tells nobody else of its visitor', async () => {
  const sockets = []
  page.on('websocket', socket => sockets.push(new URL(socket.url()).pathname))

  await register('fay')

  const image = page.locator('#user img')
  assert.equal(await image.evaluate(element => element.decode().then(() => element.naturalWidth > 0)), true)
  assert.match(await image.getAttribute('src'), /^\/static\//)
  assert.deepEqual([sockets, elsewhere, problems], [['/socket.io/'], [], []])
})

test('the page polls where the server has no WebSockets', async () => {
  const polling = await start({}, granian)
  await register('gus', polling.base)

  await page.getByPlaceholder('Write something').fill('Hello')
  await page.getByRole('button', { name: 'Send' }).click()

  await page.locator('#messages li').first().waitFor()
  await polling.stop()
  assert.deepEqual(problems, [])
})

test('a script that gets into the page does not run', async () => {
  await page.goto(server.base)

  await page.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'window.isBroken = true'
    document.body.append(script)
    document.body.insertAdjacentHTML('beforeend', '<img src="x:" onerror="window.isBroken = true">')
  })

  assert.equal(await page.evaluate(() => window.isBroken), undefined)
  assert.match(problems.join(), /inline script/)
})

test('an image of another site is not loaded, nor the page shown in a frame', async () => {
  const plain = await start()
  await page.goto(plain.base)

  await page.evaluate(() => new Promise(resolve => {
    const image = document.createElement('img')
    image.onerror = resolve
    image.src = 'https://gravatar.com/avatar/x'
    document.body.append(image)
  }))

  const frame = await context.newPage()
  await frame.setContent(`<iframe src="${plain.base}"></iframe>`)
  const inside = await frame.frames()[1].locator('#login').count()
  await plain.stop()
  assert.match(problems.join(), /img-src/)
  assert.deepEqual([elsewhere, inside], [[], 0])
})

test('a wrong password is told, and the right one lets in', async () => {
  await register('ben')
  await page.getByRole('button', { name: 'Log out' }).click()

  await page.getByPlaceholder('Email').fill('BEN@example.com')
  await page.getByPlaceholder('Password').fill('another password')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByText('Invalid login').waitFor()
  await page.getByPlaceholder('Password').fill('a long password')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()

  await page.locator('#user').waitFor()
  assert.equal(await page.locator('#user span').innerText(), 'ben@example.com')
  assert.deepEqual(problems, [])
})

test('somebody logs in at a provider', async () => {
  await page.goto(server.base)
  await page.getByRole('link', { name: 'Log in with Google' }).click()
  await page.getByRole('button', { name: 'cy', exact: true }).click()

  await page.locator('#user').waitFor()
  assert.equal(await page.locator('#user span').innerText(), 'Cy Young')
  assert.equal(page.url(), `${server.base}/`)
  assert.deepEqual(problems, [])
})

test('a login that is denied at the provider is told', async () => {
  await page.goto(server.base)
  await page.getByRole('link', { name: 'Log in with Google' }).click()
  await page.getByRole('button', { name: 'Deny' }).click()

  await page.getByText('The login was cancelled.').waitFor()
  assert.equal(await page.locator('#login').isVisible(), true)
})

test('what one writes appears at the other', async () => {
  await register('dan')
  const other = await browser.newContext()
  await other.route(url => url.hostname !== '127.0.0.1', route => route.abort())
  const otherPage = await other.newPage()
  await otherPage.goto(server.base)
  await otherPage.getByPlaceholder('Email').fill('eve@example.com')
  await otherPage.getByPlaceholder('Password').fill('a long password')
  await otherPage.getByRole('button', { name: 'Register' }).click()
  await otherPage.locator('#user').waitFor()

  for (const [from, to, text] of [[page, otherPage, 'Hello Eve'], [otherPage, page, 'Hello Dan']]) {
    await from.getByPlaceholder('Write something').fill(text)
    await from.getByRole('button', { name: 'Send' }).click()
    await to.getByText(text).waitFor()
  }

  await other.close()
  assert.deepEqual(problems, [])
})
