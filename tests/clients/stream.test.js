// The chat on the client of version 6, whose events come over plain HTTP, in two windows.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { Api, launch, openWindow, PASSWORD } from './browser.js'
import { start } from './server.js'

const PACKAGE = dirname(dirname(createRequire(import.meta.url).resolve('feathers-6')))
const CDN = /^https:\/\/cdn\.jsdelivr\.net\/npm\/feathers@[^/]+\//

let server
let browser

before(async () => {
  server = await start()
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

// A window with the page, whose modules come from the package as the network has it.
async function enter (name) {
  const page = await openWindow(browser)
  await page.context().route(CDN, async route => {
    const file = join(PACKAGE, route.request().url().replace(CDN, ''))
    const headers = { 'Access-Control-Allow-Origin': '*' }
    await route.fulfill({ body: await readFile(file), contentType: 'text/javascript', headers })
  })
  await Api.register(server.base, name)
  await page.goto(`${server.base}/stream`)
  await page.getByLabel('Email').fill(`${name}@example.com`)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Connected').waitFor()
  return page
}

async function write (page, text) {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

const texts = page => page.locator('#messages li').allInnerTexts()

test('two windows see what the other writes, through a restart of the server', async () => {
  const ann = await enter('ann')
  const ben = await enter('ben')

  await write(ann, 'Hello Ben')
  await ben.getByText('Hello Ben').waitFor()
  await write(ben, 'Hello Ann')
  await ann.getByText('Hello Ann').waitFor()

  await server.restart()
  const api = await Api.register(server.base, 'cleo')
  await api.call('POST', 'messages', { text: 'While you were away' })
  await ann.getByText('Connected').waitFor()
  await ann.getByText('While you were away').waitFor()
  await ben.getByText('While you were away').waitFor()
  await write(ann, 'Here again')
  await ben.getByText('Here again').waitFor()

  for (const page of [ann, ben]) {
    assert.deepEqual(await texts(page), ['Hello Ben', 'Hello Ann', 'While you were away', 'Here again'])
    // The attempts while the server is away.
    assert.deepEqual(page.problems.filter(problem => !/ERR_|Failed to load|^503 .*sse/.test(problem)), [])
  }
})
