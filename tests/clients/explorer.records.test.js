// Somebody looks at records in the explorer: values, order, filters, pages, code and changes.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, afterEach, before, test } from 'node:test'
import feathers from '@feathersjs/feathers'
import rest from '@feathersjs/rest-client'
import { addresses, parse, toText } from '../../flask_records/explorer/static/query.js'
import { Api, audit, launch, SCREENS } from './browser.js'
import { Explorer, explorerApp, range } from './explorer.js'
import { start } from './server.js'

let server
let api
let browser
let explorer
let page

before(async () => {
  browser = await launch()
  server = await start({}, explorerApp)
  api = new Api(`${server.base}/api`)
  explorer = await Explorer.open(browser, server.base);
  ({ page } = explorer)
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

afterEach(() => explorer.isSound())

function deferred () {
  let resolve
  const promise = new Promise(done => { resolve = done })
  return { promise, resolve }
}

const things = (query = '') => explorer.go(`records/things${query && `?${query}`}`)

test('services show what they are, allow and hold', async () => {
  await explorer.go()
  const service = page.locator('.service').filter({ has: page.getByRole('link', { name: 'things', exact: true }) })

  await service.getByText('43 records').waitFor()
  await service.getByText("<script>document.body.id='bad'</script>").waitFor()
  const methods = await service.getByRole('list', { name: 'Methods of things' }).getByRole('listitem').allInnerTexts()
  assert.deepEqual(methods, ['find', 'get', 'create', 'update', 'patch', 'remove'])
  const { id } = await api.call('POST', 'things', { name: 'One more' })
  await service.getByText('44 records').waitFor()
  await api.call('DELETE', `things/${id}`)
  await service.getByText('43 records').waitFor()
})

test('values are shown by their types', async () => {
  await things()
  await page.getByText('Ann <b>Lee</b>').first().waitFor()

  const names = ['id', 'name', 'count', 'big', 'ratio', 'price', 'isNew', 'color', 'madeAt', 'day', 'opens', 'takes', 'ownerId', '<i>size</i>']
  assert.deepEqual(await explorer.texts(1, names), [
    '1', 'Lamp', '3', '1152921504606846976', '0.5', '9.90', 'true', '<b>red</b>', '31 Jan 2026, 23:30:00', '2026-01-31', '10:00:00', '90', '1 Ann <b>Lee</b>', '<u>small</u>'
  ])
  assert.match((await explorer.texts(1, ['image']))[0], /^320 bytes 89 50 4e 47 0d 0a 1a 0a …$/)
  assert.deepEqual(await explorer.texts(2, ['name', 'isNew', 'image', 'notes', 'count']), ['empty text', 'false', '0 bytes', '[]', 'null'])
  await explorer.go('record/things/1')
  const text = explorer.value(/^texttext$/)
  assert.ok((await text.innerText()).length < 200)
  await explorer.press('more', text)
  assert.ok((await text.innerText()).length > 800)
})

test('each record is one line of a table, and what one looks for is in the window', async () => {
  const { id } = await api.call('POST', 'things', { name: 'Rounded', price: '1234.50', ratio: 2 / 3 })
  const other = await Explorer.open(browser, server.base, { viewport: { width: 800, height: 800 } })
  const heights = selector => other.page.locator(selector).evaluateAll(all => all.map(each => each.offsetHeight))
  await other.go('records/things?$limit=50')
  assert.ok(Math.max(...await heights('.records tbody tr')) < 40)
  assert.ok(Math.max(...await heights('.title h1')) < 40)
  assert.equal(await (await other.cell(id, 'ratio')).innerText(), '0.666667')
  assert.equal(await (await other.cell(id, 'price')).evaluate(node => getComputedStyle(node).textAlign), 'right')

  await other.header('id').getByRole('button').focus()
  await other.page.keyboard.press('ArrowRight')
  assert.equal(await other.page.evaluate(() => document.activeElement.dataset.key), 'sort name')
  await other.page.keyboard.press('Tab')
  assert.equal(await other.page.evaluate(() => document.activeElement.dataset.key), 'select 1')

  const isSeen = node => node.evaluate(({ firstChild }) => {
    const range = document.createRange()
    range.selectNode(firstChild)
    const { left, right, top, bottom } = range.getBoundingClientRect()
    return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight
  })
  await other.go('records/things?name=Nobody')
  assert.ok(await isSeen(other.page.getByText('No records fit the filter.')))
  await other.go('record/things/1')
  await other.press('Edit')
  assert.ok(await isSeen(other.page.getByRole('button', { name: 'Save' })))
  await other.go('record/things/7000')
  await other.title('Not here')
  await other.go('events')
  await api.call('PATCH', `things/${id}`, { name: null, text: 'A long text. '.repeat(50) })
  await other.page.getByRole('listitem').filter({ hasText: 'A long text.' }).waitFor()
  assert.deepEqual(await audit(other.page, 'events'), [])
  await other.close()
  await api.call('DELETE', `things/${id}`)
})

test('records whose keys JavaScript rounds have a row each, and no link, box or button', async () => {
  await explorer.go('records/stars')

  await page.getByText('Converter(show=str)').waitFor()
  assert.deepEqual(await page.locator('.records tbody td:last-child').allInnerTexts(), Array(2).fill('≈ 1152921504606847000'))
  assert.deepEqual(await page.locator('.records tbody th').allInnerTexts(), Array(2).fill('≈ 9007199254740992'))
  assert.deepEqual(await page.locator('.records tbody td:nth-last-child(2)').allInnerTexts(), Array(2).fill('≈ {"seen":[1152921504606847000]}'))
  assert.equal(await page.locator('.records tbody :is(a, input:enabled)').count(), 0)
  await page.getByLabel('Select all on this page').check()
  assert.equal(await page.getByRole('button', { name: 'Remove selected…' }).isVisible(), false)
  await explorer.go('record/stars/9007199254740993')
  await page.getByText('odd').first().waitFor()
  assert.equal(await page.locator('.record-head').getByRole('button').count(), 0)
  await explorer.go('compare/stars')
  await page.getByText('are not compared one by one').waitFor()
  assert.equal(await page.getByRole('table', { name: 'The records' }).count(), 0)
})

test('the caption of a service without pages tells that there may be more', async () => {
  await explorer.go('records/log%2Fevents')
  await page.getByText('The first 25 records').waitFor()
  await explorer.go('records/labels')
  await page.getByText(/^2 records/).waitFor()
})

test('a table is sorted by mouse and keyboard, and back goes to the order before', async () => {
  await things('count[$gt]=35')
  await explorer.shows([39, 40, 41, 42, 43])

  await explorer.press('count')
  await explorer.press('count')
  await explorer.shows([43, 42, 41, 40, 39])
  assert.equal(await explorer.query(), 'count[$gt]=35&$sort[count]=-1')
  assert.equal(await explorer.header('count').getAttribute('aria-sort'), 'descending')
  await page.goBack()
  await explorer.shows([39, 40, 41, 42, 43])

  await explorer.header('ownerId').getByRole('button').focus()
  await page.keyboard.press('Enter')
  await page.getByText('by ownerId ascending').waitFor()
  await explorer.header('count').getByRole('button').click({ modifiers: ['Shift'] })
  await page.getByText('by ownerId ascending, count ascending').waitFor()
})

test('a press counts though an event comes meanwhile', async () => {
  await things('$limit=10')
  await explorer.shows(range(1, 10))
  for (const control of [explorer.header('count').getByRole('button'), page.getByRole('link', { name: 'Next ›', exact: true })]) {
    await control.hover()
    await page.mouse.down()
    const { id } = await api.call('POST', 'things', { name: 'Pressed' })
    await page.locator('.records[aria-busy=true]').waitFor()
    await page.mouse.up()
    await api.call('DELETE', `things/${id}`)
    await page.getByText('by count ascending').waitFor()
    await explorer.idle()
  }
  assert.equal(await explorer.query(), '$limit=10&$sort[count]=1&$skip=10')
})

test('arrow keys go from row to row', async () => {
  await things('count[$gt]=38')
  await explorer.shows([42, 43])
  await page.getByRole('searchbox').press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  assert.equal(await page.evaluate(() => document.activeElement.innerText), '43')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await explorer.title('things 42')
})

test('the header and the identifiers stay in sight while a table is scrolled', async () => {
  await things('$limit=50')
  await explorer.shows(range(1, 43))
  const places = () => page.evaluate(() => ['.records thead th', '.records tbody tr:last-child th'].map(each => document.querySelector(each).getBoundingClientRect()))
  await page.locator('.records').evaluate(node => node.scrollTo(0, node.scrollHeight))
  const [[head], [, cell]] = [await places(), await places()]
  const region = await page.locator('.records').evaluate(node => node.getBoundingClientRect())
  await page.locator('.records').evaluate(node => node.scrollTo(node.scrollWidth, node.scrollHeight))
  assert.ok(Math.abs(head.top - region.top) < 2)
  assert.ok(Math.abs((await places())[1].left - cell.left) < 1)
  assert.equal(await explorer.header('count').locator('.way').evaluate(node => getComputedStyle(node).opacity), '1')
})

test('a filter is built of fields, operators and values, and is an address', async () => {
  await things('$sort[id]=-1')
  await explorer.press('Filter')
  const search = await explorer.add('name', 'contains ($search)', { isFirst: true })
  await search.getByLabel('Value').fill('THING')
  const between = await explorer.add('count', 'is between ($between)')
  await between.getByLabel('From').fill('3')
  await between.getByLabel('To', { exact: true }).fill('8')
  const any = { group: 'And one of these holds' }
  await (await explorer.add('id', 'is one of ($in)', any)).getByLabel('Values').fill('6\n7\n43')
  await (await explorer.add('count', 'is ($eq)', any)).getByLabel('Value').fill('8')
  await explorer.press('Apply')

  await explorer.shows([11, 7, 6])
  assert.equal(await explorer.query(), '$sort[id]=-1&name[$search]=THING&count[$between][0]=3&count[$between][1]=8&$or[0][id][$in][0]=6&$or[0][id][$in][1]=7&$or[0][id][$in][2]=43&$or[1][count]=8')
  const chips = page.getByRole('list', { name: 'Conditions' })
  assert.deepEqual(await chips.locator('span').allInnerTexts(), ['name contains THING', 'count is between 3 and 8', 'or: id is one of 6, 7, 43', 'or: count is 8'])
  await explorer.press('Remove the condition or: count is 8')
  await explorer.shows([7, 6])
  await explorer.press('Clear')
  await page.getByText('1–10 of 43 records').waitFor()
})

test('a text is searched in the text fields, and by key, beside a filter', async () => {
  await things('$sort[id]=1&count[$gt]=0&$or[0][count]=3&$or[1][count]=4&$or[2][count]=30')
  await explorer.shows([1, 6, 7, 33])
  const box = page.getByRole('searchbox')
  assert.equal(await box.getAttribute('placeholder'), 'Search in name, text, <i>size</i>')
  await page.locator('body').press('/')
  await page.keyboard.type('thing 3')
  await explorer.shows([6, 33])
  await box.fill('33')
  await explorer.shows([33])
  assert.equal(await explorer.query(), '$sort[id]=1&count[$gt]=0&$or[0][count]=3&$or[1][count]=4&$or[2][count]=30&$search=33')
  await page.reload()
  await explorer.shows([33])
  assert.equal(await box.inputValue(), '33')
  await box.fill('long lamp')
  await explorer.shows([1])
  await box.fill('short lamp')
  await page.getByText('No records fit the search.').waitFor()
  await box.fill('nothing like it')
  await page.getByText('No records fit the search.').waitFor()

  await explorer.go('records/labels')
  await page.getByPlaceholder('Exact text of name').fill('blue')
  await explorer.shows([2])
})

test('each type has its own control in a filter', async () => {
  await things()
  await explorer.press('Filter')

  await (await explorer.add('color', 'is ($eq)', { isFirst: true })).getByLabel('Value').selectOption('<b>red</b>')
  const isNew = await explorer.add('isNew', 'is ($eq)')
  assert.deepEqual(await isNew.getByLabel('Operator').locator('option').allInnerTexts(), ['is ($eq)', 'is not ($ne)', 'is null ($null)'])
  await isNew.getByLabel('Value').selectOption('true')
  // The control is in the reader's zone.
  await (await explorer.add('madeAt', 'is ($eq)')).getByLabel('Value').fill('2026-01-31T23:30')
  await (await explorer.add('opens', 'is ($eq)')).getByLabel('Value').fill('10:00')
  await (await explorer.add('big', 'is ($eq)')).getByLabel('Value').fill('1152921504606846976')
  await explorer.press('Apply')

  await page.getByText('madeAt is 31 Jan 2026, 23:30:00').waitFor()
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Apply')
  await explorer.shows([1])
  await explorer.press('Clear')
  await (await explorer.add('count', 'is null ($null)')).getByLabel('Value').selectOption('true')
  await explorer.press('Apply')
  await explorer.shows([2, 3])
})

test('a condition that does not fit is told where it is', async () => {
  await things()
  await explorer.press('Filter')
  const condition = await explorer.add('count', 'is more than ($gt)', { isFirst: true })
  await explorer.press('Apply')
  await condition.getByRole('alert').getByText('Enter a value.').waitFor()

  await things('<b>no</b>=1')
  await page.getByRole('alert').getByText('<b>no</b>').waitFor()
  await explorer.press('Remove the condition <b>no</b>=1')
  await page.getByText('1–10 of 43 records').waitFor()
  page.problems.splice(0)
})

test('the query is shown as code that finds the same', async () => {
  await things('count[$gt]=2&name[$search]=thing&$sort[count]=-1&$limit=3&$or[0][id]=4&$or[1][ownerId]=1')
  await explorer.shows([43, 42, 41])
  await explorer.press('Code')
  const code = async name => page.getByRole('region', { name, exact: true }).innerText()
  const found = answer => answer.data.map(({ id }) => id)

  const curl = execFileSync('sh', ['-c', (await code('curl')).replace('curl', 'curl -s')], { encoding: 'utf8' })
  assert.deepEqual(found(JSON.parse(curl)), [43, 42, 41])
  assert.deepEqual(found(await (await fetch(await code('URL'))).json()), [43, 42, 41])
  const client = feathers().configure(rest(`${server.base}/api`).fetch(fetch))
  const call = Function('client', `return ${(await code('JavaScript')).replace('await ', '')}`)
  assert.deepEqual(found(await call(client)), [43, 42, 41])
})

test('code has the values of a query literally', () => {
  const query = { text: "'\"\\\n`$(echo bad)` $HOME ${1} !! é 😀 \u2028", __proto__x: { $in: ['null', '', '%'] }, '<b>': { $gt: -0.5 } }
  const { curl, javascript } = addresses({ caller: null, address: path => `http://127.0.0.1/${path}` }, '1st/things', query)
  const words = execFileSync('bash', ['-c', `curl () { printf '%s\\0' "$@"; }; ${curl}`], { encoding: 'utf8' }).split('\0')
  const module = `const client = { service: path => ({ find: params => ({ path, ...params }) }) }\nconsole.log(JSON.stringify(${javascript}))`
  const made = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', module], { encoding: 'utf8' }))

  assert.deepEqual(words.slice(0, -1), ['-g', `http://127.0.0.1/1st/things?${toText(query)}`])
  assert.deepEqual(made, { path: '1st/things', query })
  assert.deepEqual(parse('id[$in]=4&id[$in]=5&a=1&b[]=2&a=3'), { id: { $in: ['4', '5'] }, a: ['1', '3'], b: ['2'] })
})

test('columns are chosen and remembered, and relationships loaded', async () => {
  await things('ownerId=1&$limit=2')
  assert.equal(await (await explorer.cell(4, 'ownerId')).getByRole('link').getAttribute('href'), '#/record/owners/1')
  await explorer.press('Columns')
  await explorer.control('name').uncheck()
  await explorer.control('owner').last().check()
  await explorer.header('owner').waitFor()
  const link = (await explorer.cell(4, 'owner')).getByRole('link', { name: 'Ann <b>Lee</b>' })
  assert.equal(await link.getAttribute('href'), '#/record/owners/1')

  await page.reload()
  await explorer.header('text').waitFor()
  assert.equal(await explorer.header('name').count(), 0)
  await explorer.press('Columns')
  await explorer.press('Show all')
  await explorer.go('records/owners?$populate[]=things')
  assert.equal(await (await explorer.cell(1, 'things')).getByRole('link').count(), 41)
})

test('records that lead to a record are below it, and a new one begins with its key', async () => {
  await explorer.go('record/owners/1')
  const section = page.getByRole('region', { name: 'things by ownerId' })
  const all = section.getByRole('link', { name: 'All 41 things' })
  await all.waitFor()
  assert.deepEqual(await section.locator('tbody th').allInnerTexts(), ['1', '4', '5', '6', '7'])
  await all.click()
  await page.getByText('1–10 of 41 records').waitFor()
  assert.equal(await explorer.query(), 'ownerId=1')
  await page.goBack()
  await section.getByRole('link', { name: 'New record of things' }).click()
  await explorer.title('New record of things')
  assert.equal(await explorer.control('ownerId').inputValue(), '1')
  await page.getByText('Ann <b>Lee</b>').waitFor()
})

test('pages have numbers and sizes, and a service without pages is read by key', async () => {
  await things('$sort[id]=1')
  await explorer.turn('Page 5')
  await explorer.shows([41, 42, 43])
  await explorer.turn('‹ Previous')
  await page.getByText('31–40 of 43 records').waitFor()
  await page.getByLabel('Rows').selectOption('50')
  await page.getByText('1–43 of 43 records').waitFor()

  await explorer.go('records/log%2Fevents?id[$lte]=60&$limit=25')
  await explorer.shows(range(1, 25))
  await explorer.turn('Next ›')
  await explorer.turn('Next ›')
  await explorer.shows(range(51, 60))
  assert.equal(await page.getByRole('link', { name: 'Next ›' }).count(), 0)
  await explorer.press('‹ Previous')
  await explorer.shows(range(26, 50))
  await page.getByText('id is at most 60').waitFor()
})

test('a selection goes along to other pages, and ends with another filter', async () => {
  const box = id => page.getByLabel(`Select ${id}`, { exact: true })
  await things('$sort[id]=1')
  await box(2).check()
  await explorer.turn('Page 2')
  await page.getByText('1 selected, 1 on other pages').waitFor()
  await box(12).check()
  await explorer.turn('Page 1')
  await page.getByText('2 selected, 1 on other pages').waitFor()
  assert.ok(await box(2).isChecked())
  await explorer.press('Select none')
  await page.getByText('2 selected').waitFor({ state: 'hidden' })
  assert.equal(await box(2).isChecked(), false)

  await box(3).check()
  await things('$sort[id]=1&id[$lt]=3')
  await explorer.shows([1, 2])
  assert.equal(await page.getByRole('button', { name: 'Select none' }).isVisible(), false)
})

test('all records that match stay selected on other pages, until one is left out', async () => {
  const status = page.locator('.many [role=status]')
  await things('$sort[id]=1&count[$gt]=0')
  await page.getByLabel('Select all on this page').check()
  await explorer.press('Select all 41 that match')
  await status.getByText('41 selected', { exact: true }).waitFor()
  await explorer.turn('Page 2')
  await explorer.shows(range(13, 22))
  assert.equal(await page.locator('.records tbody .box input:checked').count(), 10)
  await status.getByText('41 selected', { exact: true }).waitFor()
  await page.getByLabel('Select 13', { exact: true }).uncheck()
  await status.getByText('19 selected, 10 on other pages').waitFor()

  await explorer.press('Select none')
  await explorer.turn('Page 1')
  assert.equal(await page.locator('.records tbody .box input:checked').count(), 0)
})

test('records are shown before the client is there, and are live once it is', async () => {
  const { promise: isAsked, resolve: ask } = deferred()
  const { promise: isShown, resolve: show } = deferred()
  await things('$sort[id]=1')
  page.on('request', request => { if (request.url().includes('/api/things')) ask() })
  await page.route('**/services.json*', async route => { await isAsked; await route.continue() })
  await page.route('**/feathers.min.js', async route => { await isShown; await route.continue() })
  await page.reload()
  await explorer.shows(range(1, 10))
  await page.locator('#state').getByText('Connecting …').waitFor()
  await explorer.open('')
  await page.locator('.service').filter({ hasText: 'things' }).getByText('…', { exact: true }).waitFor()
  await page.goBack()
  await explorer.shows(range(1, 10))
  show()
  await page.locator('#state').getByText('Live', { exact: true }).waitFor()
  const made = await api.call('POST', 'things', { name: 'Late' })
  await page.getByText('1 new record, ').waitFor()
  await api.call('DELETE', `things/${made.id}`)
  await page.getByText('1 new record, ').waitFor({ state: 'hidden' })
  await page.unrouteAll()
})

test('records appear, change and go as others change them', async () => {
  await things('name[$search]=live&$sort[id]=1')
  await page.getByText('No records fit the filter.').waitFor()

  const { id } = await api.call('POST', 'things', { name: 'live 1' })
  await explorer.shows([id])
  await api.call('PATCH', `things/${id}`, { count: 7 })
  await page.locator('tbody .changed').getByText('7').waitFor()
  // What does not fit any more is for the server to say.
  await api.call('PATCH', `things/${id}`, { name: 'away' })
  await explorer.shows([])
  await api.call('PATCH', `things/${id}`, { name: 'live again' })
  await explorer.shows([id])
  await things('$sort[id]=1')
  const other = await api.call('POST', 'things', { name: 'new' })
  await page.getByText('1 new record, show').waitFor()
  for (const each of [id, other.id]) await api.call('DELETE', `things/${each}`)
})

test('services without schemas, identifiers and pages are shown', async () => {
  await explorer.go('records/status')
  await page.getByRole('cell', { name: 'well' }).waitFor()
  await explorer.go('record/words/constructor')
  await page.locator('dd').getByText('constructor', { exact: true }).waitFor()

  const own = 'users/7 %2F?/notes'
  await explorer.go('records/users%2F%3Cuser_id%3E%2Fnotes')
  await page.getByLabel('user_id').fill('7 %2F?')
  await explorer.press('Open')
  await explorer.title(own)
  await page.getByRole('cell', { name: '7 %2F?', exact: true }).waitFor()
  await explorer.go(`custom/${encodeURIComponent(own)}`)
  await explorer.press('Call count')
  await page.locator('pre', { hasText: '"of": "7 %2F?"' }).waitFor()
})

for (const screen of [SCREENS[0], SCREENS[3]]) {
  const { colorScheme, viewport } = screen

  test(`axe finds nothing, ${colorScheme}, ${viewport.width} px wide`, async () => {
    const other = await Explorer.open(browser, server.base, screen)
    const found = []
    const check = async view => found.push(...await audit(other.page, view))

    for (const view of ['', 'record/things/1', 'record/owners/1', 'create/things', 'events', 'records/log%2Fevents', 'compare', 'compare/things?$limit=1']) {
      await other.go(view)
      await check(view)
    }

    await other.go('records/things?$populate[]=owner&count[$gt]=2&$or[0][count]=3&$or[1][count]=4')
    for (const name of ['Filter', 'Code', 'Columns', 'Export']) {
      await other.press(name)
      await check(name)
    }

    assert.deepEqual(found, [])
    await other.isSound()
    await other.close()
  })
}
