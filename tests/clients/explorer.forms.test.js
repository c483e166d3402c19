// The forms of the explorer in a browser, with fields of all types.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { launch, openWindow, standBetween } from './browser.js'
import { start } from './server.js'

const flask = port => ['flask', '--app', 'tests.explorer_app', 'run', '--port', port]

let server
let browser
let page

before(async () => {
  server = await start({}, flask)
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

beforeEach(async () => {
  page = await openWindow(browser, { timezoneId: 'Asia/Kolkata' })
  page.setDefaultTimeout(30_000)
})

afterEach(() => page.context().close())

const api = async (path, options) => (await fetch(`${server.base}/api/${path}`, options)).json()

async function create (data) {
  const headers = { 'Content-Type': 'application/json' }
  return api('things', { method: 'POST', headers, body: JSON.stringify(data) })
}

const go = async hash => {
  await page.goto(`${server.base}/_records/#/${hash}`)
  await page.locator('h1').waitFor()
}

const control = name => page.getByLabel(name, { exact: true })

const press = name => page.getByRole('button', { name, exact: true }).click()

const problemOf = name => page.locator('.entry', { has: control(name) }).locator('.field-error')

// Returns the record that the page shows, as it is stored.
async function stored () {
  await page.waitForFunction(() => location.hash.startsWith('#/record/'))
  return api(`things/${(await page.evaluate(() => location.hash)).split('/').at(-1)}`)
}

test('a record has values of all types', async () => {
  await go('create/things')
  const values = {
    name: 'Lamp',
    text: 'Two\nlines',
    count: '-3',
    big: '1152921504606846977',
    ratio: '0.25',
    price: '9.90',
    madeAt: '2026-02-01T04:00:00.000',
    day: '2026-01-31',
    opens: '10:30:15',
    takes: '90',
    token: '00000000-0000-0000-0000-000000000007',
    notes: '{"shade": [null, 1]}',
    ownerId: '1',
    '<i>size</i>': '<u>small</u>'
  }

  for (const [name, value] of Object.entries(values)) await control(name).fill(value)
  await control('isNew').selectOption('false')
  await control('color').selectOption('<b>red</b>')
  await page.locator('input[type=file]').setInputFiles({ name: 'a.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 255, 7]) })
  await page.getByText('a.bin, 3 bytes').waitFor()
  await press('Create')

  const { id, ...record } = await stored()
  assert.deepEqual(record, {
    name: 'Lamp',
    text: 'Two\nlines',
    count: -3,
    big: '1152921504606846977',
    ratio: 0.25,
    price: '9.90',
    isNew: false,
    color: '<b>red</b>',
    madeAt: '2026-01-31T22:30:00.000Z',
    day: '2026-01-31',
    opens: '10:30:15',
    takes: 90,
    token: values.token,
    image: 'AP8H',
    notes: { shade: [null, 1] },
    ownerId: 1,
    '<i>size</i>': '<u>small</u>'
  })
  assert.deepEqual(page.problems, [])
})

test('a form that is opened and saved changes nothing', async () => {
  const before = await api('things/1')
  await go('record/things/1')

  await press('Edit')
  assert.equal(await control('madeAt').inputValue(), '2026-02-01T04:00')
  await press('Save')

  await page.locator('.details').waitFor()
  assert.deepEqual(await api('things/1'), before)
})

test('a value becomes null, and null an empty text', async () => {
  const { id } = await create({ name: 'full', count: 3 })
  await go(`record/things/${id}`)

  await press('Edit')
  await page.getByLabel('What is sent as count').selectOption('null')
  await page.getByLabel('What is sent as text').selectOption('value')
  await press('Save')
  await page.locator('.details').waitFor()

  const { name, count, text } = await api(`things/${id}`)
  assert.deepEqual([name, count, text], ['full', null, ''])
})

test('values that do not fit are named beside their fields', async () => {
  await go('create/things')
  const values = { name: 'n'.repeat(21), count: '2147483648', ratio: 'half', notes: '{', image: '!' }

  for (const [name, value] of Object.entries(values)) await control(name).fill(value)
  await press('Create')

  assert.equal(await problemOf('name').innerText(), 'name has 21 characters, of at most 20')
  assert.equal(await problemOf('count').innerText(), 'count is greater than 2147483647')
  assert.equal(await problemOf('ratio').innerText(), 'ratio is not a number')
  assert.match(await problemOf('notes').innerText(), /^notes is not JSON/)
  assert.equal(await problemOf('image').innerText(), 'image is not base64')
  assert.equal(await control('name').evaluate(element => element === document.activeElement), true)
})

test('an error with markup stays text', async () => {
  await go('create/things')

  await control('name').fill('refused')
  await press('Create')
  await page.getByRole('alert').filter({ hasText: '<img src=x' }).waitFor()

  assert.match(await problemOf('name').innerText(), /^<img src=x/)
  assert.deepEqual([await page.locator('#main img').count(), await page.locator('#bad').count(), page.problems], [0, 0, []])
})

test('an error inside a field is beside that field', async () => {
  await go('create/things')
  const errors = { 'notes.zip': { code: 'required', message: 'is required' }, other: 'Not today.' }
  const answer = JSON.stringify([{ name: 'BadRequest', code: 400, message: 'No.', errors }])
  const { upgraded } = await standBetween(page, {
    toServer (message, socket) {
      const [, number] = /^42(\d+)\["create"/.exec(message) ?? []
      if (number) socket.send(`43${number}${answer}`)
      return !number
    }
  })
  await page.reload()
  await upgraded

  await control('notes').fill('{"zip": null}')
  await press('Create')
  await page.getByRole('alert').filter({ hasText: 'No.' }).waitFor()

  assert.equal(await problemOf('notes').innerText(), 'notes.zip is required')
  assert.equal(await page.getByRole('alert').getByRole('listitem').innerText(), 'Not today.')
})

test('errors of many records tell which is meant', async () => {
  await go('create/things')

  await press('JSON, one or many')
  await control('Data').fill(JSON.stringify([{ name: 'a' }, { name: 'n'.repeat(21) }]))
  await press('Create')

  await page.getByRole('listitem').filter({ hasText: '1.name has more than 20 characters' }).waitFor()
})

test('Enter sends a short text, and is a new line of a long one', async () => {
  await go('create/things')

  await control('text').fill('one')
  await control('text').press('Enter')
  await control('name').fill('Quick')
  await control('name').press('Enter')

  const { name, text } = await stored()
  assert.deepEqual([name, text], ['Quick', 'one\n'])
})
