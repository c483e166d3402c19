// The explorer's table of records: values, order, filters, pages, code and changes.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { promisify } from 'node:util'
import feathers from '@feathersjs/feathers'
import rest from '@feathersjs/rest-client'
import { Api, audit, launch, openTab, openWindow, SCREENS } from './browser.js'
import { start } from './server.js'

const WINDOW = { locale: 'en-GB', timezoneId: 'Europe/Berlin' }
const flask = port => ['flask', '--app', 'tests.explorer_app', 'run', '--port', port]
const run = promisify(execFile)

let server
let api
let browser
let page

before(async () => {
  server = await start({}, flask)
  api = new Api(`${server.base}/api`)
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

beforeEach(async () => { page = await openWindow(browser, WINDOW) })

afterEach(async () => {
  const { problems } = page
  const isUnchanged = await page.evaluate(() => document.body.id !== 'bad' && !document.querySelector('#main :is(img, script)'))
  await page.context().close()
  assert.ok(isUnchanged)
  assert.deepEqual(problems, [])
})

async function open (hash, tab = page) {
  await tab.goto(`${server.base}/_records/${hash}`)
  await tab.locator('.records[aria-busy=false], .services').waitFor()
  await tab.getByText('Live', { exact: true }).waitFor()
  await idle(tab)
}

// The table has what it asked for, and the connection is there.
const idle = tab => tab.locator('[aria-busy=true]').waitFor({ state: 'detached' })

const openThings = (query = '') => open(`#/records/things${query && `?${query}`}`)

const press = (name, place = page) => place.getByRole('button', { name, exact: true }).click()

const ids = (tab = page) => tab.locator('.records tbody th').allInnerTexts()

// Waits until the table has records, by their identifiers.
async function shows (expected, tab = page) {
  const isShown = wanted => {
    const found = [...document.querySelectorAll('.records tbody th')].map(each => each.innerText)
    return document.querySelector('.records')?.ariaBusy === 'false' && JSON.stringify(found) === JSON.stringify(wanted)
  }
  await tab.waitForFunction(isShown, expected.map(String)).catch(() => {})
  assert.deepEqual(await ids(tab), expected.map(String))
}

// Returns the cell of a record in a column.
async function cell (id, name, tab = page) {
  const names = await tab.locator('.records thead :is(td, th)').evaluateAll(all => all.map(each => each.textContent.replace(/[↑↓↕]$/, '')))
  return row(id, tab).locator(':is(td, th)').nth(names.indexOf(name))
}

const row = (id, tab = page) => tab.locator('.records tbody tr').filter({ has: tab.locator('th').getByText(String(id), { exact: true }) })

const texts = async (id, names) => Promise.all(names.map(async name => (await cell(id, name)).innerText()))

const query = () => page.evaluate(() => decodeURIComponent(location.hash.split('?')[1] ?? ''))

const header = name => page.getByRole('columnheader', { name, exact: true })

test('services show what they are, allow and hold', async () => {
  await open('#/')

  const things = page.locator('.service').filter({ has: page.getByRole('link', { name: 'things', exact: true }) })
  await things.getByText('43 records').waitFor()
  await things.getByText("<script>document.body.id='bad'</script>").waitFor()
  const methods = await things.getByRole('list', { name: 'Methods of things' }).getByRole('listitem').allInnerTexts()
  assert.deepEqual(methods, ['find', 'get', 'create', 'update', 'patch', 'remove'])
  await things.getByText('Public', { exact: true }).waitFor()

  const { id } = await api.call('POST', 'things', { name: 'One more' })
  await things.getByText('44 records').waitFor()
  await api.call('DELETE', `things/${id}`)
  await things.getByText('43 records').waitFor()
  await things.getByRole('link', { name: 'Records' }).click()
  await page.getByRole('heading', { name: 'things' }).waitFor()
})

test('values are shown by their types', async () => {
  await openThings()

  const names = ['id', 'name', 'count', 'big', 'ratio', 'price', 'isNew', 'color', 'madeAt', 'day', 'opens', 'takes', 'ownerId', '<i>size</i>']
  assert.deepEqual(await texts(1, names), [
    '1', 'Lamp', '3', '1152921504606846976', '0.5', '9.90', 'true', '<b>red</b>', '31 Jan 2026, 23:30:00', '2026-01-31', '10:00:00', '90', '1', '<u>small</u>'
  ])
  const time = (await cell(1, 'madeAt')).locator('time')
  assert.equal(await time.getAttribute('datetime'), '2026-01-31T22:30:00.000Z')
  assert.equal(await time.getAttribute('title'), '2026-01-31 22:30:00.000 UTC')
  assert.match(await (await cell(1, 'image')).innerText(), /^320 bytes 89 50 4e 47 0d 0a 1a 0a …$/)
  assert.match(await (await cell(1, 'notes')).innerText(), /^{"shade":\["round",null,{"<b>key<\/b>":/)
  assert.deepEqual(await texts(2, ['name', 'text', 'isNew', 'image', 'notes', 'count']), ['empty text', 'empty text', 'false', '0 bytes', '[]', 'null'])
  assert.deepEqual(await texts(3, ['name', 'isNew', 'madeAt', 'notes']), ['null', 'null', 'null', 'null'])
})

test('a long text is cut until it is asked for', async () => {
  await openThings()
  const text = await cell(1, 'text')
  assert.ok((await text.innerText()).length < 200)

  await press('more', text)

  assert.ok((await text.innerText()).length > 800)
  await press('less', text)
  assert.ok((await text.innerText()).length < 200)
})

test('a click on a header sorts, and back goes to the order before', async () => {
  await openThings('count[$gt]=35')
  await shows([39, 40, 41, 42, 43])

  await press('count')
  await press('count')
  await shows([43, 42, 41, 40, 39])
  assert.equal(await query(), 'count[$gt]=35&$sort[count]=-1')
  assert.equal(await header('count').getAttribute('aria-sort'), 'descending')
  assert.equal(await header('name').getAttribute('aria-sort'), 'none')

  await page.goBack()
  await shows([39, 40, 41, 42, 43])
  assert.equal(await header('count').getAttribute('aria-sort'), 'ascending')
  await page.goBack()
  await page.locator('th[aria-sort=none]').filter({ hasText: 'count' }).waitFor()
})

test('a click with Shift sorts by a further field', async () => {
  await openThings('id[$in][]=1&id[$in][]=5&id[$in][]=6')
  await press('ownerId')
  await page.locator('th[aria-sort=ascending]').waitFor()

  await header('count').getByRole('button').click({ modifiers: ['Shift'] })
  await page.getByText('by ownerId ascending, count ascending').waitFor()

  await shows([5, 1, 6])
})

test('the table is sorted by keyboard, and keeps the focus', async () => {
  await openThings('count[$gt]=37')
  await shows([41, 42, 43])
  await header('id').getByRole('button').focus()

  await page.keyboard.press('Enter')
  await page.locator('th[aria-sort=ascending]').waitFor()
  await page.keyboard.press('Enter')
  await shows([43, 42, 41])

  assert.equal(await page.evaluate(() => document.activeElement.dataset.key), 'sort id')
})

// Adds a condition to a group of the filter.
async function add (field, operator, { group = 'All of these hold', isFirst = false } = {}) {
  const place = page.getByRole('group', { name: group })
  if (!isFirst) await press('Add a condition', place)
  const condition = place.getByRole('listitem').last()
  await condition.getByLabel('Field').selectOption(field)
  await condition.getByLabel('Operator').selectOption({ label: operator })
  return condition
}

test('a filter is built of fields, operators and values', async () => {
  await openThings('$sort[id]=-1')
  await press('Filter')

  const search = await add('name', 'contains ($search)', { isFirst: true })
  await search.getByLabel('Value').fill('THING')
  const between = await add('count', 'is between ($between)')
  await between.getByLabel('From').fill('3')
  await between.getByLabel('To', { exact: true }).fill('8')
  const any = { group: 'And one of these holds' }
  await (await add('id', 'is one of ($in)', any)).getByLabel('Values').fill('6\n7\n43')
  await (await add('count', 'is ($eq)', any)).getByLabel('Value').fill('8')
  await press('Apply')

  await shows([11, 7, 6])
  assert.equal(await query(), '$sort[id]=-1&name[$search]=THING&count[$between][0]=3&count[$between][1]=8&$or[0][id][$in][0]=6&$or[0][id][$in][1]=7&$or[0][id][$in][2]=43&$or[1][count]=8')
  const chips = page.getByRole('list', { name: 'Conditions' })
  assert.deepEqual(await chips.locator('span').allInnerTexts(), ['name contains THING', 'count is between 3 and 8', 'or: id is one of 6, 7, 43', 'or: count is 8'])

  const shared = await openWindow(browser, WINDOW)
  await open(`#/records/things?${await query()}`, shared)
  await shows([11, 7, 6], shared)
  await shared.context().close()

  await press('Remove the condition or: count is 8')
  await shows([7, 6])
  await press('Clear')
  await page.getByText('1–10 of 43 records').waitFor()
  assert.equal(await query(), '$sort[id]=-1')
})

test('two conditions of one kind both hold', async () => {
  await openThings('count[$ne]=40')
  await press('Filter')
  await (await add('count', 'is not ($ne)')).getByLabel('Value').fill('39')
  await (await add('count', 'is more than ($gt)')).getByLabel('Value').fill('37')

  await press('Apply')

  await shows([41])
  assert.equal(await page.getByRole('list', { name: 'Conditions' }).getByRole('listitem').count(), 3)
})

test('each type has its own control', async () => {
  await openThings()
  await press('Filter')

  const color = await add('color', 'is ($eq)', { isFirst: true })
  await color.getByLabel('Value').selectOption('<b>red</b>')
  await press('Apply')
  await shows([1])
  await (await add('isNew', 'is ($eq)')).getByLabel('Value').selectOption('true')
  // The control is in the reader's zone.
  await (await add('madeAt', 'is ($eq)')).getByLabel('Value').fill('2026-01-31T23:30')
  await (await add('day', 'is before ($lt)')).getByLabel('Value').fill('2026-02-01')
  await (await add('opens', 'is ($eq)')).getByLabel('Value').fill('10:00')
  await (await add('big', 'is ($eq)')).getByLabel('Value').fill('1152921504606846976')
  await press('Apply')

  await page.getByText('madeAt is 31 Jan 2026, 23:30:00').waitFor()
  await shows([1])
})

test('null, an empty text and documents are found', async () => {
  await openThings()
  await press('Filter')

  await (await add('name', 'is ($eq)', { isFirst: true })).getByLabel('Value').fill('')
  await press('Apply')
  await shows([2])
  await press('Remove the condition name is empty text')
  await (await add('name', 'is null ($null)')).getByLabel('Value').selectOption('true')
  await press('Apply')
  await shows([3])
  await press('Clear')
  await (await add('notes', 'is ($eq)')).getByLabel('Value').fill('[]')
  await press('Apply')
  await shows([2])
  await press('Clear')
  await (await add('count', 'is null ($null)')).getByLabel('Value').selectOption('true')
  await press('Apply')
  await shows([2, 3])

  // A service may not have the operator.
  await open('#/records/log%2Fevents')
  await press('Filter')
  await add('rank', 'is null', { isFirst: true })
  await press('Apply')
  await shows([1, 2, 3])
  assert.equal(await query(), 'rank=null')
})

test('a condition needs a value', async () => {
  await openThings()
  await press('Filter')
  const condition = await add('count', 'is more than ($gt)', { isFirst: true })

  await press('Apply')

  await condition.getByRole('alert').getByText('Enter a value.').waitFor()
  assert.equal(await query(), '')
})

test('the server tells which part of an address it refuses', async () => {
  await openThings('<b>no</b>=1')
  await page.getByRole('alert').getByText('<b>no</b>').waitFor()

  await press('Remove the condition <b>no</b>=1')

  await page.getByText('1–10 of 43 records').waitFor()
})

test('the query is shown as code that finds the same', async () => {
  await openThings('count[$gt]=2&name[$search]=thing&$sort[count]=-1&$limit=3&$or[0][id]=4&$or[1][ownerId]=1')
  await shows([43, 42, 41])
  await press('Code')
  const code = async name => page.getByRole('region', { name, exact: true }).innerText()
  const found = answer => answer.data.map(({ id }) => id)

  const [, text] = (await code('curl')).match(/^curl (.*)$/)
  const curl = await run('sh', ['-c', `curl -s ${text}`])
  assert.deepEqual(found(JSON.parse(curl.stdout)), [43, 42, 41])
  assert.deepEqual(found(await (await fetch(await code('URL'))).json()), [43, 42, 41])
  const client = feathers().configure(rest(`${server.base}/api`).fetch(fetch))
  const call = Function('client', `return ${(await code('JavaScript')).replace('await ', '')}`)
  assert.deepEqual(found(await call(client)), [43, 42, 41])
})

test('code is copied', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await openThings('count=5')
  await press('Code')

  await press('Copy the URL')

  await page.getByText('Copied.').waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${server.base}/api/things?count=5`)
})

test('columns are chosen and remembered', async () => {
  await openThings()
  await press('Columns')
  await page.getByLabel('name', { exact: true }).uncheck()
  await page.getByLabel('<i>size</i>').uncheck()
  assert.equal(await header('name').count(), 0)

  await page.reload()

  await header('text').waitFor()
  assert.equal(await header('name').count(), 0)
  assert.equal(await header('<i>size</i>').count(), 0)
  await press('Columns')
  await press('Show all')
  await header('<i>size</i>').waitFor()
})

test('relationships are links, and are loaded if asked', async () => {
  await openThings('ownerId=1&$limit=2')
  const key = await (await cell(4, 'ownerId')).getByRole('link').getAttribute('href')
  assert.equal(key, '#/record/owners/1')
  await press('Columns')

  await page.getByLabel('owner', { exact: true }).last().check()

  await header('owner').waitFor()
  const link = (await cell(4, 'owner')).getByRole('link', { name: 'Ann <b>Lee</b>' })
  assert.equal(await link.getAttribute('href'), '#/record/owners/1')
  assert.match(await query(), /\$populate\[0\]=owner/)
  assert.equal(await row(4).getByRole('link', { name: '4', exact: true }).getAttribute('href'), '#/record/things/4')
})

test('a relationship to many is a list of links', async () => {
  await open('#/records/owners?$populate[]=things')

  const links = (await cell(1, 'things')).getByRole('link')

  assert.equal(await links.count(), 41)
  assert.equal(await links.first().getAttribute('href'), '#/record/things/1')
})

const turn = name => page.getByRole('navigation', { name: 'Pages of records' }).getByRole('link', { name, exact: true }).click()

test('pages have numbers and sizes', async () => {
  await openThings('$sort[id]=1')
  await turn('Page 2')
  await shows([11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
  await page.getByText('11–20 of 43 records').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Page 2', exact: true }).getAttribute('aria-current'), 'page')
  await turn('Page 5')
  await shows([41, 42, 43])
  await turn('‹ Previous')
  await page.getByText('31–40 of 43 records').waitFor()

  await page.getByLabel('Rows').selectOption('50')
  await page.getByText('1–43 of 43 records').waitFor()
  assert.equal(await query(), '$sort[id]=1&$limit=50')
  assert.deepEqual(await page.getByLabel('Rows').locator('option').allInnerTexts(), ['10', '25', '50'])
})

const range = (from, to) => Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => from + Math.sign(to - from) * index)

test('a service without pages is read by key, both ways', async () => {
  await open('#/records/log%2Fevents')
  await shows(range(1, 25))
  await turn('Next ›')
  await shows(range(26, 50))
  await turn('Next ›')
  await shows(range(51, 75))
  assert.equal(await query(), 'id[$gt]=50')
  assert.equal(await page.getByRole('list', { name: 'Conditions' }).count(), 0)
  await press('‹ Previous')
  await shows(range(26, 50))
  await press('‹ Previous')
  await shows(range(1, 25))
  assert.equal(await query(), '')

  await press('id')
  await press('id')
  await shows(range(120, 96))
  await turn('Next ›')
  await shows(range(95, 71))
  await press('‹ Previous')
  await shows(range(120, 96))

  await page.getByLabel('By number').check()
  await turn('Next ›')
  await shows(range(95, 71))
  assert.equal(await query(), '$sort[id]=-1&$skip=25')
})

test('a filter holds on all pages by key', async () => {
  await open('#/records/log%2Fevents?id[$lte]=60&$limit=25')
  await turn('Next ›')
  await shows(range(26, 50))
  await turn('Next ›')
  await shows(range(51, 60))
  assert.equal(await page.getByRole('link', { name: 'Next ›' }).count(), 0)
  await press('‹ Previous')
  await shows(range(26, 50))
  await page.getByText('id is at most 60').waitFor()
})

test('records appear, change and go as others change them', async () => {
  await openThings('name[$search]=live&$sort[id]=1')
  await page.getByText('No records fit the filter.').waitFor()

  const { id } = await api.call('POST', 'things', { name: 'live 1' })
  await shows([id])
  await page.locator('tbody tr.changed').waitFor()

  await api.call('PATCH', `things/${id}`, { count: 7 })
  const count = page.locator('tbody .changed')
  await count.getByText('7').waitFor()
  assert.equal(await count.count(), 1)

  // What does not fit any more is for the server to say.
  await api.call('PATCH', `things/${id}`, { name: 'away' })
  await shows([])
  await api.call('PATCH', `things/${id}`, { name: 'live again' })
  await shows([id])
  await api.call('DELETE', `things/${id}`)
  await shows([])
})

test('new records on another page are told', async () => {
  await openThings('$sort[id]=1')
  await shows(range(1, 10))

  const first = await api.call('POST', 'things', { name: 'new 1' })
  await page.getByText('1 new record, show').waitFor()
  const second = await api.call('POST', 'things', { name: 'new 2' })
  await page.getByText('2 new records, show').waitFor()
  await shows(range(1, 10))
  await page.getByRole('link', { name: 'show' }).click()

  await page.waitForFunction(id => document.querySelector('.records tbody th')?.innerText === id, String(second.id))
  assert.deepEqual((await ids()).slice(0, 2), [String(second.id), String(first.id)])
  assert.equal(await page.getByText('new records').count(), 0)
  for (const { id } of [first, second]) await api.call('DELETE', `things/${id}`)
  await shows(range(43, 34))
})

test('many selected records are changed and removed', async () => {
  const made = await api.call('POST', 'things', ['a', 'b', 'c'].map(letter => ({ name: `many ${letter}` })))
  await openThings('name[$search]=many&$sort[id]=1')
  await shows(made.map(({ id }) => id))

  await page.getByLabel('Select all on this page').check()
  await page.getByText('3 selected').waitFor()
  await page.getByLabel(`Select ${made[0].id}`, { exact: true }).uncheck()
  await press('Remove selected…')
  await press('Remove 2 records')

  await shows([made[0].id])
  await page.getByText('2 selected').waitFor({ state: 'hidden' })
  await api.call('DELETE', `things/${made[0].id}`)
  await shows([])
})

test('a second tab shows what another one changes', async () => {
  const { id } = await api.call('POST', 'things', { name: 'two tabs' })
  await openThings(`id=${id}`)
  const other = await openTab(page.context())
  await open(`#/records/things?id=${id}`, other)

  await page.evaluate(async id => {
    const socket = window.io()
    await new Promise(resolve => socket.emit('patch', 'things', id, { count: 11 }, {}, resolve))
  }, id)

  for (const tab of [page, other]) await (await cell(id, 'count', tab)).getByText('11', { exact: true }).waitFor()
  await api.call('DELETE', `things/${id}`)
  await shows([], other)
})

for (const screen of SCREENS) {
  const { colorScheme, viewport } = screen

  test(`axe finds nothing in tables, ${colorScheme}, ${viewport.width} px wide`, async () => {
    const narrow = await openWindow(browser, { ...WINDOW, ...screen })
    const found = []
    const check = async name => {
      await idle(narrow)
      found.push(...await audit(narrow, name))
    }
    await open('#/', narrow)
    await narrow.getByText('43 records').waitFor()
    await check('services')
    await open('#/records/things?count[$gt]=2&color[$in][]=green&$or[0][count][$between][]=1&$or[0][count][$between][]=2', narrow)
    for (const name of ['Filter', 'Code']) {
      await press(name, narrow)
      await check(name)
    }
    await open('#/records/things?$populate[]=owner&$sort[id]=1', narrow)
    await press('Columns', narrow)
    await check('Columns')
    await narrow.getByLabel('Select 2', { exact: true }).check()
    await check('a selection')
    await open('#/records/log%2Fevents', narrow)
    await check('by key')

    assert.deepEqual(found, [])
    await narrow.context().close()
  })
}
