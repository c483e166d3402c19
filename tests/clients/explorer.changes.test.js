// Somebody creates, changes and removes records in the explorer, while others do too.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { readLines } from '../../flask_records/explorer/static/csv.js'
import { Api, launch, standBetween } from './browser.js'
import { Explorer, explorerApp } from './explorer.js'
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
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

beforeEach(async () => {
  explorer = await Explorer.open(browser, server.base, { timezoneId: 'Asia/Kolkata' });
  ({ page } = explorer)
})

afterEach(async () => {
  await explorer.isSound()
  await explorer.close()
})

const create = data => api.call('POST', 'things', data)

// Returns the record that the page shows, as it is stored.
async function stored () {
  await page.waitForFunction(() => location.hash.startsWith('#/record/'))
  return api.call('GET', `things/${(await page.evaluate(() => location.hash)).split('/').at(-1)}`)
}

test('a form creates a record with values of all types', async () => {
  await explorer.go('create/things')
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

  for (const [name, value] of Object.entries(values)) await explorer.control(name).fill(value)
  await explorer.control('isNew').selectOption('false')
  await explorer.control('color').selectOption('<b>red</b>')
  await page.locator('input[type=file]').first().setInputFiles({ name: 'a.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 255, 7]) })
  await page.getByText('a.bin, 3 bytes').waitFor()
  await explorer.press('Create')

  const { id, ...record } = await stored()
  assert.deepEqual(record, {
    ...values,
    count: -3,
    ratio: 0.25,
    isNew: false,
    color: '<b>red</b>',
    madeAt: '2026-01-31T22:30:00.000Z',
    takes: 90,
    image: 'AP8H',
    notes: { shade: [null, 1] },
    ownerId: 1
  })
})

test('a form that is opened and saved changes nothing, and null differs from an empty text', async () => {
  const before = await api.call('GET', 'things/1')
  await explorer.go('record/things/1')
  await explorer.press('Edit')
  await explorer.press('Save')
  await page.locator('.details').waitFor()
  assert.deepEqual(await api.call('GET', 'things/1'), before)

  const { id } = await create({ name: 'full', count: 3 })
  await explorer.go(`record/things/${id}`)
  await explorer.press('Edit')
  const focused = async key => {
    await page.keyboard.press(key)
    return page.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.labels[0].innerText)
  }
  await explorer.control('name').focus()
  assert.deepEqual([await focused('Tab'), await focused('Tab'), await focused('Shift+Tab'), await focused('Shift+Tab')], ['text', 'count', 'What is sent as count', 'text'])
  await page.getByLabel('What is sent as count').selectOption('null')
  await page.getByLabel('What is sent as text').selectOption('value')
  await explorer.press('Save')
  await page.locator('.details').waitFor()
  const { name, count, text } = await api.call('GET', `things/${id}`)
  assert.deepEqual([name, count, text], ['full', null, ''])
})

test('records with relationships that can be written are created and changed', async () => {
  await explorer.go('create/shelves')
  await explorer.control('name').fill('Low')
  await explorer.control('ownerId').fill('1')
  await explorer.control('labels').fill('[1, 2]')
  await explorer.press('Create')
  const read = async () => {
    await page.waitForFunction(() => location.hash.startsWith('#/record/'))
    const id = (await page.evaluate(() => location.hash)).split('/').at(-1)
    return api.call('GET', `shelves/${id}?$populate[]=labels&$populate[]=owner`)
  }
  const { labels, owner } = await read()
  assert.deepEqual([labels.map(({ name }) => name), owner.id], [['red', 'blue'], 1])

  await explorer.press('Edit')
  await explorer.control('labels').fill('[2]')
  await explorer.press('Save')
  await page.locator('.details').waitFor()
  assert.deepEqual((await read()).labels.map(({ name }) => name), ['blue'])
})

test('typed values are not lost without a question', async () => {
  const { id } = await create({ name: 'before' })
  await explorer.go(`record/things/${id}`)
  await explorer.press('Edit')
  await explorer.control('name').fill('typed')
  const answers = [false, true]
  const asked = []
  page.on('dialog', dialog => {
    asked.push(dialog.type())
    return answers.shift() ? dialog.accept() : dialog.dismiss()
  })
  const leave = () => page.getByRole('link', { name: 'owners', exact: true }).first().click()
  await leave()
  await page.waitForURL(`**/record/things/${id}`)
  assert.equal(await explorer.control('name').inputValue(), 'typed')
  await leave()
  await explorer.title('owners')
  assert.deepEqual(asked, ['confirm', 'confirm'])

  await explorer.go(`record/things/${id}`)
  await explorer.press('Edit')
  await explorer.control('name').fill('saved')
  await explorer.press('Save')
  await page.locator('.details').waitFor()
  await leave()
  await explorer.title('owners')
  assert.equal(asked.length, 2)
})

test('what is typed stays while another way to write a record, or another order, is chosen', async () => {
  await explorer.go('create/things')
  await explorer.control('name').fill('typed')
  await explorer.press('JSON, one or many')
  await explorer.press('Form')
  assert.equal(await explorer.control('name').inputValue(), 'typed')
  await explorer.control('name').fill('')
  await page.getByLabel('What is sent as name').selectOption('out')

  await explorer.go('records/things')
  await explorer.press('Filter')
  const condition = await explorer.add('name', 'contains ($search)', { isFirst: true })
  await condition.getByLabel('Value').fill('typed')
  await explorer.press('count')
  await page.getByText('by count ascending').waitFor()
  assert.equal(await condition.getByLabel('Value').inputValue(), 'typed')
  await explorer.press('Clear')
  await condition.waitFor({ state: 'detached' })
})

test('a dialog with typed values asks before it is closed', async () => {
  const { id } = await create({ name: 'dialog' })
  await explorer.go('records/things?name=dialog')
  await page.getByLabel(`Select ${id}`, { exact: true }).check()
  await explorer.press('Change selected…')
  const form = page.getByRole('dialog')
  await form.getByLabel('name', { exact: true }).fill('typed')
  page.once('dialog', dialog => dialog.dismiss())
  await page.keyboard.press('Escape')
  assert.equal(await form.getByLabel('name', { exact: true }).inputValue(), 'typed')
  page.once('dialog', dialog => dialog.accept())
  await page.keyboard.press('Escape')
  await form.waitFor({ state: 'detached' })
})

test('a time that the zone leaves out is refused, and others are shown as they are sent', async () => {
  const own = await Explorer.open(browser, server.base, { timezoneId: 'America/New_York' })
  await own.go('create/things')
  await own.control('madeAt').fill('2026-03-08T02:30')
  await own.press('Create')
  assert.equal(await own.problemOf('madeAt'), 'madeAt is a time that your zone leaves out')
  await own.control('madeAt').fill('2026-03-08T03:30')
  await own.page.getByText('2026-03-08 07:30:00 UTC').waitFor()
  own.page.on('dialog', dialog => dialog.accept())
  await own.go('records/things')
  await own.press('Filter')
  const condition = await own.add('madeAt', 'is ($eq)', { isFirst: true })
  await condition.getByLabel('Value').fill('2026-03-08T02:30')
  await own.press('Apply')
  await own.page.getByRole('alert').filter({ hasText: 'madeAt is a time that your zone leaves out' }).waitFor()
  await own.close()
})

test('values that do not fit are named beside their fields', async () => {
  await explorer.go('create/things')
  const values = { name: 'n'.repeat(21), count: '2147483648', ratio: 'half', price: '12,50', notes: '{' }
  for (const [name, value] of Object.entries(values)) await explorer.control(name).fill(value)
  await explorer.press('Create')

  assert.equal(await explorer.problemOf('name'), 'name has 21 characters, of at most 20')
  assert.equal(await explorer.problemOf('count'), 'count is greater than 2147483647')
  assert.equal(await explorer.problemOf('ratio'), 'ratio is not a number')
  assert.equal(await explorer.problemOf('price'), 'price is not a number')
  assert.match(await explorer.problemOf('notes'), /^notes is not JSON/)
  assert.equal(await explorer.control('name').evaluate(element => element === document.activeElement), true)
})

test('an error of the server is beside its field, and markup in it stays text', async () => {
  await explorer.go('create/things')
  await explorer.control('name').fill('refused')
  await explorer.press('Create')

  await page.getByRole('alert').filter({ hasText: '<img src=x' }).waitFor()
  assert.match(await explorer.problemOf('name'), /^<img src=x/)
  assert.equal(await explorer.control('name').getAttribute('aria-invalid'), 'true')
  assert.equal(await page.locator('#main img').count(), 0)
})

test('JSON creates many records, and tells which of them is wrong', async () => {
  await explorer.go('create/things')
  await explorer.press('JSON, one or many')
  const send = async (...names) => {
    await explorer.control('Data').fill(JSON.stringify(names.map(name => ({ name }))))
    await explorer.press('Create')
  }

  await send('a', 'n'.repeat(21))
  await page.getByRole('listitem').filter({ hasText: '1.name has more than 20 characters' }).waitFor()
  await send('json one', 'json two')
  await explorer.title('things')
  assert.equal((await api.call('GET', 'things?name[$search]=json')).total, 2)
})

test('a patch sends what was changed, and keeps what others change', async () => {
  const { id } = await create({ name: 'Before', count: 1 })
  await explorer.go(`record/things/${id}`)
  await explorer.press('Edit')
  await explorer.control('name').fill('Mine')

  await api.call('PATCH', `things/${id}`, { name: 'Theirs', count: 2 })
  await page.getByRole('alert').filter({ hasText: 'Someone has changed this record' }).waitFor()
  await explorer.press('Load the new values, keep mine')
  await explorer.press('Save')
  await page.locator('.details').waitFor()

  const { name, count } = await api.call('GET', `things/${id}`)
  assert.deepEqual([name, count], ['Mine', 2])
})

test('a change that no event told is met before it is overwritten', async () => {
  const { id } = await create({ name: 'Before' })
  const { upgraded } = await standBetween(page, { toPage: text => !/things patched/.test(text) })
  await explorer.go(`record/things/${id}`)
  await upgraded
  await explorer.press('Edit')
  await explorer.control('name').fill('Mine')

  await api.call('PATCH', `things/${id}`, { name: 'Theirs' })
  await explorer.press('Save')

  await page.getByRole('row', { name: 'name Before Theirs Mine' }).waitFor()
  assert.equal((await api.call('GET', `things/${id}`)).name, 'Theirs')
})

test('a change of this tab is undone unless someone has changed the record since', async () => {
  const { id } = await create({ name: 'Before', count: 1, notes: { a: [1] } })
  const change = async (name, notes) => {
    await explorer.press('Edit')
    await explorer.control('name').fill(name)
    await explorer.control('notes').fill(notes)
    await explorer.press('Save')
  }
  await explorer.go(`record/things/${id}`)
  await change('Wrong', '[]')
  await explorer.press('Undo my change')
  await page.getByText(`things ${id} is as before.`).waitFor()
  const { name, notes } = await api.call('GET', `things/${id}`)
  assert.deepEqual([name, notes], ['Before', { a: [1] }])
  assert.equal(await page.getByRole('button', { name: 'Undo my change' }).count(), 0)

  await change('Wrong again', '2')
  await page.route(/things\/\d+$/, async route => {
    if (route.request().method() === 'PATCH') await api.call('PATCH', `things/${id}`, { count: 5 })
    await route.continue()
  })
  await explorer.press('Undo my change')
  await page.getByRole('alert').getByText('The record has changed since you read it').waitFor()
  page.problems.splice(0)
  assert.equal((await api.call('GET', `things/${id}`)).name, 'Wrong again')
  await page.unroute(/things\/\d+$/)
})

test('pictures are shown in forms and records, and files saved', async () => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
  await explorer.go('create/things')
  await page.locator('input[type=file]').first().setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: png })
  await page.getByRole('img', { name: 'image' }).waitFor()
  await explorer.press('Create')
  await page.locator('.details').getByRole('img', { name: 'image' }).waitFor()
  const [file] = await Promise.all([page.waitForEvent('download'), explorer.press('Download image')])
  assert.equal(file.suggestedFilename(), 'image.png')
  assert.deepEqual(await readFile(await file.path()), png)
})

