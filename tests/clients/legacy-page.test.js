// Pages of FeathersJS 4 in a browser, which load the client from the server.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { launch } from './browser.js'
import { start } from './server.js'

const require = createRequire(import.meta.url)
const FEATHERS = require.resolve('feathers-client-4/dist/feathers.js')
const CLIENT = require.resolve('socket.io-client-2/dist/socket.io.js')
const LEGACY = { FLASK_RECORDS_REALTIME__legacy_clients: 'true' }
const SERVED = { url: '/socket.io/socket.io.js' }
const WORDS = 'This server is for socket.io-client 3 and 4.'

let browser
const servers = []

before(async () => { browser = await launch() })

after(async () => {
  await browser?.close()
  await Promise.all(servers.map(server => server.stop()))
})

// A page of a server, with scripts of its own, and the lines of its console.
async function open (settings, scripts) {
  const server = await start(settings)
  servers.push(server)
  const page = await browser.newPage({ bypassCSP: true })
  await page.route('**/favicon.ico', route => route.fulfill({ status: 204 }))
  await page.goto(`${server.base}/socket.io/socket.io.min.js`)
  const lines = []
  page.on('console', message => lines.push(message.text()))
  page.on('pageerror', error => lines.push(error.message))
  for (const script of scripts) await page.addScriptTag(script)
  return { page, lines, server }
}

test('the page of the chat of version 4 runs as it is', async () => {
  const { page, lines } = await open(LEGACY, [{ path: FEATHERS }, SERVED])

  const [sent, seen] = await page.evaluate(async () => {
    const client = feathers().configure(feathers.socketio(io())).configure(feathers.authentication())
    const user = { email: 'ann@example.com', password: 'a secret' }
    await client.service('users').create(user)
    await client.authenticate({ strategy: 'local', ...user })
    const seen = new Promise(resolve => client.service('messages').once('created', resolve))
    const sent = await client.service('messages').create({ text: 'Hello' })
    return [sent.text, (await seen).text]
  })

  assert.deepEqual([sent, seen], ['Hello', 'Hello'])
  assert.deepEqual(lines, [])
})

test('a client of version 2 is refused, and the log tells why', async () => {
  const { page, server } = await open({}, [{ path: CLIENT }])

  const description = await page.evaluate(() => new Promise(resolve => {
    io({ reconnection: false }).on('connect_error', error => resolve(error.description))
  }))

  assert.equal(description, 400)
  assert.ok(server.log().includes(WORDS), server.log())
})

test('the page of the chat of version 5 runs as it is, whatever the setting', async () => {
  const script = await readFile(new URL('../../flask_records/http/static/feathers.min.js', import.meta.url), 'utf8')

  for (const settings of [LEGACY, {}]) {
    const { page, lines } = await open(settings, [{ content: script }, SERVED])

    const text = await page.evaluate(async () => {
      const client = feathers().configure(feathers.socketio(io())).configure(feathers.authentication())
      const user = { email: 'ann@example.com', password: 'a secret' }
      await client.service('users').create(user)
      await client.authenticate({ strategy: 'local', ...user })
      return (await client.service('messages').create({ text: 'Hello' })).text
    })

    assert.equal(text, 'Hello')
    assert.deepEqual(lines, [])
  }
})
