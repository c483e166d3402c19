// The explorer of the example with 100,000 messages, on each database, in two windows.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import feathers from '@feathersjs/feathers'
import rest from '@feathersjs/rest-client'
import { Api, audit, launch, logIn as logInToChat, openRoom, openWindow, PASSWORD, write } from './browser.js'
import { start } from './server.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WINDOW = { locale: 'en-GB', timezoneId: 'Europe/London' }
const PYTHON = process.env.PYTHON || 'python3'
export const POSTGRESQL = process.env.TEST_POSTGRESQL_URL
const run = promisify(execFile)

// Runs a statement on the server, and prints the URL of the database of that name.
const ON_SERVER = `
import sys
import sqlalchemy as sa

url, name, statement = sys.argv[1:]
engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")

with engine.connect() as connection:
    connection.exec_driver_sql(statement)

print(engine.url.set(database=name).render_as_string(hide_password=False))
`

export async function onFile () {
  const folder = await mkdtemp(join(tmpdir(), 'explorer-'))
  return { url: `sqlite:///${join(folder, 'large.db')}`, remove: () => rm(folder, { recursive: true }) }
}

export async function onPostgresql () {
  const name = `records_${randomBytes(6).toString('hex')}`
  const execute = statement => run(PYTHON, ['-c', ON_SERVER, POSTGRESQL, name, statement])
  const { stdout } = await execute(`CREATE DATABASE ${name}`)
  return { url: stdout.trim(), remove: () => execute(`DROP DATABASE ${name} WITH (FORCE)`) }
}

const fill = env => run(PYTHON, ['-m', 'flask', '--app', 'wsgi', 'example-data', '--messages', '100000'], { cwd: ROOT, env: { ...process.env, ...env } })

const press = (name, place) => place.getByRole('button', { name, exact: true }).click()

const title = (name, page) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

const caller = page => page.locator('#caller')

const cells = (page, kind = 'th') => page.locator(`.records tbody ${kind}`)

const row = (page, text) => page.locator('.records tbody tr').filter({ hasText: text })

const service = (page, path) => page.locator('.service').filter({ has: page.getByRole('link', { name: path, exact: true }) })

const caption = (page, text) => page.locator('.records[aria-busy=false] caption').filter({ hasText: text }).waitFor()

const turn = (page, name) => page.getByRole('navigation', { name: 'Pages of records' }).getByText(name, { exact: true }).click()

const range = (from, to) => Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => String(from + Math.sign(to - from) * index))

// Waits until the table has records, by their identifiers.
async function shows (page, expected) {
  const isShown = wanted => {
    const found = [...document.querySelectorAll('.records tbody th')].map(each => each.innerText)
    return document.querySelector('.records')?.ariaBusy === 'false' && JSON.stringify(found) === JSON.stringify(wanted)
  }
  await page.waitForFunction(isShown, expected).catch(() => {})
  assert.deepEqual(await cells(page).allInnerTexts(), expected)
}

async function openExplorer (browser) {
  const page = await openWindow(browser, WINDOW)
  page.setDefaultTimeout(30_000)
  return page
}

async function logIn (page, base, name) {
  await page.goto(`${base}/_records/#/login`)
  await page.getByLabel('Email').fill(`${name}@example.com`)
  await page.getByLabel('Password').fill(PASSWORD)
  await press('Log in', page)
  await caller(page).getByText(name, { exact: true }).waitFor()
}

// Opens a view, and waits until it has loaded what it shows.
async function go (page, base, view, heading) {
  await page.goto(`${base}/_records/#/${view}`)
  await title(heading, page)
  await page.locator('#state').getByText('Live', { exact: true }).waitFor()
  await page.locator('#main [aria-busy=true]').waitFor({ state: 'detached' })
}

// Adds a condition to the filter.
async function add (page, field, operator, value) {
  const conditions = page.getByRole('group', { name: 'All of these hold' })
  await press('Add a condition', conditions)
  const condition = conditions.getByRole('listitem').last()
  await condition.getByLabel('Field').selectOption(field)
  await condition.getByLabel('Operator').selectOption({ label: operator })
  const control = condition.getByLabel('Value', { exact: true })
  if (['true', 'false'].includes(value)) await control.selectOption(value)
  else await control.fill(value)
}