test('a related record is chosen by its name', async () => {
  await explorer.go('create/things')
  await explorer.control('ownerId').fill('ann <b>lee</b>')
  await explorer.control('count').focus()
  await page.waitForFunction(() => [...document.querySelectorAll('input[list]')].some(each => each.value === '1'))
  await page.getByText('Ann <b>Lee</b>', { exact: true }).waitFor()
  page.once('dialog', dialog => dialog.accept())
  await explorer.go()
})

test('an error that no other value mends says what to do next', async () => {
  await explorer.go('create/things')
  await explorer.control('name').fill('broken')
  await explorer.press('Create')
  await page.getByRole('alert').filter({ hasText: 'Nothing is changed. Try again' }).waitFor()
  page.problems.splice(0)
  page.once('dialog', dialog => dialog.accept())
  await explorer.go()
})

test('a record is removed once it is confirmed, and its page shows a removal by others', async () => {
  const [mine, theirs] = await create([{ name: 'mine' }, { name: 'theirs' }])
  await explorer.go(`record/things/${theirs.id}`)
  await api.call('DELETE', `things/${theirs.id}`)
  await page.getByRole('alert').filter({ hasText: 'Someone has removed this record.' }).waitFor()

  await explorer.go(`record/things/${mine.id}`)
  await explorer.press('Remove…')
  await explorer.press('Cancel')
  assert.equal((await api.call('GET', `things/${mine.id}`)).name, 'mine')
  await explorer.press('Remove…')
  await explorer.press('Remove', page.getByRole('dialog'))
  await explorer.title('things')
  assert.equal((await api.call('GET', `things?id=${mine.id}`)).total, 0)
})

