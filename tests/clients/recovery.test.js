// Clients that lose their connection for a while, and get what they have missed.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import authentication, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import socketio from '@feathersjs/socketio-client'
import feathers4 from 'feathers-client-4'
import { io } from 'socket.io-client'
import io2 from 'socket.io-client-2'
import { newLogin } from './clients.js'
import { startNetwork } from './network.js'
import { start } from './server.js'

const TRANSPORTS = { polling: ['polling'], websocket: ['websocket'], upgrade: ['polling', 'websocket'] }
const LOG = { seconds: 120, events: 20 }
let server
const closers = []

before(async () => {
  server = await start({
    FLASK_RECORDS_REALTIME__event_log: JSON.stringify(LOG),
    FLASK_RECORDS_REALTIME__legacy_clients: 'true'
  })
})

after(async () => {
  closers.forEach(close => close())
  await server.stop()
})

const connected = socket => socket.connected || new Promise(resolve => socket.once('connect', resolve))

// A client behind a network of its own, with the texts of the messages that it hears of.
async function follower (transports) {
  const network = await startNetwork(server.base)
  const socket = io(network.base, { transports, forceNew: true, reconnectionDelay: 20, reconnectionDelayMax: 50 })
  const client = feathers().configure(socketio(socket)).configure(authentication({ storage: new MemoryStorage() }))
  closers.push(() => { socket.close(); network.stop() })
  const texts = []
  client.service('messages').on('created', message => texts.push(message.text))
  return { client, network, socket, texts }
}

async function loggedIn (transports) {
  const self = await follower(transports)
  const login = newLogin()
  self.user = await self.client.service('users').create(login)
  await self.client.authenticate({ strategy: 'local', ...login })
  return self
}

async function cut ({ network, socket }, meanwhile) {
  const left = new Promise(resolve => socket.once('disconnect', resolve))
  network.cut()
  await left
  await meanwhile()
  const back = new Promise(resolve => socket.once('connect', resolve))
  network.mend()
  await back
}

async function arrived ({ texts }, expected) {
  for (let tries = 0; tries < 400 && texts.length < expected.length; tries++) await delay(50)
  await delay(100)
  assert.deepEqual(texts, expected)
}

const write = async ({ client }, ...texts) => {
  for (const text of texts) await client.service('messages').create({ text })
}

for (const [name, transports] of Object.entries(TRANSPORTS)) {
  test(`a client gets what it missed, over ${name}`, async () => {
    const [ann, ben] = [await loggedIn(transports), await loggedIn(['websocket'])]
    assert.equal(ann.socket.recovered, false)
    await write(ben, 'one')
    await arrived(ann, ['one'])

    await cut(ann, () => write(ben, 'two', 'three'))
    assert.equal(ann.socket.recovered, true)
    await write(ben, 'four')

    await arrived(ann, ['one', 'two', 'three', 'four'])
    await arrived(ben, ['one', 'two', 'three', 'four'])
  })
}

test('a client of FeathersJS 4 gets events as before', async () => {
  const ben = await loggedIn(['websocket'])
  const socket = io2(server.base, { transports: ['websocket'], forceNew: true })
  closers.push(() => socket.close())
  const client = feathers4().configure(feathers4.socketio(socket)).configure(feathers4.authentication())
  const login = newLogin()
  await client.service('users').create(login)
  await client.authenticate({ strategy: 'local', ...login })
  const heard = new Promise(resolve => client.service('messages').on('created', resolve))

  await write(ben, 'one')

  assert.equal((await heard).text, 'one')
})

test('a client that missed too much loads anew', async () => {
  const [ann, ben] = [await loggedIn(['websocket']), await loggedIn(['websocket'])]
  const many = Array.from({ length: LOG.events + 5 }, (_, number) => `${number}`)

  await cut(ann, () => write(ben, ...many))

  assert.equal(ann.socket.recovered, false)
  await ann.client.reAuthenticate(true)
  await write(ben, 'later')
  await arrived(ann, ['later'])
})

test('a client that does not log in again gets nothing of its login', async () => {
  const [ann, ben] = [await follower(['websocket']), await loggedIn(['websocket'])]
  const login = newLogin()
  await ann.client.service('users').create(login)
  await ann.client.service('authentication').create({ strategy: 'local', ...login })
  await write(ben, 'one')
  await arrived(ann, ['one'])

  await cut(ann, () => write(ben, 'secret'))

  assert.equal(ann.socket.recovered, true)
  // By then it is taken for a client without a login.
  await delay(7000)
  await arrived(ann, ['one'])
})
