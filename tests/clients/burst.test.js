// Many calls at once with the official Socket.IO client, on each transport: none is lost.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import authentication, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import socketio from '@feathersjs/socketio-client'
import { io } from 'socket.io-client'
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
  server = await start()
})

after(async () => {
  sockets.forEach(socket => socket.close())
  await server.stop()
})

function connect (transports, options = {}) {
  const socket = io(server.base, { transports, forceNew: true, ...options })
  sockets.push(socket)
  return socket
}

const heard = (emitter, event) => new Promise(resolve => emitter.once(event, resolve))

function caller (socket) {
  const answers = []
  const call = number => new Promise(resolve => {
    socket.emit('get', 'messages', number, {}, (error, result) => resolve([number, error?.code ?? result.id]))
  })
  return {
    answers,
    burst () { for (let n = 0; n < COUNT; n++) answers.push(call(answers.length)) }
  }
}

for (const [name, transports] of Object.entries(TRANSPORTS)) {
  test(`calls before, while and after connecting over ${name}`, async () => {
    const socket = connect(transports)
    const { answers, burst } = caller(socket)

    burst()
    await heard(socket.io.engine, 'open')
    burst()
    await heard(socket, 'connect')
    burst()
    await answers[0]
    burst()

    const all = await Promise.all(answers)
    assert.deepEqual(all, Array.from({ length: 4 * COUNT }, (_, number) => [number, 401]))
  })
}

test('calls at each moment of the upgrade', async () => {
  const socket = connect(['polling', 'websocket'])
  const { answers, burst } = caller(socket)
  const { engine } = socket.io
  engine.on('upgrading', burst)
  engine.on('upgrade', burst)

  await Promise.all([heard(engine, 'upgrade'), heard(socket, 'connect')])

  await Promise.all(answers)
  assert.equal(engine.transport.name, 'websocket')
  assert.equal(answers.length, 2 * COUNT)
})

test('a bad token in the handshake is a connect_error', async () => {
  for (const transports of Object.values(TRANSPORTS)) {
    const socket = connect(transports, { extraHeaders: { Authorization: 'Bearer nonsense' } })

    const error = await heard(socket, 'connect_error')

    assert.equal(error.message, 'jwt malformed')
    assert.deepEqual([error.data.name, error.data.code], ['NotAuthenticated', 401])
    assert.equal(socket.active, false)
  }
})