test('many records are changed and removed at once', async () => {
  const made = await create(['one', 'two', 'three'].map(word => ({ name: `many ${word}` })))
  const [first] = made
  await explorer.go('records/things?name[$search]=many&$sort[id]=1')
  await explorer.shows(made.map(({ id }) => id))

  await page.getByLabel('Select all on this page').check()
  await page.getByLabel(`Select ${first.id}`, { exact: true }).uncheck()
  await page.getByText('2 selected').waitFor()
  await explorer.press('Change selected…')
  await page.getByRole('dialog').getByLabel('isNew', { exact: true }).selectOption('true')
  await explorer.press('Change 2 records')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  const { data } = await api.call('GET', 'things?name[$search]=many&$sort[id]=1')
  assert.deepEqual(data.map(({ isNew }) => isNew), [null, true, true])

  await explorer.press('Remove selected…')
  await explorer.press('Remove 2 records')
  await explorer.shows([first.id])
})

test('all records that match are changed and removed, also those of other pages', async () => {
  await create(Array.from({ length: 12 }, (_, index) => ({ name: `match ${index}` })))
  await explorer.go('records/things?$search=match')
  await page.getByText('1–10 of 12 records').waitFor()
  await page.getByLabel('Select all on this page').check()
  await explorer.press('Select all 12 that match')
  await page.getByText('12 selected').waitFor()
  await explorer.press('Change selected…')
  await page.getByRole('dialog').getByLabel('count', { exact: true }).fill('7')
  await explorer.press('Change 12 records')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText('10 selected').waitFor()
  assert.equal((await api.call('GET', 'things?name[$search]=match&count=7')).total, 12)

  await explorer.press('Select all 12 that match')
  await explorer.press('Remove selected…')
  await page.getByRole('dialog').getByText('All that match $or[0][name][$search]=match').waitFor()
  await explorer.press('Remove 12 records')
  await page.getByText('No records fit the search.').waitFor()
  assert.equal((await api.call('GET', 'things?name[$search]=match')).total, 0)
})

