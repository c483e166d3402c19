// Logins in the explorer, in a browser.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { Api, launch, openTab, openWindow, PASSWORD } from './browser.js'
import { start, startProvider } from './server.js'

const DAY = 24 * 60 * 60

let provider
let server
let closed
let browser
let page
let addresses

before(async () => {
  provider = await startProvider({ sub: 'cy', name: 'Cy', email: 'cy@example.com' })
  const settings = { FLASK_RECORDS_EXPLORER__enabled: 'true', ...provider.settings };
  [server, closed] = await Promise.all([start(settings), start({ ...settings, FLASK_RECORDS_EXPLORER__login: 'true' })])
  for (const { base } of [server, closed]) {
    const ann = await Api.register(base, 'ann')
    await ann.room('Engine room')
  }
  browser = await launch()
})

after(async () => {
  await browser?.close()
  for (const each of [server, closed, provider]) await each?.stop()
})

beforeEach(async () => {
  page = await openWindow(browser)
  addresses = []
  page.context().on('request', request => addresses.push(request.url()))
  page.on('framenavigated', frame => addresses.push(frame.url()))
})

afterEach(() => page.context().close())

const open = (view = '', { base } = server, tab = page) => tab.goto(`${base}/_records/#/${view}`)

const heading = (name, tab = page) => tab.getByRole('heading', { name, exact: true, level: 1 })

const caller = (tab = page) => tab.locator('#caller')

const services = () => page.locator('#navigation a')

async function fillIn (password = PASSWORD) {
  await heading('Log in').waitFor()
  await page.getByLabel('Email').fill('ann@example.com')
  await page.getByLabel('Password').fill(password)
}

const submit = () => page.getByRole('button', { name: 'Log in', exact: true }).click()

async function logIn (site) {
  await open('login', site)
  await fillIn()
  await submit()
  await caller().getByText('ann').waitFor()
}

async function paste (token) {
  await page.getByText('Paste a token').click()
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Use the token' }).click()
}

// Returns all that the tab, and the browser, keep.
const kept = (tab = page) => tab.evaluate(() => [sessionStorage, localStorage].map(store => JSON.stringify({ ...store })))

const tokenOf = text => /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(text)?.[0]

test('a login is kept by its tab, and nowhere else', async () => {
  await logIn()
  const [inTab, inBrowser] = await kept()
  const token = tokenOf(inTab)

  await page.reload()
  await caller().getByText('ann').waitFor()
  const other = await openTab(page.context())
  await open('', server, other)
  await caller(other).getByText('Log in').waitFor()

  assert.ok(token)
  assert.equal(tokenOf(inBrowser), undefined)
  assert.equal(await page.evaluate(() => document.cookie), '')
  assert.deepEqual(addresses.filter(address => address.includes(token) || address.includes('eyJ')), [])
})

test('a login is kept by the browser if one asks for it, until one logs out', async () => {
  await open('login')
  await fillIn()
  await page.getByLabel('Keep me logged in').check()
  await submit()
  await caller().getByText('ann').waitFor()
  const other = await openTab(page.context())
  await open('login', server, other)
  await heading('Your login', other).waitFor()
  await other.getByText('in this browser, until you log out').waitFor()

  await other.getByRole('button', { name: 'Log out' }).click()

  await caller(other).getByText('Log in').waitFor()
  assert.deepEqual((await kept(other)).map(tokenOf), [undefined, undefined])
  assert.deepEqual(other.problems, [])
})

test('a user sees who one is, and when the login ends', async () => {
  await page.clock.install()
  await logIn()
  await open('login')
  await heading('Your login').waitFor()
  const main = page.getByRole('main')

  await main.getByRole('link', { name: 'ann' }).waitFor()
  assert.match(await main.getByRole('timer').innerText(), /^in (1 d|23 h 59 min)/)
  const time = await main.locator('time').getAttribute('datetime')
  assert.ok(Math.abs(new Date(time) - await page.evaluate(() => Date.now()) - DAY * 1000) < 60_000)

  await page.clock.fastForward(DAY * 1000)
  await page.getByRole('alert').getByText('The login has ended').waitFor()
  await heading('Log in').waitFor()
  assert.equal(await caller().innerText(), 'Log in')
  assert.equal(tokenOf(JSON.stringify(await kept())), undefined)
})

