// The official client sees who is there, and why its connection ends, on the page on
// presence.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { closeSockets, logIn, next, socketClient } from './clients.js'
import { startPage } from './documented.js'

let server

before(async () => { server = await startPage('presence.md') })

after(() => {
  closeSockets()
  return server.stop()
})

const enter = (client, room) => client.service('visits').create({ room })

const inRoom = async (client, room) => {
  const found = await client.service('presence').find({ query: { channel: `rooms/${room}`, $sort: { userId: 1 } } })
  return found.map(record => record.email)
}

const waitFor = async condition => {
  while (!await condition()) await delay(20)
}

test('users see each other come and leave', async () => {
  const [ann, ben] = [await logIn(socketClient(server.base), 'ann'), await logIn(socketClient(server.base), 'ben')]
  await enter(ann, 1)
  await waitFor(async () => (await inRoom(ann, 1)).length === 1)
  const comes = next(ann.service('presence'), 'created')
  await enter(ben, 1)

  const { since, ...record } = await comes
  assert.deepEqual(record, {
    id: `rooms/1:${ben.user.id}`, channel: 'rooms/1', userId: ben.user.id, email: ben.user.email
  })
  assert.ok(Math.abs(new Date(since) - Date.now()) < 60_000)
  assert.deepEqual(await inRoom(ben, 1), [ann.user.email, ben.user.email])

  const leaves = next(ann.service('presence'), 'removed')
  await ben.service('visits').remove(1)
  assert.deepEqual((await leaves).email, ben.user.email)
})

test('a page that is loaded again is not noticed', async () => {
  const [ann, ben] = [await logIn(socketClient(server.base), 'ann'), await logIn(socketClient(server.base), 'ben')]
  await Promise.all([enter(ann, 2), enter(ben, 2)])
  await waitFor(async () => (await inRoom(ann, 2)).length === 2)
  ann.service('presence').on('removed', () => assert.fail('seen to leave'))
  const gone = next(ben.io, 'disconnect')
  ben.io.disconnect()
  await gone
  ben.io.connect()
  await next(ben.io, 'connect')
  await ben.reAuthenticate(true)
  await enter(ben, 2)
  // Longer than the time after which the user would have left.
  await delay(7_000)

  assert.deepEqual(await inRoom(ann, 2), [ann.user.email, ben.user.email])
})

test('a user who is removed is told, disconnected, and does not come back', async () => {
  const ann = await logIn(socketClient(server.base), 'ann')
  const told = next(ann.io, 'disconnected')
  const reason = next(ann.io, 'disconnect')
  ann.service('users').remove(ann.user.id).catch(() => {})

  assert.deepEqual(await told, { message: 'This account is closed.' })
  assert.equal(await reason, 'io server disconnect')
  await delay(1_500)
  assert.equal(ann.io.connected, false)
})