test('more records than a call takes are changed and removed in parts', async () => {
  for (const part of [0, 1, 2]) await create(Array.from({ length: 80 }, (_, index) => ({ name: `part ${part} ${index}` })))
  await explorer.go('records/things?name[$search]=part')
  await page.getByLabel('Select all on this page').check()
  await explorer.press('Select all 240 that match')
  await explorer.press('Change selected…')
  await page.getByRole('dialog').getByText('In parts of 200.').waitFor()
  await page.getByRole('dialog').getByLabel('count', { exact: true }).fill('9')
  await explorer.press('Change 240 records')
  await page.getByText('240 records are changed.').waitFor()
  assert.equal((await api.call('GET', 'things?name[$search]=part&count=9')).total, 240)

  await page.getByLabel('Select all on this page').check()
  await explorer.press('Select all 240 that match')
  await explorer.press('Remove selected…')
  await explorer.press('Remove 240 records')
  await page.getByText('240 records are removed.').waitFor()
  assert.equal((await api.call('GET', 'things?name[$search]=part')).total, 0)
})

test('a removal that others stand against leads to these', async () => {
  await explorer.go('record/owners/1')
  await explorer.press('Remove…')
  await explorer.press('Remove', page.getByRole('dialog'))
  await page.getByRole('alert').getByRole('link', { name: /things/ }).click()
  await explorer.title('things')
})

