// The official Socket.IO client, used as an application uses it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import authentication, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import socketio from '@feathersjs/socketio-client'
import { io } from 'socket.io-client'
import { start } from './server.js'

let server
const sockets = []

before(async () => { server = await start() })

after(async () => {
  sockets.forEach(socket => socket.close())
  await server.stop()
})

function newClient () {
  const socket = io(server.base, { transports: ['websocket'], forceNew: true })
  sockets.push(socket)
  return feathers()
    .configure(socketio(socket))
    .configure(authentication({ storage: new MemoryStorage() }))
}

async function loggedIn (name) {
  const client = newClient()
  const login = { email: `${name}${Math.random().toString(36).slice(2)}@example.com`, password: 'a secret' }
  client.user = await client.service('users').create(login)
  await client.authenticate({ strategy: 'local', ...login })
  return client
}

const next = (service, event) => new Promise(resolve => service.once(event, resolve))

const settled = () => new Promise(resolve => setTimeout(resolve, 300))

function collect (service) {
  const seen = []
  for (const event of ['created', 'patched', 'removed']) {
    service.on(event, record => seen.push([event, record.id ?? record.text]))
  }
  return seen
}

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

test('a private room is for its members', async () => {
  const [ann, ben, cy] = [await loggedIn('ann'), await loggedIn('ben'), await loggedIn('cy')]
  const seen = { ben: collect(ben.service('messages')), cy: collect(cy.service('messages')) }
  const room = await ann.service('rooms').create({ name: `Private ${ann.user.id}`, private: true })
  await ann.service('members').create({ roomId: room.id, userId: ben.user.id })
  const message = await ann.service('messages').create({ text: 'psst', roomId: room.id })
  await ann.service('messages').remove(message.id)

  await settled()
  assert.deepEqual(seen, { ben: [['created', message.id], ['removed', message.id]], cy: [] })
  await assert.rejects(cy.service('rooms').get(room.id), { code: 404 })
  await assert.rejects(cy.service('messages').create({ text: 'me too', roomId: room.id }), { code: 409 })
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
