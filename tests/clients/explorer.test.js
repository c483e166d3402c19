// The explorer as a whole, in a browser: for everybody, below a path, and with markup in all texts.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Api, audit, launch, openWindow, PASSWORD, SCREENS } from './browser.js'
import { gunicorn, start } from './server.js'


const VIEWS = {
  '': 'Services',
  'records/messages': 'messages',
  'create/rooms': /rooms/,
  events: 'Events',
  'custom/messages': /messages/,
  compare: 'As nobody, and as me',
  'compare/rooms': 'rooms: as nobody, and as me',
  login: 'Your login'
}

const flask = port => ['flask', '--app', 'tests.explorer_app', 'run', '--port', port]

let server
let shop
let below
let browser
let room
let windows = []

before(async () => {
  const settings = { FLASK_RECORDS_EXPLORER__enabled: 'true' };
  [server, shop, below] = await Promise.all([start({ FLASK_DEBUG: 'true' }), start({}, flask), start(settings, port => [...gunicorn(port), '--root-path', '/shop'])])
  const ann = await Api.register(server.base, 'ann')
  room = await ann.room('Engine room')
  await ann.write(room, 25)
  browser = await launch()
})

after(async () => {
  await browser?.close()
  for (const each of [server, shop, below]) await each?.stop()
})

afterEach(async () => {
  for (const page of windows) await page.context().close()
  windows = []
})

async function openPage (options) {
  const page = await openWindow(browser, options)
  windows.push(page)
  return page
}

const open = (page, view, base = server.base) => page.goto(`${base}/_records/#/${view}`)

// Waits for a view, and all that it loads.
async function shown (page, name) {
  await page.getByRole('heading', { name, level: 1, exact: typeof name === 'string' }).waitFor()
  await page.waitForLoadState('networkidle')
}

async function logIn (page, base = server.base) {
  await open(page, 'login', base)
  await page.getByLabel('Email').fill('ann@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.locator('#caller').getByText('ann').waitFor()
}

for (const screen of SCREENS) {
  const { colorScheme, viewport } = screen

  test(`axe finds nothing on any view, ${colorScheme}, ${viewport.width} px wide`, async () => {
    const page = await openPage(screen)
    await open(page, 'login')
    await shown(page, 'Log in')
    await page.getByText('Paste a token').click()
    const found = await audit(page, 'before the login')
    await logIn(page)

    for (const [view, name] of [...Object.entries(VIEWS), [`record/rooms/${room.id}`, /Engine room|rooms/]]) {
      await open(page, view)
      await shown(page, name)
      found.push(...await audit(page, view))
    }

    assert.deepEqual(found, [])
    assert.deepEqual([page.problems, page.elsewhere], [[], []])
  })
}

test('markup in names, texts and errors stays text in each view', async () => {
  const page = await openPage()
  const views = ['', 'records/things', 'record/things/1', 'create/things', 'records/log%2Fevents', 'events', 'compare',
    'compare/things?$limit=1', 'login', 'records/<img src=x onerror=alert(1)>', '<b>bold</b>/<i>x</i>',
    `record/things/${encodeURIComponent('<img src=x>')}`]
  const made = []
  let text = ''

  for (const view of views) {
    await open(page, view, shop.base)
    await page.reload()
    await page.locator('h1').waitFor()
    await page.waitForLoadState('networkidle')
    text += await page.locator('body').innerText()
    made.push(...await page.evaluate(() => [...document.querySelectorAll('b, i, u, img:not([src^="blob:"], [src^="data:"]), body script, a[href^="javascript"]')]
      .filter(each => !/^[\d,]+$/.test(each.innerText)).map(each => each.outerHTML)))
    assert.notEqual(await page.locator('body').getAttribute('id'), 'bad', view)
  }

  assert.deepEqual(made, [])
  for (const part of ['<u>shop</u>', '<i>size</i>', '<b>red</b>', '<script>document.body']) assert.ok(text.includes(part), part)
  assert.deepEqual(page.elsewhere, [])
  assert.deepEqual(page.problems.filter(problem => !/things\/%3Cimg|status of 40\d/.test(problem)), [])
})

// Presses a key until something has the focus, and returns its text.
async function tabTo (page, wanted, key = 'Tab') {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press(key)
    const text = await page.evaluate(() => {
      const { activeElement: focused } = document
      return (focused.getAttribute('aria-label') ?? focused.labels?.[0]?.innerText ?? focused.innerText).trim()
    })
    if (wanted.test(text)) return text
  }
  throw new Error(`Nothing with ${wanted} gets the focus.`)
}

test('the keyboard alone logs in, sorts, and creates a record', async () => {
  const page = await openPage()
  const { keyboard } = page
  await open(page, '')
  await shown(page, 'Services')

  await tabTo(page, /^Log in$/, 'Shift+Tab')
  await keyboard.press('Enter')
  await shown(page, 'Log in')
  await tabTo(page, /^Email/)
  await keyboard.type('ann@example.com')
  await tabTo(page, /^Password/)
  await keyboard.type(PASSWORD)
  await keyboard.press('Enter')
  await page.locator('#caller').getByText('ann').waitFor()
  await shown(page, 'Services')

  await tabTo(page, /^messages$/, 'Shift+Tab')
  await keyboard.press('Enter')
  await shown(page, 'messages')
  await tabTo(page, /^id/)
  await keyboard.press('Enter')
  await page.waitForURL(/sort/)
  await page.getByRole('columnheader', { name: /^id/ }).and(page.locator('[aria-sort=ascending], [aria-sort=descending]')).waitFor()
  assert.match(await page.evaluate(() => document.activeElement.innerText), /^id/)

  await open(page, 'records/rooms')
  await shown(page, 'rooms')
  await tabTo(page, /^New record$/)
  await keyboard.press('Enter')
  await tabTo(page, /^name/)
  await keyboard.type('Made by keys')
  await tabTo(page, /^(Create|Save)/)
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: /Made by keys|rooms/, level: 1 }).waitFor()
  await page.getByText('Made by keys').first().waitFor()
  assert.deepEqual(page.problems, [])
})

test('the explorer works below a path', async () => {
  const base = `${below.base}/shop`
  await Api.register(base, 'ann')
  const page = await openPage()

  await page.goto(`${base}/_records`)
  await page.locator('#state').getByText('Live').waitFor()
  await logIn(page, base)
  await open(page, 'records/users', base)
  await shown(page, 'users')
  await page.getByRole('cell', { name: 'ann', exact: true }).waitFor()

  assert.equal(page.url(), `${base}/_records/#/records/users`)
  assert.deepEqual([page.problems, page.elsewhere], [[], []])
})