test('records that match are exported, and imported again', async () => {
  const values = [{ name: '=1+1', text: 'a "b",\nc' }, { name: "'-x", text: '' }, { name: '+49 (30) 1-2' }, { name: '-3', notes: { a: [null, '1'] }, isNew: false, ratio: -0.5 }]
  await create([...values, ...Array.from({ length: 60 }, (_, index) => ({ name: `out ${index}` }))].map(each => ({ ...each, color: 'grey' })))
  await explorer.go('records/things?color=grey')
  await explorer.press('Export')
  const save = async kind => {
    const [file] = await Promise.all([page.waitForEvent('download'), explorer.press(kind)])
    return [file.suggestedFilename(), await readFile(await file.path(), 'utf8')]
  }
  const [name, csv] = await save('CSV')
  const [, json] = await save('JSON')
  const { data } = await api.call('GET', 'things?color=grey&$limit=50&$sort[id]=1')
  assert.equal(name, 'things.csv')
  assert.deepEqual(JSON.parse(json).slice(0, 50), data)
  assert.equal(JSON.parse(json).length, 64)
  assert.match(csv, /\r\n\d+,'=1\+1,"a ""b"",\nc",/)
  assert.match(csv, /\r\n\d+,''-x,"",/)
  assert.match(csv, /^\ufeffid,[^]*\r\n\d+,\+49 \(30\) 1-2,/)

  await api.call('DELETE', 'things?color=grey')
  await explorer.go('create/things')
  await explorer.press('CSV')
  await page.locator('#main input[type=file][accept]').setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await page.getByText('64 records').waitFor()
  await page.getByRole('columnheader', { name: 'id left out' }).waitFor()
  await explorer.press('Create')
  await explorer.title('things')
  const again = await api.call('GET', 'things?color=grey&$limit=50&$sort[id]=1')
  const withoutId = ({ id, ...record }) => record
  assert.equal(again.total, 64)
  assert.deepEqual(again.data.map(withoutId), data.map(withoutId))
  await api.call('DELETE', 'things?color=grey')
})

test('an import is shown, and its mistakes are told, before anything is sent', async () => {
  await explorer.go('create/things')
  await explorer.press('CSV')
  const told = () => page.getByRole('alert').getByRole('listitem').allInnerTexts()
  await explorer.control('CSV').fill('name,count,color\nParis, Texas,1,green\na,many,blue\nb,2147483648\n')
  await explorer.control('CSV').press('Control+Enter')
  assert.deepEqual(await told(), [
    'Line 2 has 4 cells, the first line has 3.',
    'Line 3: count is not a whole number.',
    'Line 3: color is none of <b>red</b>, green, grey.',
    'Line 4 has 2 cells, the first line has 3.'
  ])
  await explorer.control('CSV').fill('\ufeffname;count;name;unknown\n1;2;3;4\n')
  assert.deepEqual(await told(), ['Line 1 has name twice.'])
  await explorer.control('CSV').fill('\ufeffname;isNew;unknown\n+49 30 1;TRUE;x\n')
  await page.getByRole('row', { name: 'Line name text isNew boolean unknown left out' }).waitFor()
  await page.getByRole('row', { name: '2 +49 30 1 true' }).waitFor()
  assert.equal((await api.call('GET', 'things?name[$search]=Paris')).total, 0)
  await explorer.control('CSV').fill(`name\n${'a\n'.repeat(9)}`)
  await page.setViewportSize({ width: 800, height: 800 })
  await page.getByRole('row', { name: '6 a' }).waitFor()
  assert.ok(await page.getByRole('button', { name: 'Create', exact: true }).evaluate(node => {
    const { left, top, height } = node.getBoundingClientRect()
    return [0.1, 0.5, 0.9].every(part => document.elementFromPoint(left + 4, top + height * part) === node)
  }))
  await page.setViewportSize({ width: 1280, height: 800 })
  const file = { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from([...Buffer.from('name\nM'), 0xfc]) }
  await page.locator('#main input[type=file][accept]').setInputFiles(file)
  await page.getByRole('alert').filter({ hasText: 'The file is not UTF-8.' }).waitFor()
  page.once('dialog', dialog => dialog.accept())
  await explorer.go()
})

test('an import that the server refuses tells all lines, and keeps these alone', async () => {
  await explorer.go('create/things')
  await explorer.press('CSV')
  const bad = [20, 120]
  const lines = ['name;count', ...Array.from({ length: 150 }, (_, index) => `${bad.includes(index) ? 'refused' : `line ${index}`};${index}`)]
  await explorer.control('CSV').fill(lines.join('\n'))
  await explorer.press('Create')
  await page.getByRole('alert').filter({ hasText: '148 records created. 2 records left.' }).waitFor()
  assert.match((await page.getByRole('alert').getByRole('listitem').allInnerTexts()).join('\n'), /Line 2: <img.*\nLine 3: <img/)
  assert.equal(await explorer.control('CSV').inputValue(), 'name;count\nrefused;20\nrefused;120')
  page.problems.splice(0)

  await explorer.control('CSV').fill((await explorer.control('CSV').inputValue()).replaceAll('refused', 'line'))
  await explorer.press('Create')
  await explorer.title('things')
  assert.equal((await api.call('GET', 'things?name[$search]=line')).total, 150)
  await api.call('DELETE', 'things?name[$search]=line')
  assert.throws(() => readLines('a,b\n1,"2'), /Line 2 has a quote/)
})

test('events are in the log, which is paused, filtered and cleared', async () => {
  await explorer.go('events')
  await page.getByText('Connected').waitFor()
  const lines = page.getByRole('log').getByRole('listitem')

  await explorer.press('Pause')
  const { id } = await create({ name: 'From afar' })
  await page.getByText('Paused, 1 new').waitFor()
  assert.equal(await lines.count(), 0)
  await explorer.press('Go on')
  await lines.getByText('Data').click()
  assert.match(await lines.locator('pre').innerText(), /"name": "From afar"/)
  await lines.getByRole('link', { name: `things ${id}` }).waitFor()
  await explorer.control('Service').selectOption('owners')
  assert.equal(await lines.count(), 0)
  await explorer.control('Service').selectOption('')
  await explorer.press('Clear')
  assert.equal(await lines.count(), 0)
})
