// The application that `python -m flask_records new` writes, in a browser.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { launch, openTab, openWindow, PASSWORD } from './browser.js'
import { answers, freePort, logged } from './server.js'

const python = process.env.PYTHON || 'python3'

let folder
let server
let browser
let base
let log = ''

function run (cwd, ...args) {
  const done = spawnSync(python, args, { cwd, env: environment(), encoding: 'utf8' })
  assert.equal(done.status, 0, done.stderr)
}

// The package is that of this folder, and mails are printed.
const environment = () => ({
  ...process.env,
  PYTHONPATH: fileURLToPath(new URL('../..', import.meta.url)),
  XDG_RUNTIME_DIR: folder,
  FLASK_DEBUG: '1'
})

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-'))
  const cwd = join(folder, 'shop')
  run(folder, '-m', 'flask_records', 'new', 'shop', '--yes')
  run(cwd, '-m', 'flask', '--app', 'wsgi', 'db', 'upgrade')
  const port = await freePort()
  base = `http://127.0.0.1:${port}`
  const command = ['-m', 'gunicorn', '-k', 'asgi', '--bind', `127.0.0.1:${port}`, 'wsgi:asgi']
  server = spawn(python, command, { cwd, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding('utf8').on('data', text => { log += text })
  }
  await answers(`${base}/`, server)
  browser = await launch()
})

after(async () => {
  await browser?.close()
  server.kill()
  await once(server, 'exit')
  await rm(folder, { recursive: true })
})

async function enter (page, name, button, password = PASSWORD) {
  await page.goto(base)
  await page.getByLabel('Email').fill(`${name}@example.com`)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.getByRole('button', { name: 'Log out' }).waitFor()
}

async function add (page, title) {
  await page.getByLabel('A new task').fill(title)
  await page.getByRole('button', { name: 'Add' }).click()
}

const tokenOf = (name, kind) =>
  logged({ log: () => log }, new RegExp(`Mail to ${name}@example.com: ${kind} (\\S+)`))

test('the windows of a user show what the other one writes, and those of others do not', async () => {
  const [first, second, other] = [await openWindow(browser), await openWindow(browser), await openWindow(browser)]
  await enter(first, 'ann', 'Register')
  await enter(second, 'ann', 'Log in')
  await enter(other, 'bob', 'Register')

  await add(first, 'Write')
  await second.getByRole('listitem').filter({ hasText: 'Write' }).waitFor()
  await second.getByRole('checkbox').check()
  await first.locator('input:checked').waitFor()

  assert.equal(await other.getByRole('listitem').count(), 0)
  await first.reload()
  await first.locator('input:checked').waitFor()
  assert.deepEqual([first, second, other].flatMap(page => [...page.problems, ...page.elsewhere]), [])
})

test('a wrong password is told', async () => {
  const page = await openWindow(browser)
  await enter(page, 'cleo', 'Register')
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Email').fill('cleo@example.com')
  await page.getByLabel('Password').fill('another password')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()

  await page.getByText('Invalid login').waitFor()
})

test('mails confirm an address, and set a forgotten password', async () => {
  const page = await openWindow(browser)
  await enter(page, 'dora', 'Register')
  const confirming = await openTab(page.context())
  await confirming.goto(`${base}/#verify=${await tokenOf('dora', 'verify')}`)
  await confirming.getByText('Your address is confirmed.').waitFor()
  const user = () => confirming.evaluate(() => fetch('/users', {
    headers: { Authorization: localStorage.getItem('feathers-jwt') }
  }).then(answer => answer.json()))
  assert.equal((await user()).data[0].isVerified, true)
  await confirming.getByRole('button', { name: 'Log out' }).click()

  await confirming.getByLabel('Email').fill('dora@example.com')
  await confirming.getByRole('button', { name: 'Forgotten password' }).click()
  await confirming.getByText('Look into your mails.').waitFor()
  const resetting = await openWindow(browser)
  resetting.on('dialog', dialog => dialog.accept('a new password'))
  await resetting.goto(`${base}/#reset=${await tokenOf('dora', 'reset')}`)
  await resetting.getByText('Log in with your new password.').waitFor()
  await enter(resetting, 'dora', 'Log in', 'a new password')
})
