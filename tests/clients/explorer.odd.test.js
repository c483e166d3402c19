// The explorer with odd services: without schemas, without identifiers, and with unusual names.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, afterEach, before, test } from 'node:test'
import { cast } from '../../flask_records/explorer/static/conditions.js'
import { addresses, parse, toText } from '../../flask_records/explorer/static/query.js'
import { launch, openWindow } from './browser.js'
import { start } from './server.js'

const flask = port => ['flask', '--app', 'tests.odd_app', 'run', '--port', port]

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

afterEach(async () => {
  await page?.context().close()
  page = null
})

// Opens a view, and waits for its title.
async function open (view, title) {
  page = await openWindow(browser)
  await page.goto(`${server.base}/_records/#/${view}`)
  await page.getByRole('heading', { name: title, level: 1, exact: true }).waitFor()
  await page.waitForLoadState('networkidle')
}

const rows = () => page.locator('tbody tr').allInnerTexts()

const get = async path => (await fetch(`${server.base}/api/${path}`)).json()

test('records that lack a name of all objects are shown', async () => {
  await open('records/lines', 'lines')

  assert.deepEqual((await rows()).slice(0, 3).map(row => row.split('\t').slice(1)),
    [['x', 'null', '–'], ['–', '–', '–'], ['–', '–', 'Line 0']])
  assert.deepEqual(page.problems, [])
})

test('a service that knows no pages is shown in pages', async () => {
  await open('records/lines?$skip=10000', 'lines')

  assert.equal((await rows()).length, 2)
  await page.getByText('10,001–10,002 of 10,002 records').waitFor()
})

test('an answer that is no list is one record', async () => {
  await open('records/status', 'status')

  assert.equal((await rows()).length, 1)
  await page.getByRole('cell', { name: 'well' }).waitFor()
})

test('records without an identifier are not selected', async () => {
  await open('records/unnamed', 'unnamed')

  assert.equal((await rows()).length, 2)
  await page.getByLabel('Select all on this page').check()

  assert.equal(await page.locator('tbody input:enabled').count(), 0)
  assert.equal(await page.getByRole('button', { name: 'Remove selected…' }).isVisible(), false)
  assert.equal((await get('unnamed')).length, 2)
})

test('identifiers of all sorts lead to their records', async () => {
  const names = (await get('words')).map(({ name }) => name)
  await open('', 'Services')

  for (const name of names) {
    const isNamed = !['', '.'].includes(name)
    await page.goto(`${server.base}/_records/#/record/words/${encodeURIComponent(name)}`)
    await page.getByRole('heading', { name: isNamed ? `words ${name}` : 'Not here', level: 1, exact: true }).waitFor()
    if (isNamed) await page.locator('dd').getByText(name, { exact: true }).waitFor()
  }

  assert.deepEqual(page.problems, [])
})

test('a service that only takes records leads back to all services', async () => {
  await open('create/outbox', 'New record of outbox')
  await page.getByLabel('Data', { exact: true }).fill('{}')
  await page.getByRole('button', { name: 'Create' }).click()

  await page.getByRole('heading', { name: 'Services' }).waitFor()
  assert.deepEqual(page.problems, [])
})

test('links to a service lead to what the caller may do with it', async () => {
  await open('', 'Services')
  const visit = async (name, title) => {
    await page.locator('#navigation').getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { name: title, level: 1, exact: true }).waitFor()
    assert.equal(await page.locator('#navigation [aria-current]').innerText(), name)
  }

  await visit('outbox', 'New record of outbox')
  await page.getByRole('link', { name: '← All services' }).click()
  await page.getByRole('heading', { name: 'Services', level: 1 }).waitFor()
  await visit('bell', 'Custom methods of bell')
  await visit('clock', 'clock')
  await page.getByText('you may not call find here, but get.').waitFor()
  await page.goto(`${server.base}/_records/#/record/clock/utc`)
  await page.getByRole('link', { name: '← clock' }).click()
  await page.getByRole('heading', { name: 'clock', level: 1, exact: true }).waitFor()

  assert.deepEqual(page.problems, [])
})