test('a login that is refused says why, and keeps what was typed', async () => {
  await open('login')
  await fillIn('a wrong password')
  await submit()

  await page.getByRole('alert').getByText('Invalid login').waitFor()
  assert.equal(await page.getByLabel('Email').inputValue(), 'ann@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await submit()
  await caller().getByText('ann').waitFor()
})

test('a token is pasted, and a bad one is refused', async () => {
  const { token } = await Api.logIn(server.base, 'ann')
  await open('login')

  await paste('not.a.token')
  await page.getByRole('alert').getByText('token').waitFor()
  await page.getByLabel('Token', { exact: true }).fill(` ${token}\n`)
  await page.getByRole('button', { name: 'Use the token' }).click()

  await caller().getByText('ann').waitFor()
  assert.equal(tokenOf((await kept())[0]), token)
  assert.deepEqual(addresses.filter(address => address.includes('eyJ')), [])
})

for (const isKept of [false, true]) {
  test(`a login at a provider returns to the explorer, ${isKept ? 'and is kept' : 'for its tab'}`, async () => {
    await open('login')
    if (isKept) await page.getByLabel('Keep me logged in').check()
    await page.getByRole('button', { name: 'Log in with Google' }).click()
    await page.getByRole('button', { name: 'cy', exact: true }).click()

    await caller().getByText('Cy').waitFor()
    assert.equal(page.url(), `${server.base}/_records/`)
    const tokens = (await kept()).map(tokenOf)
    assert.deepEqual(tokens.map(Boolean), [!isKept, isKept])
    assert.deepEqual(page.problems, [])
  })
}

test('a login at a provider that this tab has not begun is refused', async () => {
  await page.goto(`${server.base}/_records/#access_token=stolen`)

  await page.getByRole('alert').getByText('This tab has not begun a login').waitFor()
  await caller().getByText('Log in').waitFor()
  assert.doesNotMatch(page.url(), /stolen/)
})

test('a token that has ended is forgotten', async () => {
  await logIn()
  await page.evaluate(() => {
    for (const [name, text] of Object.entries(sessionStorage)) sessionStorage.setItem(name, text.replace(/\.[\w-]+"/, '.wrong"'))
  })

  await page.reload()

  await page.getByRole('alert').getByText('The login has ended').waitFor()
  await caller().getByText('Log in').waitFor()
  assert.equal(tokenOf(JSON.stringify(await kept())), undefined)
})

test('services of which a user sees nothing are nowhere', async () => {
  await open()
  await services().first().waitFor()
  const before = await services().allInnerTexts()
  const answered = await page.evaluate(async () => (await fetch('services.json')).text())

  await logIn()
  await services().getByText('rooms').waitFor()

  assert.deepEqual(before, ['authentication', 'users'])
  assert.doesNotMatch(answered, /roomId|archived|"rooms"/)
})

test('the explorer shows nothing without the login that it needs', async () => {
  await page.goto(`${closed.base}/_records/#/records/users`)
  await heading('Log in').waitFor()
  assert.equal(await page.getByRole('link', { name: 'users' }).count(), 0)

  await fillIn()
  await submit()

  await services().getByText('rooms').waitFor()
  assert.match(page.url(), /#\/records\/users$/)
})

test('one sees what nobody may beside what one may', async () => {
  await logIn()
  await open('compare')
  const row = name => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) })
  assert.deepEqual(await row('users').getByRole('cell').first().getByRole('listitem').allInnerTexts(), ['create'])
  assert.equal(await row('rooms').getByRole('cell').first().innerText(), 'none')

  await row('rooms').getByRole('link').click()
  await heading('rooms: as nobody, and as me').waitFor()
  await page.getByLabel('Query of both').fill('name=Secret room')
  await page.getByRole('button', { name: 'Compare' }).click()

  await page.getByRole('region', { name: 'As me' }).getByText('1 record').waitFor()
  await page.getByRole('region', { name: 'As nobody' }).getByText('may not be called').waitFor()
  const table = page.getByRole('table', { name: 'The records' })
  assert.deepEqual(await table.getByRole('row').nth(1).getByRole('cell').allInnerTexts(), ['Secret room', 'no', 'yes', ''])
  assert.match(page.url(), /#\/compare\/rooms\?name=Secret/)
  assert.deepEqual(page.problems, [])
})

test('a table leads to what nobody sees of its query', async () => {
  await logIn()
  await open('records/rooms?name=Engine room')
  await page.getByRole('cell', { name: 'Engine room' }).waitFor()

  await page.getByRole('button', { name: 'Compare' }).click()

  await heading('rooms: as nobody, and as me').waitFor()
  await page.getByRole('region', { name: 'As me' }).getByText('1 record').waitFor()
  assert.match(await page.getByLabel('Query of both').inputValue(), /^name=Engine/)
})
