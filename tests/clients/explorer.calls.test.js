// The calls in the explorer, in a browser, of an application with mistakes.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { audit, launch, openWindow } from './browser.js'
import { start } from './server.js'

const SECRET = 'S3cretValue77'
const PHONE = { width: 390, height: 800 }

// A reloader would start another process.
const flask = port =>
  ['flask', '--app', 'tests.explorer.mistakes_app:create_app', 'run', '--port', port, '--no-reload', '--no-debugger', '--with-threads']

let server
let browser
let page

before(async () => {
  server = await start({ FLASK_DEBUG: '1' }, flask)
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

beforeEach(async () => { page = await openWindow(browser) })

afterEach(async () => {
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

const send = async (path, options) => {
  const response = await fetch(`${server.base}/${path}`, options)
  await response.text()
}

const open = view => page.goto(`${server.base}/_records/#/${view}`)

const heading = name => page.getByRole('heading', { name, exact: true, level: 1 })

const rows = () => page.locator('tbody tr')

// Opens the call that was made last.
async function openLast (name) {
  await open('calls')
  await rows().first().getByRole('link', { name }).click()
  await heading(name).waitFor()
}

test('calls show as they are made, newest first, unless the list is paused', async () => {
  await open('calls')
  await heading('Calls').waitFor()
  await send('rooms')
  await rows().first().getByRole('link', { name: 'rooms.find' }).waitFor()

  await send('messages/1')

  await rows().first().getByRole('link', { name: 'messages.get' }).waitFor()
  const number = await rows().count()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused.').waitFor()
  await send('rooms/1')
  const answer = page.waitForResponse(response => response.url().includes('calls.json'))
  assert.equal(await rows().count(), number)
  await page.getByRole('button', { name: 'Pause' }).click()
  await answer
  await rows().first().getByRole('link', { name: 'rooms.get' }).waitFor()
})

test('a call shows its hooks in order, with the calls that they make', async () => {
  await send('messages?$sort[id]=1')

  await openLast('messages.find')

  const names = await page.getByRole('region', { name: 'The steps of the call' }).locator('tbody tr').evaluateAll(found =>
    found.map(row => [...row.cells].slice(0, 2).map(cell => cell.textContent)))
  assert.deepEqual(names.slice(0, 4), [
    ['access', 'messages'],
    ['method', 'flask_records.adapter.service:SQLAlchemyService.find'],
    ['after', 'tests.explorer.mistakes_app:add_rooms'],
    ['call', 'rooms.get']
  ])
  assert.equal(names.filter(([phase]) => phase === 'call').length, 5)
})

test('warnings say what to do', async () => {
  await send('messages?rank=7')
  await openLast('messages.find')
  await page.getByText('Add an index on message.rank: mapped_column(index=True)').waitFor()

  await send('messages')
  await openLast('messages.find')
  await page.getByText('tests.explorer.mistakes_app:add_rooms runs the same statement 5 times').waitFor()

  await send('messages', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"text": "a"}' })
  await openLast('messages.create')
  await page.getByText(/The before hook tests.explorer.mistakes_app:wait takes \d+ ms/).waitFor()
})

test('a statement has its plan', async () => {
  await send('messages?rank=7')
  await openLast('messages.find')

  await page.getByText('Plan', { exact: true }).first().click()

  const plan = page.getByLabel('Plan of statement 1')
  await plan.waitFor()
  assert.match(await plan.innerText(), /message/)
})

test('values of a call are nowhere on the page', async () => {
  await send(`messages?text=${SECRET}`, { headers: { Authorization: `Bearer ${SECRET}` } })
  await send(`messages?text=${SECRET}`)
  await open('calls')
  await rows().first().waitFor()
  const list = await page.content()
  await openLast('messages.find')

  assert.ok(!list.includes(SECRET))
  assert.ok(!(await page.content()).includes(SECRET))
})

test('markup in names stays text', async () => {
  const markup = '<img src=x onerror="document.title=1">'
  const statement = { sql: markup, milliseconds: null, rows: 1, phase: 'before', name: markup, origin: markup, plan: { lines: [markup], problem: null } }
  const part = { phase: markup, name: markup, error: markup, start: 0, milliseconds: 1, statements: 1, parts: [] }
  const call = {
    id: 1, path: markup, method: 'find', provider: markup, status: 500, error: markup, at: '2026-01-01T00:00:00Z', milliseconds: 1,
    data: [markup], query: [markup], parts: [part], statements: [statement], partsLeftOut: 0, statementsLeftOut: 5,
    warnings: [{ kind: 'slow', text: markup, statements: [0] }]
  }
  await page.route('**/calls/1.json', route => route.fulfill({ json: call }))
  await page.route('**/calls.json?*', route => route.fulfill({ json: { calls: [{ ...call, statements: 1, warnings: 1 }], last: 1 } }))

  await open('calls')
  await rows().first().getByRole('link').click()
  await heading(`${markup}.find`).waitFor()

  assert.equal(await page.locator('#main img').count(), 0)
  assert.notEqual(await page.title(), '1')
  await page.getByText('5 more statements are not kept.').waitFor()
})

test('a list goes on after a server has started anew', async () => {
  await send('rooms')
  let isNew = false
  await page.route('**/calls.json?*', route => isNew ? route.fulfill({ json: { calls: [], last: 0 } }) : route.continue())
  await open('calls')
  await rows().first().waitFor()

  isNew = true
  await page.getByText('There are no calls yet.').waitFor()
  isNew = false

  await rows().first().waitFor()
})

for (const colorScheme of ['light', 'dark']) {
  for (const viewport of [{ width: 1280, height: 800 }, PHONE]) {
    test(`axe finds nothing, ${colorScheme}, ${viewport.width} px wide`, async () => {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(viewport)
      await send('messages?rank=7')
      await open('calls')
      await rows().first().waitFor()
      const list = await audit(page, 'list')

      await openLast('messages.find')
      await page.getByText('Plan', { exact: true }).first().click()

      assert.deepEqual([...list, ...await audit(page, 'call')], [])
    })
  }
}

test('all is done by keyboard', async () => {
  await send('messages?rank=7')
  await open('calls')
  await rows().first().waitFor()

  await page.getByRole('button', { name: 'Pause' }).focus()
  await page.keyboard.press('Space')
  await page.getByText('Paused.').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')

  await heading('messages.find').waitFor()
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1')
})
