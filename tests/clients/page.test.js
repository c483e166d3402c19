// The page of the example application in a browser: who gets in, and what may run there.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { alert, createRoom, launch, line, logIn, openWindow, register, write } from './browser.js'
import { logged, start, startProvider } from './server.js'

const CY = { sub: 'cy', name: 'Cy Young', email: 'cy@example.com', email_verified: true }
const ELI = { sub: 'eli', name: 'Eli Ek', email: 'eli@example.com', email_verified: true }

let provider
let server
let browser
let page

before(async () => {
  provider = await startProvider(CY, ELI)
  server = await start(provider.settings)
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
  await provider?.stop()
})

beforeEach(async () => { page = await openWindow(browser) })

afterEach(() => page.context().close())

const account = page => page.locator('#show-account .name')

test('a user registers, writes, and finds the message again', async () => {
  await register(page, server.base, 'ann')
  await createRoom(page, 'Ann’s room')
  await write(page, '<b>Hello</b> & welcome')

  await page.reload()

  await line(page, 'Hello').waitFor()
  assert.equal(await line(page, 'Hello').locator('.text').innerText(), '<b>Hello</b> & welcome')
  assert.equal(await line(page, 'Hello').locator('.author').innerText(), 'ann@example.com')
  assert.deepEqual(page.problems, [])
})

test('the page uses a WebSocket, and requests nothing from other sites', async () => {
  const sockets = []
  page.on('websocket', socket => sockets.push(new URL(socket.url()).pathname))

  await register(page, server.base, 'fay')

  const image = page.locator('#show-account img')
  assert.equal(await image.evaluate(element => element.decode().then(() => element.naturalWidth > 0)), true)
  assert.match(await image.getAttribute('src'), /^\/static\//)
  assert.deepEqual([sockets, page.elsewhere, page.problems], [['/socket.io/'], [], []])
})

test('a forgotten password is set anew by the link of a mail', async () => {
  await register(page, server.base, 'gus')
  const other = await openWindow(browser)
  await other.goto(server.base)
  await other.getByLabel('Email').fill('GUS@example.com')
  await other.getByRole('button', { name: 'Forgotten password' }).click()
  await alert(other, 'a mail with a link').waitFor()
  const link = await logged(server, /Mail to gus@example.com: (\S+)/)

  await other.goto(server.base + link)
  const dialog = other.getByRole('dialog', { name: 'Set a new password' })
  await dialog.getByLabel('New password').fill('a better password')
  await other.getByRole('button', { name: 'Save' }).click()
  await alert(other, 'Log in with the new password.').waitFor()
  await logIn(other, 'gus', 'a better password')

  await other.locator('#chat').waitFor()
  await page.getByRole('main', { name: 'Log in' }).waitFor()
  assert.doesNotMatch(other.url(), /reset/)
  await other.context().close()
})

test('a wrong password is refused in words, and the right one accepted', async () => {
  await register(page, server.base, 'ben')
  await account(page).click()
  await page.getByRole('button', { name: 'Log out' }).click()

  await logIn(page, 'BEN', 'another password')
  await alert(page, 'Invalid login').waitFor()
  await logIn(page, 'BEN')

  await page.locator('#chat').waitFor()
  assert.equal(await account(page).innerText(), 'ben@example.com')
  assert.deepEqual(page.problems, [])
})

async function logInAtProvider () {
  await page.getByRole('button', { name: 'Log in with Google' }).click()
  await page.getByRole('button', { name: 'cy', exact: true }).click()
  await page.locator('#chat').waitFor()
}

test('a user logs in at a provider', async () => {
  await page.goto(server.base)
  await logInAtProvider()

  assert.equal(await account(page).innerText(), 'Cy Young')
  assert.equal(page.url().includes('#'), false)
  assert.deepEqual(page.problems, [])
})

test('a login that is denied at the provider is explained', async () => {
  await page.goto(server.base)
  await page.getByRole('button', { name: 'Log in with Google' }).click()
  await page.getByRole('button', { name: 'Deny' }).click()

  await alert(page, 'The login was cancelled.').waitFor()
  assert.equal(await page.locator('#login').isVisible(), true)
})

test('a link of another site logs nobody in, nor out', async () => {
  await register(page, server.base, 'kim')
  const token = await page.evaluate(() => localStorage.getItem('feathers-jwt'))
  const other = await openWindow(browser)

  await other.goto(`${server.base}/#access_token=${token}`)
  await page.goto(`${server.base}/?#error=Nothing%20to%20see`)

  await alert(other, 'This tab has not begun a login.').waitFor()
  await alert(page, 'This tab has not begun a login.').waitFor()
  assert.equal(await other.locator('#login').isVisible(), true)
  assert.equal(await account(page).innerText(), 'kim@example.com')
  assert.equal(await page.getByText('Nothing to see').count(), 0)
  await other.context().close()
})

test('a login that is connected is shown', async () => {
  const google = page.locator('#account [data-provider=google]')
  await register(page, server.base, 'max')
  await account(page).click()
  await google.getByRole('button', { name: 'Connect Google' }).click()
  await page.getByRole('button', { name: 'eli', exact: true }).click()
  await page.locator('#chat').waitFor()

  await page.locator('#show-account').click()

  await google.getByText('connected', { exact: true }).waitFor()
  assert.equal(await page.locator('#account .email').innerText(), 'max@example.com')
})
