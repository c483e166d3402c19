// The page of the example application when something goes wrong.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { alert, Api, createRoom, launch, line, logIn, openRoom, openTab, openWindow, shows, texts, write } from './browser.js'
import { startNetwork } from './network.js'
import { start } from './server.js'

let server
let narrow
let browser
let page
let api
let room
let number = 0

// Takes 5 kB over a WebSocket, and two messages.
const NARROW = {
  FLASK_RECORDS_REALTIME: JSON.stringify({ max_payload: 5000, transports: ['websocket'] }),
  FLASK_RATELIMIT_ENABLED: 'true',
  FLASK_RECORDS_LIMITS: JSON.stringify({ 'messages.create': '2 per hour' })
}

before(async () => {
  server = await start()
  narrow = await start(NARROW)
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
  await narrow?.stop()
})

// Ben's window, and a room in which Ann's program writes.
beforeEach(async () => {
  number += 1
  api = await Api.register(server.base, `ann${number}`)
  await Api.register(server.base, `ben${number}`)
  room = await api.room(`Room ${number}`)
  page = await openWindow(browser)
})

afterEach(() => page.context().close())

async function enter (base = server.base) {
  await page.goto(`${base}/?room=${room.id}`)
  await logIn(page, `ben${number}`)
  await page.getByRole('heading', { name: room.name }).waitFor()
}

const connection = page => page.locator('#connection')
const calls = (page, name) => page.locator('#wire li[data-kind=call] b', { hasText: name }).count()

test('a lost connection is shown, and what was missed is loaded', async t => {
  const network = await startNetwork(server.base)
  t.after(() => network.stop())
  const other = await api.room(`Other ${number}`)
  const [first, second] = await api.write(room, ['one', 'two', 'three'])
  await enter(network.base)
  await shows(page, ['one', 'two', 'three'])

  network.cut()
  await connection(page).getByText('The connection is lost.').waitFor()
  await page.getByLabel('Message in').fill('not yet')
  await page.getByRole('button', { name: 'Send' }).click()
  await alert(page, 'There is no connection.').waitFor()
  await api.call('PATCH', `messages/${first.id}`, { text: 'eins' })
  await api.call('DELETE', `messages/${second.id}`)
  await api.write(room, ['four'])
  await api.write(other, ['five', 'six'])
  network.mend()

  await shows(page, ['eins', 'three', 'four'])
  await page.getByRole('link', { name: `${other.name} 2 unread` }).waitFor()
  await connection(page).waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Send' }).click()
  await shows(page, ['eins', 'three', 'four', 'not yet'])
})

test('many missed messages begin with the newest', async t => {
  const network = await startNetwork(server.base)
  t.after(() => network.stop())
  await api.write(room, ['before'])
  await enter(network.base)
  await shows(page, ['before'])

  network.cut()
  await connection(page).getByText('The connection is lost.').waitFor()
  await api.write(room, 350)
  network.mend()

  await line(page, '350').waitFor()
  const found = await texts(page)
  assert.deepEqual(found, Array.from({ length: found.length }, (_, index) => `${351 - found.length + index}`))
})

test('a call whose answer is lost fails in words, and its text stays', async t => {
  const network = await startNetwork(server.base)
  t.after(() => network.stop())
  await enter(network.base)

  // The server does not get the message before the network is cut.
  network.pause()
  await page.getByLabel('Message in').fill('Is it there?')
  await page.getByRole('button', { name: 'Send' }).click()
  network.cut()

  await alert(page, 'The connection was lost before the answer came.').waitFor()
  assert.equal(await page.getByLabel('Message in').inputValue(), 'Is it there?')
})

test('a page that begins without a server says so, and goes on when it is there', async t => {
  const network = await startNetwork(server.base)
  t.after(() => network.stop())
  await page.goto(network.base)
  await page.getByRole('main', { name: 'Log in' }).waitFor()
  network.cut()
  await connection(page).getByText(/The connection is lost|can’t be reached/).waitFor()
  network.mend()

  await connection(page).waitFor({ state: 'hidden' })
  await logIn(page, `ben${number}`)

  await page.locator('#chat').waitFor()
})

