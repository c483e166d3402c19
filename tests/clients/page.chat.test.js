// What people do on the page of the example application, in two windows.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { promisify } from 'node:util'
import { alert, Api, launch, line, logIn, openRoom, openWindow, PASSWORD, shows, texts, write } from './browser.js'
import { start } from './server.js'

const run = promisify(execFile)

let server
let browser
let ann
let ben
let api
let number = 0

before(async () => {
  server = await start()
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

// Two windows of two people who are new in each test, and the first one's program.
beforeEach(async () => {
  number += 1
  api = await Api.register(server.base, `ann${number}`)
  await Api.register(server.base, `ben${number}`)
  ann = await openWindow(browser)
  ben = await openWindow(browser)
})

afterEach(async () => {
  assert.deepEqual([...ann.problems, ...ben.problems], [])
  await ann.context().close()
  await ben.context().close()
})

async function enterAs (page, name) {
  await page.goto(server.base)
  await logIn(page, name)
  await page.locator('#chat').waitFor()
}

async function enter (...windows) {
  for (const page of windows) await enterAs(page, page === ann ? `ann${number}` : `ben${number}`)
}

test('what one window writes appears in the other', async () => {
  const room = await api.room(`Hall ${number}`)
  await enter(ann, ben)
  await openRoom(ann, room.name)
  await openRoom(ben, room.name)

  await write(ann, 'Hello Ben')
  await line(ben, 'Hello Ben').waitFor()
  await write(ben, 'Hello Ann')

  await shows(ann, ['Hello Ben', 'Hello Ann'])
  assert.equal(await line(ann, 'Hello Ann').locator('.author').innerText(), `ben${number}`)
})

test('an owner removes a room, and the others are told', async () => {
  const room = await api.room(`Club ${number}`)
  await enter(ann, ben)
  await openRoom(ann, room.name)
  await openRoom(ben, room.name)
  assert.equal(await ben.getByRole('button', { name: 'Remove room' }).count(), 0)

  await ann.getByRole('button', { name: 'Remove room' }).click()
  await ann.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()

  for (const page of [ann, ben]) {
    await alert(page, 'is gone').waitFor()
    assert.equal(await page.getByRole('link', { name: room.name }).count(), 0)
  }
})

test('people edit and remove their own messages, in place', async () => {
  const room = await api.room(`Desk ${number}`)
  await api.write(room, ['one', 'two', 'three'])
  await enter(ann, ben)
  await openRoom(ann, room.name)
  await openRoom(ben, room.name)
  await shows(ben, ['one', 'two', 'three'])
  const kept = await line(ben, 'one').elementHandle()

  await line(ann, 'two').hover()
  await line(ann, 'two').getByRole('button', { name: 'Edit' }).click()
  await ann.getByLabel('New text').fill('zwei')
  await ann.getByRole('button', { name: 'Save' }).click()
  await shows(ben, ['one', 'zwei', 'three'])
  await line(ann, 'three').hover()
  await line(ann, 'three').getByRole('button', { name: 'Remove' }).click()
  await ann.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()

  await shows(ben, ['one', 'zwei'])
  await shows(ann, ['one', 'zwei'])
  // The other lines were not made again.
  assert.equal(await kept.evaluate(element => element.isConnected), true)
  assert.equal(await line(ben, 'one').getByRole('button').count(), 0)
})

test('scrolling up loads older messages, and keeps the place', async () => {
  const room = await api.room(`Archive ${number}`)
  await api.write(room, 100)
  await enter(ann)
  await openRoom(ann, room.name)
  await line(ann, '100').waitFor()
  const before = (await texts(ann)).length
  assert.ok(before < 100)

  // The first line loses its day and its author when others come above it.
  const visible = await ann.locator('#messages li').nth(10).elementHandle()
  // The older messages may be there as soon as the pane has moved.
  const top = await visible.evaluate(line => {
    document.querySelector('#messages').scrollTop = 150
    return line.getBoundingClientRect().top
  })
  await ann.waitForFunction(count => document.querySelectorAll('#messages li').length > count, before)

  assert.ok(Math.abs(await visible.evaluate(line => line.getBoundingClientRect().top) - top) < 2)
  while ((await texts(ann)).length < 100) {
    const count = (await texts(ann)).length
    await ann.locator('#messages').evaluate(pane => { pane.scrollTop = 0 })
    await ann.waitForFunction(count => document.querySelectorAll('#messages li').length > count, count)
  }
  await shows(ann, Array.from({ length: 100 }, (_, index) => `${index + 1}`))
})

test('a new password keeps this window logged in, and ends the others', async () => {
  const room = await api.room(`Keys ${number}`)
  await enter(ann)
  await enterAs(ben, `ann${number}`)
  const account = ann.getByRole('dialog', { name: 'Your account' })

  await ann.locator('#show-account').click()
  await account.getByLabel('New password').fill('another password')
  await account.getByRole('button', { name: 'Change' }).click()
  await account.waitFor({ state: 'hidden' })
  await openRoom(ann, room.name)
  await write(ann, 'Still here')

  await alert(ben, 'Your session has ended.').waitFor()
  await logIn(ben, `ann${number}`, 'another password')
  await ben.locator('#chat').waitFor()
})

test('the side pane shows calls and events, whose command runs in a shell', async () => {
  const room = await api.room(`Wire ${number}`)
  await enter(ann)
  await ann.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await openRoom(ann, room.name)
  await write(ann, "It's 'quoted' & \"so\" on, 100 %")
  const wire = ann.getByRole('complementary', { name: 'On the wire' })
  await wire.getByText('messages created').waitFor()

  const copied = []
  for (const name of ['messages find', 'messages create']) {
    const entry = wire.locator('li[data-kind=call]', { hasText: name }).last()
    assert.match(await entry.locator('.figures').innerText(), /B · \d+ ms$/)
    await entry.locator('summary').click()
    await entry.getByRole('button', { name: 'Copy as curl' }).click()
    await entry.getByText('Copied').waitFor()
    copied.push(await ann.evaluate(() => navigator.clipboard.readText()))
  }

  const answers = []
  for (const command of copied) {
    const { stdout } = await run('bash', ['-c', command], { env: { ...process.env, TOKEN: api.token } })
    answers.push(JSON.parse(stdout))
  }

  assert.equal(answers[1].text, "It's 'quoted' & \"so\" on, 100 %")
  assert.deepEqual(answers[0].data.map(({ roomId, user }) => [roomId, user.name]), [[room.id, `ann${number}`]])
  const everything = await wire.locator('ol').evaluate(list => list.textContent) + copied.join()
  for (const secret of [PASSWORD, 'eyJ']) assert.equal(everything.includes(secret), false)
})
