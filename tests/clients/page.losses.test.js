// The page of the example application when something goes wrong.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { alert, Api, launch, logIn, openTab, openWindow, shows, write } from './browser.js'
import { startNetwork } from './network.js'
import { start } from './server.js'

let server
let browser
let page
let api
let room
let number = 0

before(async () => {
  server = await start()
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
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
  await alert(page, 'There is no connection.').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Send' }).click()
  await shows(page, ['eins', 'three', 'four', 'not yet'])
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

test('a token that is revoked leads to the login form, in words, and back', async () => {
  await enter()
  await page.getByLabel('Message in').fill('Am I here?')
  const ben = await Api.logIn(server.base, `ben${number}`)

  await ben.call('PATCH', `users/${ben.user.id}`, { password: 'another password' })
  await alert(page, 'Your session has ended. Log in again.').waitFor()
  await logIn(page, `ben${number}`, 'another password')

  await page.getByRole('heading', { name: room.name }).waitFor()
  assert.equal(await page.getByLabel('Message in').inputValue(), 'Am I here?')
  await page.getByRole('button', { name: 'Send' }).click()
  await shows(page, ['Am I here?'])
  assert.deepEqual(page.problems, [])
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

test('tabs of one browser share a login, and its end', async () => {
  await enter()
  const tab = await openTab(page.context())
  await tab.goto(`${server.base}/?room=${room.id}`)
  await tab.getByRole('heading', { name: room.name }).waitFor()
  await write(tab, 'From one tab')
  await shows(page, ['From one tab'])

  await tab.locator('#show-account').click()
  await tab.getByRole('button', { name: 'Log out' }).click()
  await alert(page, 'Your session has ended. Log in again.').waitFor()
  await logIn(tab, `ann${number}`)
  await tab.locator('#chat').waitFor()

  await page.reload()
  await page.locator('#show-account .name').getByText(`ann${number}`).waitFor()
  assert.deepEqual([...page.problems, ...tab.problems], [])
})
