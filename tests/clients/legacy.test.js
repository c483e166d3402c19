// The official packages of FeathersJS 4 with socket.io-client 2, on each transport.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import authentication, { MemoryStorage } from 'authentication-client-4'
import feathers from 'feathers-4'
import whole from 'feathers-client-4'
import socketio from 'socketio-client-4'
import io from 'socket.io-client-2'
import { io as io4 } from 'socket.io-client'
import { start } from './server.js'

const TRANSPORTS = {
  polling: ['polling'],
  websocket: ['websocket'],
  'the upgrade between them': ['polling', 'websocket']
}
const COUNT = 1000

let server
const sockets = []

before(async () => {
  server = await start({ FLASK_RECORDS_REALTIME__legacy_clients: 'true' })
})

after(async () => {
  sockets.forEach(socket => socket.close())
  await server.stop()
})

function connect (transports, options = {}) {
  const socket = io(server.base, { transports, forceNew: true, reconnectionDelay: 50, ...options })
  sockets.push(socket)
  return socket
}

function newClient (transports) {
  const socket = connect(transports)
  const client = feathers()
    .configure(socketio(socket, { timeout: 60_000 }))
    .configure(authentication({ storage: new MemoryStorage() }))
  return { client, socket }
}

const login = name => ({
  strategy: 'local', email: `${name}${Math.random().toString(36).slice(2)}@example.com`, password: 'a secret'
})

const heard = (emitter, event) => new Promise(resolve => emitter.once(event, resolve))

for (const [name, transports] of Object.entries(TRANSPORTS)) {
  test(`a client of version 4 over ${name}`, async () => {
    const { client, socket } = newClient(transports)
    const { strategy, ...user } = login('ann')
    const { id } = await client.service('users').create(user)
    const created = await client.authenticate({ strategy, ...user })
    const messages = client.service('messages')

    const event = heard(messages, 'created')
    const message = await messages.create({ text: 'Hello €😀' })
    const page = await messages.find({ query: { $limit: 1, $sort: { id: -1 } } })

    assert.equal(created.user.id, id)
    assert.deepEqual(await event, message)
    assert.equal(page.data[0].text, 'Hello €😀')
    await assert.rejects(messages.get(-1), { name: 'NotFound', code: 404 })

    const gone = heard(socket, 'disconnect')
    socket.io.engine.close()
    await gone
    await heard(socket, 'connect')
    const again = await messages.get(message.id)

    assert.deepEqual(again, message)
    await client.logout()
    await assert.rejects(messages.find(), { code: 401 })
  })

  test(`all of many calls of a client of version 4 over ${name}`, async () => {
    const socket = connect(transports)
    const answers = []
    const call = () => new Promise(resolve => {
      socket.emit('find', 'messages', { text: '€😀' }, (error, result) => resolve(error || result))
    })
    const burst = () => { for (let n = 0; n < COUNT; n++) answers.push(call()) }

    burst()
    await heard(socket, 'connect')
    burst()
    await answers[0]
    burst()

    const all = await Promise.all(answers)
    assert.equal(all.length, 3 * COUNT)
    assert.deepEqual(new Set(all.map(error => error.code)), new Set([401]))
  })

  test(`a bad token of version 4 over ${name}`, async () => {
    const extraHeaders = { Authorization: 'Bearer nonsense' }
    const socket = connect(transports, { extraHeaders, reconnection: false })

    const error = await heard(socket, 'error')

    assert.equal(error.message, 'jwt malformed')
    assert.equal(socket.connected, false)
  })
}

test('the whole package of version 4', async () => {
  const socket = connect(['polling', 'websocket'])
  const client = whole()
    .configure(whole.socketio(socket))
    .configure(whole.authentication({ storage: new MemoryStorage() }))
  const { strategy, ...user } = login('cy')
  await client.service('users').create(user)

  await client.authenticate({ strategy, ...user })

  assert.equal((await client.service('messages').find()).limit > 0, true)
})

test('clients of both versions get the events of each other', async () => {
  const { client } = newClient(['polling', 'websocket'])
  const { strategy, ...user } = login('ben')
  await client.service('users').create(user)
  const { accessToken } = await client.authenticate({ strategy, ...user })
  const modern = io4(server.base, { forceNew: true, extraHeaders: { Authorization: `Bearer ${accessToken}` } })
  sockets.push(modern)
  await heard(modern, 'connect')

  const [seen, old] = [heard(modern, 'messages created'), heard(client.service('messages'), 'created')]
  const message = await client.service('messages').create({ text: 'hi' })

  assert.deepEqual([await seen, await old], [message, message])
})
