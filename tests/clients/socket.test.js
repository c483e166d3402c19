// The official Socket.IO client, used as an application uses it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { closeSockets, logIn, next, socketClient } from './clients.js'
import { startNetwork } from './network.js'
import { start } from './server.js'

let server

before(async () => { server = await start() })

after(() => {
  closeSockets()
  return server.stop()
})

const settled = () => new Promise(resolve => setTimeout(resolve, 300))

function collect (service) {
  const seen = []
  for (const event of ['created', 'patched', 'removed']) {
    service.on(event, record => seen.push([event, record.id ?? record.text]))
  }
  return seen
}

for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
  describe(`sockets over ${transports.join(' and ')}`, () => {
    const newClient = options => socketClient(server.base, { transports, ...options })
    const loggedIn = name => logIn(newClient(), name)

    test('a record that one writes reaches the other', async () => {
      const [ann, ben] = [await loggedIn('ann'), await loggedIn('ben')]
      const seen = next(ben.service('messages'), 'created')

      const message = await ann.service('messages').create({ text: 'hi' })

      assert.deepEqual(await seen, message)
      assert.equal(message.userId, ann.user.id)
    })

    test('who is not logged in gets nothing', async () => {
      const [ann, stranger] = [await loggedIn('ann'), newClient()]
      const seen = collect(stranger.service('messages'))
      await assert.rejects(stranger.service('messages').find(), { code: 401 })

      await ann.service('messages').create({ text: 'hi' })

      await settled()
      assert.deepEqual(seen, [])
    })

    test('who logs out gets nothing any more', async () => {
      const [ann, ben] = [await loggedIn('ann'), await loggedIn('ben')]
      const seen = collect(ben.service('messages'))
      await ben.logout()

      await ann.service('messages').create({ text: 'gone' })

      await settled()
      assert.deepEqual(seen, [])
      await assert.rejects(ben.service('messages').find(), { code: 401 })
    })
  })
}

test('calls go on while a WebSocket that is slower than polling replaces it', async t => {
  const network = await startNetwork(server.base, { delay: 100 })
  t.after(() => network.stop())
  const client = socketClient(network.base, { transports: ['polling', 'websocket'], ackTimeout: 5000 })
  const { engine } = client.io.io
  const upgraded = new Promise(resolve => engine.once('upgrade', resolve))

  await new Promise(resolve => engine.once('upgrading', resolve))
  await client.io.emitWithAck('find', 'rooms', {})
  await upgraded
  await client.io.emitWithAck('find', 'rooms', {})

  assert.equal(engine.transport.name, 'websocket')
})