test('a token that is revoked leads to the login form, in words, and back', async () => {
  await enter()
  const ben = await Api.logIn(server.base, `ben${number}`)
  await ben.call('PATCH', `users/${ben.user.id}`, { password: 'another password' })

  await page.getByLabel('Message in').fill('Am I here?')
  await alert(page, 'Your session has ended. Log in again.').waitFor()
  await logIn(page, `ben${number}`, 'another password')

  await page.getByRole('heading', { name: room.name }).waitFor()
  assert.equal(await page.getByLabel('Message in').inputValue(), 'Am I here?')
  await page.getByRole('button', { name: 'Send' }).click()
  await shows(page, ['Am I here?'])
  assert.deepEqual(page.problems, [])
})

test('a page that only waits notices that its token is revoked', async () => {
  await enter()
  const ben = await Api.logIn(server.base, `ben${number}`)
  await ben.call('PATCH', `users/${ben.user.id}`, { password: 'another password' })

  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))

  await alert(page, 'Your session has ended. Log in again.').waitFor()
})

test('a token that expires leads to the login form', async t => {
  const brief = await start({ FLASK_RECORDS_AUTHENTICATION__lifetime: '4' })
  t.after(() => brief.stop())
  await Api.register(brief.base, 'dan')
  await page.goto(brief.base)
  await logIn(page, 'dan')

  await alert(page, 'Your session has ended. Log in again.').waitFor()

  assert.equal(await page.locator('#chat').isVisible(), false)
  assert.equal(await page.locator('#login').getByLabel('Email').evaluate(field => field === document.activeElement), true)
})

test('a browser whose clock is wrong stays logged in, and does not log in again and again', async () => {
  await page.clock.install({ time: Date.now() + 3 * 24 * 3600_000 })
  await enter()
  await page.getByText('No messages yet.').waitFor()
  const logins = await calls(page, 'authentication create')

  await page.clock.runFor(30_000)
  await write(page, 'Still here')

  assert.equal(await calls(page, 'authentication create'), logins)
})

test('the page polls where WebSockets are refused', async t => {
  const network = await startNetwork(server.base, { refusesWebSockets: true })
  t.after(() => network.stop())
  await enter(network.base)

  await write(page, 'Over polling')
  await api.write(room, ['And back'])

  await shows(page, ['Over polling', 'And back'])
  assert.equal(await connection(page).isVisible(), false)
})

test('a refused WebSocket is told where nothing else is served', async t => {
  const network = await startNetwork(narrow.base, { refusesWebSockets: true })
  t.after(() => network.stop())
  await page.goto(network.base)

  await connection(page).getByText('The server can’t be reached').waitFor()
})

test('a message that is too long is refused before it is sent, and loses nothing', async () => {
  await enter()
  const text = '😀'.repeat(10001)

  await page.getByLabel('Message in').fill(text)
  await page.getByText('10001 of 10000 characters').waitFor()
  await page.getByRole('button', { name: 'Send' }).click()
  await alert(page, 'This has 10001 characters. A message has 10000 at most.').waitFor()

  assert.equal(await page.getByLabel('Message in').inputValue(), text)
  assert.equal(await calls(page, 'messages create'), 0)
  await page.getByLabel('Message in').fill('😀'.repeat(10000))
  await page.getByRole('button', { name: 'Send' }).click()
  await shows(page, ['😀'.repeat(10000)])
})

test('what the server finds too large is told in its words', async () => {
  await page.route(url => url.pathname === '/', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replace('data-longest="10000"', 'data-longest="90000"') })
  })
  await enter()

  await page.getByLabel('Message in').fill('x'.repeat(20000))
  await page.getByRole('button', { name: 'Send' }).click()

  await page.locator('#composer').getByRole('alert').filter({ hasText: /text/ }).waitFor()
})

