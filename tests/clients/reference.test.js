// The page that shows the OpenAPI document, in a browser.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { Api, audit, launch, openWindow, PASSWORD, SCREENS } from './browser.js'
import { start } from './server.js'

const flask = port => ['flask', '--app', 'tests.reference_app', 'run', '--port', port]

let server
let markup
let browser
let page

before(async () => {
  const on = { FLASK_RECORDS_OPENAPI__enabled: 'true' };
  [server, markup] = await Promise.all([start(on), start({}, flask)])
  const ann = await Api.register(server.base, 'ann')
  await ann.room('Engine room')
  await ann.room('Library')
  browser = await launch()
})

after(async () => {
  await browser?.close()
  for (const each of [server, markup]) await each?.stop()
})

beforeEach(async () => { page = await openWindow(browser) })

afterEach(() => page.context().close())

// What belongs to the page itself, beside that of Swagger UI.
const own = () => page.getByRole('banner')

const operation = name => page.locator(`#operations-${name}`)

async function logIn (password = PASSWORD) {
  await own().getByLabel('email').fill('ann@example.com')
  await own().getByLabel('password').fill(password)
  await own().getByRole('button', { name: 'Log in', exact: true }).click()
}

// Opens an operation, fills its fields by their names, and returns the status and body.
async function call (name, fields = {}) {
  const place = operation(name)
  await place.locator('.opblock-summary-control').click()
  if (Object.keys(fields).some(field => field.includes('['))) {
    assert.equal(await place.locator('tr[data-param-name*="["]:visible').count(), 0)
    await place.getByRole('button', { name: /^Operators and orders/ }).click()
  }
  for (const [field, value] of Object.entries(fields)) {
    await place.locator(`tr[data-param-name="${field}"]`).locator('input, textarea').fill(value)
  }
  await place.locator('.execute').click()
  const row = place.locator('.live-responses-table .response').first()
  await row.waitFor()
  return {
    status: Number.parseInt(await row.locator('.response-col_status').innerText()),
    text: await row.locator('.response-col_description pre').first().textContent(),
    url: await place.locator('.request-url pre').innerText()
  }
}

test('a call with a login is tried, and leaves no token behind', async () => {
  await page.goto(`${server.base}/docs`)
  await operation('rooms-createRooms').waitFor()
  await logIn()
  await own().getByText('Logged in', { exact: true }).waitFor()
  await operation('rooms-findRooms').waitFor()

  const answer = await call('rooms-findRooms', { 'name[$ne]': 'x&y', $limit: '1' })

  assert.equal(answer.status, 200)
  assert.deepEqual(JSON.parse(answer.text).data.map(room => room.name), ['Engine room'])
  assert.match(decodeURIComponent(answer.url), /name\[\$ne\]=x&y&\$limit=1$/)
  const stored = await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie])
  assert.deepEqual(stored, [0, 0, ''])
  assert.equal(page.url(), `${server.base}/docs`)
  await page.reload()
  await own().getByText('Not logged in').waitFor()
  await operation('rooms-findRooms').waitFor()
  assert.deepEqual([page.problems, page.elsewhere], [[], []])
})

test('the page shows what the caller may use', async () => {
  await page.goto(`${server.base}/docs`)
  await operation('rooms-findRooms').waitFor()

  await own().getByLabel('Only what I may use').check()

  await operation('rooms-findRooms').waitFor({ state: 'detached' })
  assert.equal(await operation('users-createUsers').count(), 1)
  await logIn()
  await operation('rooms-findRooms').waitFor()
  await own().getByRole('button', { name: 'Log out' }).click()
  await own().getByText('Not logged in').waitFor()
  assert.equal((await call('rooms-findRooms')).status, 401)
})

test('a token is pasted, and a bad one is refused', async () => {
  const { token } = await Api.logIn(server.base, 'ann')
  const paste = async text => {
    await own().getByLabel('Token').fill(text)
    await own().getByRole('button', { name: 'Use token' }).click()
  }
  await page.goto(`${server.base}/docs`)

  await paste('not a token')
  await own().getByRole('alert').getByText('jwt malformed').waitFor()
  await paste(token)
  await own().getByText('Logged in', { exact: true }).waitFor()

  const answer = await call('rooms-findRooms', { name: 'Engine room' })
  assert.deepEqual(JSON.parse(answer.text).total, 1)
})

test('markup stays text, below a path and with a strict policy', async () => {
  // An address may not make the page load something else.
  await page.goto(`${markup.base}/shop/api/docs?url=https://evil.example/a.json&configUrl=https://evil.example/b.json`)
  await operation('notes-findNotes').waitFor()

  const answer = await call('notes-findNotes')
  await call('notes-createNotes', {})
  await call('notes-removeNotes', { id: '1' })
  await page.locator('section.models button').first().click()

  assert.equal(answer.status, 200)
  assert.match(answer.text, /<script>document/)
  const text = await page.locator('#reference').innerText()
  for (const part of ['<u>shop</u>', '<script>document', '**bold** [link](javascript:alert(1))']) assert.ok(text.includes(part), part)
  const made = await page.locator('#reference').evaluate(place => place.querySelectorAll('img, script, u, a[href^="javascript"], a[href*="evil"]').length)
  assert.equal(made, 0)
  assert.notEqual(await page.locator('body').getAttribute('id'), 'bad')
  const expected = /\/notes$|\/notes\/1$|status of 400/
  assert.deepEqual(page.problems.filter(problem => !expected.test(problem)), [])
  assert.deepEqual(page.elsewhere, [])
})

for (const screen of [SCREENS[0], SCREENS[3]]) {
  const { colorScheme, viewport } = screen

  test(`axe finds nothing on the page, ${colorScheme}, ${viewport.width} px wide`, async () => {
    await page.context().close()
    page = await openWindow(browser, screen)
    const found = []
    const see = async view => found.push(...await audit(page, view))

    await page.goto(`${server.base}/docs`)
    await operation('rooms-findRooms').waitFor()
    await see('without a login')
    const colours = await page.locator('.opblock-summary-method').evaluateAll(all => all.map(each => getComputedStyle(each).backgroundColor))
    assert.equal(new Set(colours).size, 5)
    await logIn()
    await own().getByText('Logged in', { exact: true }).waitFor()
    await operation('rooms-findRooms').waitFor()
    await call('rooms-findRooms')
    await see('an answer')

    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.deepEqual([found, overflow > 0], [[], false])
  })
}