// Tries a service whose path has a placeholder, with a value for it.
async function tryNotes (base) {
  const path = 'users/<user_id>/notes'
  const heading = name => page.getByRole('heading', { name, level: 1, exact: true })
  page = await openWindow(browser)
  await page.goto(`${base}/_records/`)
  await page.locator('#navigation').getByRole('link', { name: path, exact: true }).click()
  await heading(path).waitFor()
  await page.getByLabel('user_id').fill('..')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByText('No path of this service is users/../notes.').waitFor()
  await page.getByLabel('user_id').fill('7 %2F?')
  await page.getByRole('button', { name: 'Open' }).click()

  const own = 'users/7 %2F?/notes'
  await heading(own).waitFor()
  await page.getByRole('cell', { name: '7 %2F?', exact: true }).waitFor()
  assert.equal(await page.locator('#navigation [aria-current]').innerText(), path)
  await page.getByRole('link', { name: 'New record' }).click()
  await page.getByLabel('Data', { exact: true }).fill('{}')
  await page.getByRole('button', { name: 'Create' }).click()
  await heading(`${own} 2`).waitFor()
  await page.locator('dd').getByText('7 %2F?', { exact: true }).waitFor()
  await page.goto(`${base}/_records/#/custom/${encodeURIComponent(own)}`)
  await page.getByRole('button', { name: 'Call count' }).click()
  await page.locator('pre', { hasText: '"of": "7 %2F?"' }).waitFor()
  await page.goto(`${base}/_records/#/compare/${encodeURIComponent(path)}`)
  await page.getByLabel('user_id').fill('8')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByRole('table', { name: 'The records that each sees' }).waitFor()
  assert.deepEqual(page.problems, [])
}

test('placeholders of a path are asked for', () => tryNotes(server.base))

test('placeholders of a path are asked for with sockets', async () => {
  const live = await start({ SOCKETS: 'yes' }, flask)
  try {
    await tryNotes(live.base)
  } finally {
    await page.context().close()
    page = null
    await live.stop()
  }
})

test('queries as code have their values literally', () => {
  const query = {
    text: "'\"\\\n`$(echo bad)` $HOME ${1} !! é 😀 \u2028",
    __proto__x: { $in: ['null', '', '%'] },
    '<b>': { $gt: -0.5, $ne: null }
  }
  const connection = { caller: null, address: path => `http://127.0.0.1/${path}` }
  const { curl, javascript } = addresses(connection, '1st/things', query)
  const words = execFileSync('bash', ['-c', `curl () { printf '%s\\0' "$@"; }; ${curl}`], { encoding: 'utf8' }).split('\0')
  const module = `const client = { service: path => ({ find: params => ({ path, ...params }) }) }\nconsole.log(JSON.stringify(${javascript}))`
  const made = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', module], { encoding: 'utf8' }))

  assert.deepEqual(words.slice(0, -1), ['-g', `http://127.0.0.1/1st/things?${toText(query)}`])
  assert.deepEqual(parse(toText(query)).text, query.text)
  assert.deepEqual(made, { path: '1st/things', query })
})

test('a name that an address repeats is a list, as for the server', () => {
  assert.deepEqual(parse('id[$in]=4&id[$in]=5&id[$in]=6&a=1&b[]=2&a=3&b[]=4&c=5'), { id: { $in: ['4', '5', '6'] }, a: ['1', '3'], b: ['2', '4'], c: '5' })
})

test('applications on one origin have their own logins', async () => {
  page = await openWindow(browser)
  await page.goto(`${server.base}/_records/`)
  const found = await page.evaluate(async () => {
    const { keepLogin, keptLogin } = await import('./files/connection.js')
    keepLogin('authentication', 'secret')
    const own = keptLogin().token
    Object.defineProperty(document, 'baseURI', { value: `${location.origin}/shop/_records/` })
    return [own, keptLogin()]
  })

  assert.deepEqual(found, ['secret', null])
})

test('a text that is no value of its field stays as it is', () => {
  assert.deepEqual(['true', 'constructor', 'null', ''].map(text => cast('boolean', text)), [true, 'constructor', null, ''])
})
