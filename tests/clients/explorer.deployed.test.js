// The explorer where it is deployed, and with the models of the documentation.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, launch, PASSWORD } from './browser.js'
import { Explorer, manyServices } from './explorer.js'
import { KEPT, start } from './server.js'

const SETTINGS = {
  FLASK_RECORDS_EXPLORER__enabled: 'true',
  FLASK_RECORDS_REALTIME__channel: `explorer-${process.pid}`,
  REDIS_URL: process.env.TEST_REDIS_URL,
  WEB_CONCURRENCY: '2'
}
// What is typed for fields that are required, by the word for their kind.
const VALUES = { text: 'a@b.c', integer: '1', number: '1', 'date and time': '2026-01-31T10:00', date: '2026-01-31', time: '10:00', JSON: '{}', list: '[]', base64: 'AAAA' }

let browser

before(async () => { browser = await launch() })
after(() => browser?.close())

// Logs in, and opens the rooms, of which there are none yet.
async function opensRooms (explorer) {
  const { page } = explorer
  await explorer.open('login')
  await page.getByLabel('Email').fill('ann@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await explorer.press('Log in')
  await page.locator('#state').getByText('Live', { exact: true }).waitFor()
  await explorer.open('records/rooms')
  await page.getByText('There are no records.').waitFor()
}

test('several workers with a broker serve it as one would, and their end is told', { skip: !process.env.TEST_REDIS_URL }, async () => {
  const server = await start(SETTINGS)
  let isStopped = false
  try {
    const ann = await Api.register(server.base, 'ann')
    const windows = await Promise.all([1, 2].map(() => Explorer.open(browser, server.base)))
    for (const explorer of windows) await opensRooms(explorer)

    // Each is a connection of its own, which either of the workers takes.
    for (const name of ['one', 'two', 'three', 'four']) await ann.room(name)

    for (const explorer of windows) {
      await explorer.shows([1, 2, 3, 4])
      await explorer.isSound()
    }
    isStopped = true
    await server.stop()
    await windows[0].page.getByRole('alert').filter({ hasText: /^(The connection has ended|The server could not be reached)/ }).waitFor()
  } finally {
    if (!isStopped) await server.stop()
  }
})

test('events come by the stream where sockets are blocked on the way, after an outage too', async () => {
  const server = await start({ FLASK_RECORDS_EXPLORER__enabled: 'true' })
  try {
    const ann = await Api.register(server.base, 'ann')
    const explorer = await Explorer.open(browser, server.base)
    const { page } = explorer
    await page.addInitScript(() => {
      const Socket = WebSocket
      window.WebSocket = function () { return new Socket('ws://127.0.0.1:9') }
    })
    await page.route(/socket\.io\/\?/, route => route.abort())
    await opensRooms(explorer)

    await ann.room('one')
    await explorer.shows([1])
    await server.restart()
    await page.locator('#state').getByText('Not connected', { exact: true }).waitFor()
    await page.locator('#state').getByText('Live', { exact: true }).waitFor()
    await ann.room('two')
    await explorer.shows([1, 2])
    await explorer.close()
  } finally {
    await server.stop()
  }
})

test('records of each model of the documentation are listed, created and changed', async () => {
  const server = await start({}, port => ['gunicorn', '--threads', '4', '--bind', `127.0.0.1:${port}`, '--log-level', 'warning', ...KEPT, 'tests.documented_apps:create_app()'])
  try {
    const pages = await (await fetch(`${server.base}/rooms`)).json()
    const refused = []
    for (const [name, paths] of Object.entries(pages)) {
      const explorer = await Explorer.open(browser, `${server.base}/${name}`)
      for (const path of paths) refused.push([name, path, await useService(explorer, path)])
      await explorer.isSound()
      await explorer.close()
    }
    assert.deepEqual(refused.filter(([,, error]) => error), [])
    assert.ok(refused.length > 10)
  } finally {
    await server.stop()
  }
})

test('many services are groups, which a search and the keyboard go through', async () => {
  const server = await start({}, manyServices)
  try {
    const explorer = await Explorer.open(browser, server.base)
    const { page } = explorer
    const [answer] = await Promise.all([page.waitForResponse(/services\.json/), explorer.go()])
    const { responseBodySize } = await answer.request().sizes()
    assert.ok(responseBodySize < 60_000, `${responseBodySize} bytes`)
    assert.equal(await page.locator('.service').count(), 0)

    await page.locator('body').press('/')
    await page.keyboard.type('STATUS-17')
    assert.equal(await page.locator('.service').count(), 11)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await explorer.title('group-3/status-170')
    await page.locator('#navigation').getByText('group-3/status-170').and(page.locator('[aria-current]')).waitFor()
    assert.equal(await page.locator('#navigation details[open]').count(), 1)
    await page.getByLabel('Search services').fill('no such')
    await page.getByText('No service has such a path.').waitFor()
    await explorer.isSound()
  } finally {
    await server.stop()
  }
})

// Lists the records of a service, creates one, and changes it. Returns the error of the server if it
// refuses that.
async function useService (explorer, path) {
  const { page } = explorer
  await explorer.open(`records/${encodeURIComponent(path)}`)
  await explorer.title(path)
  await page.locator('.records[aria-busy=false]').waitFor()
  await explorer.open(`create/${encodeURIComponent(path)}`)
  await explorer.title(`New record of ${path}`)
  for (const entry of await page.locator('.entry:visible:has([aria-required])').all()) {
    const word = (await entry.locator('.about span').first().innerText()).split(',')[0]
    await entry.locator('[aria-required]').fill(VALUES[word])
  }
  await explorer.press('Create')
  await page.locator('.details, .problem:visible').first().waitFor()
  if (await page.locator('.problem:visible').count()) return page.locator('.problem:visible').innerText()
  await explorer.press('Edit')
  await explorer.press('Save')
  await page.locator('.details').waitFor()
}
