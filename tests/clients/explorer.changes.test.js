// The explorer in a browser: records are created, changed and removed, and events seen.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { Api, launch, openWindow, standBetween } from './browser.js'
import { start } from './server.js'

let server
let browser
let page
let api
let room

before(async () => {
  server = await start({ FLASK_RECORDS_EXPLORER__enabled: 'true' })
  browser = await launch()
  api = await Api.register(server.base, 'ann')
  room = await api.room('General')
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

beforeEach(async () => { page = await openExplorer(api) })

afterEach(() => page.context().close())

// Opens a window of a user who is logged in.
async function openExplorer ({ token }) {
  const page = await openWindow(browser)
  await page.addInitScript(login => sessionStorage.setItem('flask-records-explorer /_records/ login', login), JSON.stringify({ path: 'authentication', token }))
  page.setDefaultTimeout(30_000)
  page.calls = []
  page.on('websocket', socket => socket.on('framesent', ({ payload }) => note(page.calls, payload)))
  // Calls before the upgrade to a WebSocket are posted.
  page.on('request', sent => {
    if (/transport=polling/.test(sent.url())) sent.postData()?.split('\x1e').forEach(packet => note(page.calls, packet))
  })
  return page
}

// Notes a call over Socket.IO: its method, and what comes with it.
function note (calls, payload) {
  const [, list] = /^42\d*(\[.*)$/s.exec(String(payload)) ?? []
  if (list) calls.push(JSON.parse(list))
}

const go = async (page, hash) => {
  await page.goto(`${server.base}/_records/#/${hash}`)
  await page.locator('h1').waitFor()
}

const messageOf = async text => (await api.write(room, [text]))[0]

// Shows messages with some texts in the table, and returns their identifiers.
async function showMany (page, texts) {
  const ids = (await api.write(room, texts)).map(({ id }) => id)
  await go(page, `records/messages?${ids.map(id => `id[$in][]=${id}`).join('&')}`)
  return ids
}

const control = name => page.getByLabel(name, { exact: true })

const title = name => page.getByRole('heading', { level: 1, name, exact: true })

const press = name => page.getByRole('button', { name, exact: true }).click()

const problemOf = name => page.locator('.entry', { has: control(name) }).locator('.field-error')

const callsOf = method => page.calls.filter(([name]) => name === method)

const value = name => page.locator('.details dt', { hasText: name }).locator('+ dd')

test('a form creates a record of what is typed', async () => {
  await go(page, 'create/messages')

  await control('text').fill('Hello <b>world</b>')
  await control('read').selectOption('true')
  await control('roomId').fill(String(room.id))
  await press('Create')
  await title(/^(messages|users) \d+$/).waitFor()

  assert.equal(await value('text').innerText(), 'Hello <b>world</b>')
  assert.deepEqual(callsOf('create').at(-1)[2], { text: 'Hello <b>world</b>', read: true, roomId: room.id })
  assert.deepEqual(page.problems, [])
})

test('a key is chosen by the name of the record', async () => {
  await go(page, 'create/messages')

  await control('roomId').pressSequentially('ener')

  await page.locator(`datalist option[value="${room.id}"]`).waitFor({ state: 'attached' })
  await control('roomId').fill(String(room.id))
  await page.locator('.picker', { hasText: 'General' }).waitFor()
})

test('null, an empty text and what is left out are told apart', async () => {
  await go(page, 'create/users')
  const email = `${Date.now()}@example.com`

  await control('email').fill(email)
  await control('password').fill('a long password')
  await control('name').fill('x')
  await control('name').fill('')
  await page.getByLabel('What is sent as avatar').selectOption('null')
  await press('Create')
  await title(/^(messages|users) \d+$/).waitFor()

  assert.deepEqual(callsOf('create').at(-1)[2], { email, password: 'a long password', name: '', avatar: null })
})

test('what does not fit is not sent', async () => {
  await go(page, 'create/messages')

  await control('text').fill('Hello')
  await control('roomId').fill('many')
  await press('Create')

  assert.equal(await problemOf('roomId').innerText(), 'roomId is not a whole number')
  assert.deepEqual(callsOf('create').map(([, path]) => path), ['authentication'])
})

test('the error of a field is beside it, and has the focus', async () => {
  await go(page, 'create/messages')

  await control('text').fill('Hello')
  await control('roomId').fill('4711')
  await press('Create')
  await page.getByRole('alert').filter({ hasText: 'refers to a record' }).waitFor()

  assert.equal(await problemOf('roomId').innerText(), 'roomId refers to a record that is not there')
  assert.equal(await control('roomId').getAttribute('aria-invalid'), 'true')
  assert.equal(await control('roomId').evaluate(element => element === document.activeElement), true)
  assert.equal(await control('text').inputValue(), 'Hello')
})

test('JSON creates many records', async () => {
  await go(page, 'create/messages')

  await press('JSON, one or many')
  await control('Data').fill(JSON.stringify([{ text: 'one', roomId: room.id }, { text: 'two', roomId: room.id }]))
  await press('Create')

  await title('messages').waitFor()
  const { data } = await api.call('GET', 'messages?$sort[id]=-1&$limit=2')
  assert.deepEqual(data.map(({ text }) => text), ['two', 'one'])
})

test('a patch sends what was changed, and no more', async () => {
  const message = await messageOf('Before')
  await go(page, `record/messages/${message.id}`)

  await press('Edit')
  await control('text').fill('After')
  await press('Save')
  await page.locator('.details').waitFor()

  assert.equal(await value('text').innerText(), 'After')
  assert.deepEqual(callsOf('patch').map(call => call[3]), [{ text: 'After' }])
})

test('a patch over HTTP sends what was changed, and the values that it replaces', async () => {
  const message = await messageOf('Before')
  await page.route('**/services.json', async route => {
    const response = await route.fetch()
    return route.fulfill({ response, json: { ...await response.json(), realtime: null } })
  })
  await go(page, `record/messages/${message.id}`)
  await press('Edit')
  await control('text').fill('After')
  await page.getByLabel('What is sent as roomId').selectOption('null')

  const sent = page.waitForRequest(request => request.method() === 'PATCH')
  await press('Save')
  const request = await sent
  await page.locator('.details').waitFor()

  assert.deepEqual(request.postDataJSON(), { text: 'After', roomId: null })
  assert.equal(new URL(request.url()).search, `?text=Before&roomId=${room.id}`)
  assert.deepEqual(page.problems, [])
})

test('what someone else changes is loaded, and what is typed stays', async () => {
  const message = await messageOf('Before')
  await go(page, `record/messages/${message.id}`)
  await press('Edit')
  await control('text').fill('Mine')

  await api.call('PATCH', `messages/${message.id}`, { text: 'Theirs', archived: true })
  await page.getByRole('alert').filter({ hasText: 'Someone has changed this record' }).waitFor()
  await press('Load the new values, keep mine')
  await press('Save')
  await page.locator('.details').waitFor()

  assert.deepEqual(callsOf('patch').map(call => call[3]), [{ text: 'Mine' }])
  const stored = await api.call('GET', `messages/${message.id}`)
  assert.deepEqual([stored.text, stored.archived], ['Mine', true])
})

test('a change that no event told is met before it is overwritten', async () => {
  const message = await messageOf('Before')
  const { upgraded } = await standBetween(page, { toPage: text => !/messages patched/.test(text) })
  await go(page, `record/messages/${message.id}`)
  await upgraded
  await press('Edit')
  await control('text').fill('Mine')

  await api.call('PATCH', `messages/${message.id}`, { text: 'Theirs' })
  await press('Save')

  await page.getByRole('row', { name: 'text Before Theirs' }).waitFor()
  assert.equal((await api.call('GET', `messages/${message.id}`)).text, 'Theirs')
})

test('a change while a patch is on its way is not overwritten', async () => {
  const message = await messageOf('Before')
  const change = () => api.call('PATCH', `messages/${message.id}`, { text: 'Theirs' })
  const { upgraded } = await standBetween(page, {
    toPage: text => !/messages patched/.test(text),
    toServer: text => /^42\d*\["patch"/.test(text) ? change() : null
  })
  await go(page, `record/messages/${message.id}`)
  await upgraded
  await press('Edit')
  await control('text').fill('Mine')

  await press('Save')

  await page.getByRole('row', { name: 'text Before Theirs' }).waitFor()
  assert.equal((await api.call('GET', `messages/${message.id}`)).text, 'Theirs')
})

test('a record that someone else changes or removes shows it', async () => {
  const message = await messageOf('Before')
  await go(page, `record/messages/${message.id}`)

  await api.call('PATCH', `messages/${message.id}`, { text: 'Theirs' })
  await value('text').filter({ hasText: 'Theirs' }).waitFor()
  await api.call('DELETE', `messages/${message.id}`)

  await page.getByRole('alert').filter({ hasText: 'Someone has removed this record.' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Edit' }).count(), 0)
})

test('a record is removed once it is confirmed', async () => {
  const message = await messageOf('Unwanted')
  await go(page, `record/messages/${message.id}`)

  await press('Remove…')
  await press('Cancel')
  assert.deepEqual(callsOf('remove'), [])
  await press('Remove…')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await title('messages').waitFor()

  const left = await api.call('GET', `messages?id=${message.id}`)
  assert.equal(left.total, 0)
})

test('many records are changed at once', async () => {
  const ids = await showMany(page, ['many one', 'many two', 'many three'])

  await page.getByLabel(`Select ${ids[0]}`, { exact: true }).check()
  await page.getByLabel(`Select ${ids[2]}`, { exact: true }).check()
  await page.getByText('2 selected').waitFor()
  await press('Change selected…')
  const dialog = page.getByRole('dialog', { name: 'Change 2 records of messages' })
  await dialog.getByLabel('read', { exact: true }).selectOption('true')
  await dialog.getByRole('button', { name: 'Change 2 records' }).click()
  await dialog.waitFor({ state: 'hidden' })

  const [, , id, data, query] = callsOf('patch').at(-1)
  assert.deepEqual([id, data, query], [null, { read: true }, { id: { $in: [ids[0], ids[2]] } }])
  const stored = await api.call('GET', `messages?${ids.map(id => `id[$in]=${id}`).join('&')}&$sort[id]=1`)
  assert.deepEqual(stored.data.map(({ read }) => read), [true, false, true])
})

test('many records are removed at once', async () => {
  const ids = await showMany(page, ['gone one', 'gone two', 'kept'])

  await page.getByLabel(`Select ${ids[0]}`, { exact: true }).check()
  await page.getByLabel(`Select ${ids[1]}`, { exact: true }).check()
  await press('Remove selected…')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove 2 records' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })

  const left = await api.call('GET', `messages?${ids.map(id => `id[$in]=${id}`).join('&')}`)
  assert.deepEqual(left.data.map(({ text }) => text), ['kept'])
})

test('an event of a second window is in the log', async () => {
  await go(page, 'events')
  await page.getByText('Connected').waitFor()
  const second = await openExplorer(api)
  await go(second, 'create/messages')

  await second.getByLabel('text', { exact: true }).fill('From afar')
  await second.getByLabel('roomId', { exact: true }).fill(String(room.id))
  await second.getByRole('button', { name: 'Create', exact: true }).click()

  const entry = page.getByRole('log').getByRole('listitem').filter({ hasText: 'From afar' })
  await entry.getByText('Data').click()
  assert.match(await entry.locator('pre').innerText(), /"text": "From afar"/)
  await second.context().close()
})

test('the log has what came before it was opened', async () => {
  await go(page, 'create/messages')
  const message = await messageOf('Early')

  await page.getByRole('link', { name: 'Events' }).click()

  await page.getByRole('log').getByRole('link', { name: `messages ${message.id}` }).waitFor()
})

test('the log is paused, filtered and cleared', async () => {
  await go(page, 'events')
  await page.getByText('Connected').waitFor()
  const lines = page.getByRole('log').getByRole('listitem')

  await press('Pause')
  await messageOf('Unseen')
  await page.getByText('Paused, 1 new').waitFor()
  assert.equal(await lines.count(), 0)
  await press('Go on')
  await lines.filter({ hasText: 'Unseen' }).waitFor()
  await control('Service').selectOption('rooms')
  assert.equal(await lines.count(), 0)
  await control('Service').selectOption('')
  assert.equal(await lines.count(), 1)
  await press('Clear')
  assert.equal(await lines.count(), 0)
})

test('a custom method is called, and its event seen', async () => {
  await go(page, 'custom/messages')

  await control('roomId').fill(String(room.id))
  await press('Call typing')
  await page.getByText('Result of typing').waitFor()

  const expected = { roomId: room.id, userId: api.user.id }
  assert.deepEqual(JSON.parse(await page.locator('.result pre').innerText()), expected)
  const entry = page.getByRole('log').getByRole('listitem').filter({ hasText: 'typing' })
  assert.deepEqual(JSON.parse(await entry.locator('pre').innerText()), expected)
})

test('a custom method shows why it was refused', async () => {
  await go(page, 'custom/messages')

  await control('roomId').fill('999999')
  await press('Call typing')

  await page.getByRole('alert').filter({ hasText: "No record found for id '999999'" }).waitFor()
})