test('what is too large for a connection, or too much, is refused in words', async () => {
  const field = page.getByLabel('Message in')
  const send = () => page.getByRole('button', { name: 'Send' }).click()
  await Api.register(narrow.base, 'eva')
  await page.goto(narrow.base)
  await logIn(page, 'eva')
  await createRoom(page, 'Narrow')

  await field.fill('x'.repeat(6000))
  await send()
  await alert(page, 'This is too large').waitFor()
  await write(page, 'one')
  await write(page, 'two')
  await field.fill('three')
  await send()

  await alert(page, 'Too many requests').waitFor()
  assert.equal(await field.inputValue(), 'three')
})

test('200 messages of another client make 200 lines, and one call', async () => {
  await enter()
  await page.getByText('No messages yet.').waitFor()
  const finds = await calls(page, ' find')

  await api.write(room, 200)

  await shows(page, Array.from({ length: 200 }, (_, index) => `${index + 1}`))
  await page.locator('#messages li').last().getByText(`ann${number}`).waitFor()
  assert.equal(await page.locator('#wire li', { hasText: /users find/ }).count() <= 1, true)
  assert.ok(await calls(page, ' find') - finds <= 1)
  assert.deepEqual(page.problems, [])
})

test('a double click writes once', async () => {
  await enter()

  await page.getByLabel('Message in').fill('Once')
  await page.getByRole('button', { name: 'Send' }).dblclick()
  await page.getByRole('button', { name: 'New room' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill(`Single ${number}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).evaluate(button => {
    button.click()
    button.click()
  })
  await page.getByRole('heading', { name: `Single ${number}` }).waitFor()

  assert.equal((await api.call('GET', `messages?roomId=${room.id}`)).total, 1)
  assert.equal((await api.call('GET', `rooms?name=Single ${number}`)).total, 1)
})

test('tabs of one browser share a login, and its end', async () => {
  await enter()
  const tab = await openTab(page.context())
  await tab.goto(`${server.base}/?room=${room.id}`)
  await tab.getByRole('heading', { name: room.name }).waitFor()
  await write(tab, 'From one tab')
  await shows(page, ['From one tab'])

  await tab.locator('#show-account').click()
  await tab.getByRole('button', { name: 'Log out' }).click()
  await alert(page, 'You have logged out in another tab.').waitFor()
  await logIn(tab, `ann${number}`)
  await tab.locator('#chat').waitFor()

  await page.reload()
  await page.locator('#show-account .name').getByText(`ann${number}`).waitFor()
  assert.deepEqual([...page.problems, ...tab.problems], [])
})

test('what comes while a reader is further up does not move the page', async () => {
  await api.write(room, 60)
  await enter()
  await line(page, '60').waitFor()
  const pane = page.locator('#messages')
  const placeOf = text => page.locator('#messages li', { hasText: text }).evaluate(element => element.getBoundingClientRect().top)
  await pane.evaluate(element => { element.scrollTop = 0 })
  await line(page, '29').waitFor()
  const place = await placeOf('35')

  await api.write(room, ['new'])
  await page.getByRole('button', { name: 'New messages' }).waitFor()
  assert.equal(await placeOf('35'), place)
  await page.getByRole('button', { name: 'New messages' }).click()

  assert.equal(await line(page, 'new').isVisible(), true)
  assert.equal(await pane.evaluate(element => element.scrollHeight - element.scrollTop - element.clientHeight < 2), true)
})

test('words that are not sent stay with their room', async () => {
  const other = await api.room(`Next ${number}`)
  await enter()
  await page.getByLabel('Message in').fill('Half a thought')
  await openRoom(page, other.name)
  assert.equal(await page.getByLabel('Message in').inputValue(), '')

  await openRoom(page, room.name)

  assert.equal(await page.getByLabel('Message in').inputValue(), 'Half a thought')
})