// Tests it on a database that a function opens.
export const testOn = (name, open, skip = false) => describe(`the example with 100,000 messages on ${name}`, { skip }, () => {
  let database
  let settings
  let server
  let browser
  let ann
  let api
  let lobby
  let page
  let second
  // The pages are the same on each database.
  const isAccessible = async page => { if (name === 'SQLite') assert.deepEqual(await audit(page, page.url()), []) }

  before(async () => {
    database = await open()
    settings = { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex'), FLASK_RECORDS_EXPLORER__enabled: 'true' };
    [browser] = await Promise.all([launch(), fill(settings)])
    server = await start(settings)
    ann = await Api.register(server.base, 'ann')
    api = await Api.register(server.base, 'bob')
    const { data } = await api.call('GET', 'rooms?name=Lobby')
    lobby = data[0];
    [page, second] = [await openExplorer(browser), await openExplorer(browser)]
    await Promise.all([logIn(page, server.base, 'ann'), logIn(second, server.base, 'bob')])
  })

  after(async () => {
    await browser?.close()
    await server?.stop()
    await database?.remove()
  })

  afterEach(() => {
    for (const each of [page, second]) {
      assert.deepEqual([each.problems, each.elsewhere], [[], []])
    }
  })

  const show = (window, view, heading) => go(window, server.base, view, heading)

  // Shows messages with a word, the newest first, in both windows.
  async function showWord (word) {
    const view = `records/messages?text[$search]=${word}&$sort[id]=-1`
    await Promise.all([show(page, view, 'messages'), show(second, view, 'messages')])
  }

  test('the page lists the services, and how many records they have', async () => {
    const response = await fetch(`${server.base}/_records/`)
    assert.match(response.headers.get('Content-Security-Policy'), /script-src 'self'.*style-src 'self'/)

    for (const window of [page, second]) {
      await show(window, '', 'Services')
      await service(window, 'messages').getByText('100,000 records').waitFor()
      await service(window, 'rooms').getByText('16 records').waitFor()
    }
    const { id } = await api.call('POST', 'messages', { text: 'One more', roomId: lobby.id })
    for (const window of [page, second]) await service(window, 'messages').getByText('100,001 records').waitFor()
    await api.call('DELETE', `messages/${id}`)
    for (const window of [page, second]) await service(window, 'messages').getByText('100,000 records').waitFor()
    await isAccessible(page)
  })

  test('the table is sorted, and paged by number and by key', async () => {
    await show(page, 'records/messages', 'messages')
    await caption(page, '1–10 of 100,000 records')

    await press('createdAt', page)
    await shows(page, range(1, 10))
    await press('createdAt', page)
    await shows(page, range(100_000, 99_991))
    await caption(page, 'by createdAt descending')
    await page.getByLabel('Rows').selectOption('25')
    await turn(page, '4,000')
    await shows(page, range(25, 1))
    await caption(page, '99,976–100,000 of 100,000 records')

    await page.getByLabel('By key').check()
    await shows(page, range(1, 25))
    await caption(page, '25 records, 99,975 after them')
    await turn(page, 'Next ›')
    await shows(page, range(26, 50))
    await turn(page, '‹ Previous')
    await shows(page, range(1, 25))
    await isAccessible(page)
    await page.getByLabel('By number').check()
    await caption(page, '1–25 of 100,000 records')
  })

  test('a filter and a search find the same as their address, in any window and as code', async () => {
    const found = await ann.call('GET', 'messages?read=false&archived=true&text[$search]=together&$sort[id]=-1')
    const ids = found.data.map(({ id }) => String(id))
    assert.equal(ids.length, 10)
    const { total } = await ann.call('GET', 'messages?read=false&archived=true&$limit=0')
    await show(page, 'records/messages?$sort[id]=-1', 'messages')

    await press('Filter', page)
    await page.getByRole('button', { name: 'Remove the condition', exact: true }).click()
    await add(page, 'read', 'is ($eq)', 'false')
    await add(page, 'archived', 'is ($eq)', 'true')
    await press('Apply', page)
    await caption(page, `of ${total.toLocaleString('en-GB')} records`)
    await add(page, 'text', 'contains ($search)', 'TOGETHER')
    await press('Apply', page)
    await shows(page, ids)
    await caption(page, `1–10 of ${found.total} records`)
    await isAccessible(page)
    await second.goto(page.url())
    await shows(second, ids)

    await press('Code', page)
    const code = async name => page.getByRole('region', { name, exact: true }).innerText()
    const idsOf = answer => answer.data.map(({ id }) => String(id))
    const headers = { Authorization: `Bearer ${ann.token}`, Accept: 'application/json' }
    assert.deepEqual(idsOf(await (await fetch(await code('URL'), { headers })).json()), ids)
    const { stdout } = await run('sh', ['-c', (await code('curl')).replace('curl', 'curl -s')], { env: { ...process.env, TOKEN: ann.token } })
    assert.deepEqual(idsOf(JSON.parse(stdout)), ids)
    const authorized = (url, options) => fetch(url, { ...options, headers: { ...options.headers, ...headers } })
    const client = feathers().configure(rest(server.base).fetch(authorized))
    const call = Function('client', `return ${(await code('JavaScript')).replace('await ', '')}`)
    assert.deepEqual(idsOf(await call(client)), ids)
    await isAccessible(page)
  })

  test('the room and the user of a message are loaded', async () => {
    const { data: [message] } = await ann.call('GET', 'messages?id=100000&$populate[]=room&$populate[]=user')
    await show(page, 'records/messages?$sort[id]=-1', 'messages')

    await press('Columns', page)
    const related = page.getByRole('group', { name: 'Load related records' })
    await related.getByLabel('room').check()
    await page.getByRole('columnheader', { name: 'room', exact: true }).waitFor()
    await related.getByLabel('user').check()
    await page.getByRole('columnheader', { name: 'user', exact: true }).waitFor()

    const first = page.locator('.records tbody tr').first()
    for (const [name, path] of [['room', 'rooms'], ['user', 'users']]) {
      const link = first.getByRole('link', { name: message[name].name, exact: true })
      assert.equal(await link.getAttribute('href'), `#/record/${path}/${message[name].id}`)
    }
    await isAccessible(page)
  })

  test('a record is created, changed and removed, and another window sees it', async () => {
    await show(second, 'records/messages?$sort[id]=-1', 'messages')
    await show(page, 'create/messages', 'New record of messages')
    const control = label => page.getByLabel(label, { exact: true })
    await control('text').fill('Made <b>here</b>')
    await control('roomId').fill('4711')
    await press('Create', page)
    await page.getByRole('alert').getByText('refers to a record').waitFor()
    await page.locator('.field-error').getByText('roomId refers to').waitFor()
    await isAccessible(page)

    await control('roomId').fill(String(lobby.id))
    await press('Create', page)
    await page.getByRole('heading', { level: 1, name: /^messages \d+$/ }).waitFor()
    await second.locator('tr.changed').filter({ hasText: 'Made <b>here</b>' }).waitFor()
    await caption(second, '1–10 of 100,001 records')

    await press('Edit', page)
    await control('text').fill('Changed <b>here</b>')
    await press('Save', page)
    await page.locator('.details').waitFor()
    await second.locator('td.changed').getByText('Changed <b>here</b>').waitFor()
    assert.equal(await second.locator('tbody .changed').count(), 1)
    await isAccessible(page)

    await press('Remove…', page)
    await press('Remove', page.getByRole('dialog'))
    await title('messages', page)
    await row(second, 'Changed').waitFor({ state: 'detached' })
    await shows(second, range(100_000, 99_991))
  })

  test('many records are created, changed and removed at once, and another window sees it', async () => {
    await showWord('severalfold')
    await page.getByRole('link', { name: 'New record' }).click()
    await press('JSON, one or many', page)
    const texts = ['one', 'two', 'three', 'four'].map(word => `severalfold ${word}`)
    await page.getByLabel('Data', { exact: true }).fill(JSON.stringify(texts.map(text => ({ text, roomId: lobby.id }))))
    await press('Create', page)
    await caption(second, '1–4 of 4 records')

    await showWord('severalfold')
    await page.getByLabel('Select all on this page').check()
    await press('Change selected…', page)
    await page.getByRole('dialog').getByLabel('archived', { exact: true }).selectOption('true')
    await press('Change 4 records', page)
    for (const window of [page, second]) await row(window, 'true').nth(3).waitFor()

    await row(page, 'three').getByRole('checkbox').uncheck()
    await page.getByText('3 selected').waitFor()
    await isAccessible(page)
    await press('Remove selected…', page)
    await press('Remove 3 records', page)
    await caption(second, '1–1 of 1 record')
    await row(second, 'severalfold three').waitFor()
    await row(page, 'severalfold three').getByRole('link').first().click()
    await press('Remove…', page)
    await press('Remove', page.getByRole('dialog'))
    await second.getByText('No records fit the filter.').waitFor()
  })

  test('events and a custom method are in the log of another window', async () => {
    await show(second, 'events', 'Events')
    await second.getByText('Connected').waitFor()
    await show(page, 'custom/messages', 'Custom methods of messages')
    const entries = event => second.getByRole('log').getByRole('listitem').filter({ has: second.locator('.badge').getByText(event, { exact: true }) })

    await page.getByLabel('roomId', { exact: true }).fill(String(lobby.id))
    await press('Call typing', page)
    await page.getByText('Result of typing').waitFor()

    const expected = { roomId: lobby.id, userId: ann.user.id }
    assert.deepEqual(JSON.parse(await page.locator('.result pre').innerText()), expected)
    assert.deepEqual(JSON.parse(await entries('typing').locator('pre').innerText()), expected)
    const { id } = await ann.call('POST', 'messages', { text: 'To be logged', roomId: lobby.id })
    await ann.call('DELETE', `messages/${id}`)
    await entries('created').filter({ hasText: 'To be logged' }).getByText('Data').click()
    await entries('removed').filter({ hasText: 'To be logged' }).waitFor()
    await isAccessible(page)
    await isAccessible(second)
  })

  test('a user logs out and in, and sees what nobody and others do not', async () => {
    await show(second, 'records/rooms?$sort[id]=-1', 'rooms')
    await show(page, 'login', 'Your login')
    await page.getByRole('main').getByRole('link', { name: 'ann' }).waitFor()
    await page.getByRole('timer').waitFor()
    await isAccessible(page)
    await press('Log out', page)
    await caller(page).getByText('Log in').waitFor()
    assert.deepEqual(await page.locator('#navigation a').allInnerTexts(), ['authentication', 'users'])
    await logIn(page, server.base, 'ann')

    const open = await ann.room('For all')
    await row(second, 'For all').waitFor()
    await show(page, `compare/rooms?id=${open.id}`, 'rooms: as nobody, and as me')
    await page.getByRole('region', { name: 'As me' }).getByText('1 record').waitFor()
    await page.getByRole('region', { name: 'As nobody' }).getByText('may not be called').waitFor()
    const names = page.getByRole('table', { name: 'The records' }).getByRole('row')
    assert.deepEqual(await names.filter({ hasText: 'For all' }).getByRole('cell').allInnerTexts(), ['For all', 'no', 'yes', ''])
    await isAccessible(page)
    await show(page, 'compare/messages?$limit=3', 'messages: as nobody, and as me')
    await page.getByRole('region', { name: 'As me' }).getByText('100,000 records, of which 3 are compared').waitFor()
    await ann.call('DELETE', `rooms/${open.id}`)
    await row(second, 'For all').waitFor({ state: 'detached' })
  })

  test('the page of the example leads to the explorer, which sees what is written there', async () => {
    await show(second, 'records/messages?$sort[id]=-1', 'messages')
    await page.goto(server.base)
    await logInToChat(page, 'ann')
    await openRoom(page, 'Lobby')
    await write(page, 'Written in the chat')

    await row(second, 'Written in the chat').waitFor()
    await page.getByRole('link', { name: 'Records' }).click()
    await title('Services', page)
  })
})
