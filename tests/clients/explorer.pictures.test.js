// Makes the pictures of the explorer: PICTURES=docs node --test tests/clients/explorer.pictures.test.js
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Api, launch, openWindow, PASSWORD } from './browser.js'
import { start } from './server.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HEAVIEST = 200_000

const DESKTOP = { viewport: { width: 1280, height: 800 } }
const PHONE = { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true }

let folder
let pictures
let server
let browser

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'explorer-'))
  pictures = process.env.PICTURES ? resolve(ROOT, process.env.PICTURES) : folder
  const settings = {
    SECRET_KEY: randomBytes(32).toString('hex'),
    DATABASE_URL: `sqlite:///${join(folder, 'example.db')}`,
    FLASK_RECORDS_EXPLORER__enabled: 'true'
  }
  const command = ['-m', 'flask', '--app', 'wsgi', 'example-data', '--messages', '2000']
  const filling = spawn(process.env.PYTHON || 'python3', command, { cwd: ROOT, env: { ...process.env, ...settings }, stdio: 'ignore' })
  const [code] = await once(filling, 'exit')
  assert.equal(code, 0)
  server = await start(settings)
  const ada = await Api.register(server.base, 'ada')
  await ada.call('PATCH', `users/${ada.user.id}`, { name: 'Ada' })
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
  await rm(folder, { recursive: true })
})

async function openAs (options) {
  const page = await openWindow(browser, { locale: 'en-GB', timezoneId: 'Europe/London', ...options })
  await page.goto(`${server.base}/_records/#/login`)
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.locator('#caller').getByText('Ada').waitFor()
  return page
}

const open = (page, view) => page.goto(`${server.base}/_records/#/${view}`)

const SCREENS = {
  'explorer-light': { colorScheme: 'light', ...DESKTOP },
  'explorer-dark': { colorScheme: 'dark', ...DESKTOP },
  'explorer-phone-light': { colorScheme: 'light', ...PHONE },
  'explorer-phone-dark': { colorScheme: 'dark', ...PHONE }
}

for (const [name, options] of Object.entries(SCREENS)) {
  test(`${name}.png shows records`, async () => {
    const page = await openAs(options)
    await open(page, 'records/messages?read=false&archived=false&$sort[createdAt]=-1&$limit=10&$populate[0]=user&$populate[1]=room')
    await page.getByRole('row').nth(5).waitFor()
    const columns = page.getByRole('button', { name: 'Columns' })
    await columns.click()
    for (const column of ['roomId', 'userId', 'archived']) await page.getByRole('checkbox', { name: column, exact: true }).uncheck()
    await columns.click()
    await page.waitForLoadState('networkidle')
    await page.mouse.move(0, 0)
    const path = join(pictures, `${name}.png`)

    await page.screenshot({ path })

    const { size } = await stat(path)
    assert.ok(size < HEAVIEST, `${size} bytes`)
    assert.deepEqual(page.problems, [])
    await page.context().close()
  })
}
