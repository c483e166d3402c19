// The official REST client, used as an application uses it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MemoryStorage } from '@feathersjs/authentication-client'
import { logIn, random, restClient } from './clients.js'
import { start } from './server.js'

let server
let client

before(async () => {
  server = await start()
  client = await logIn(newClient())
})

after(() => server.stop())

const unique = prefix => `${prefix} ${random()}`
const refused = (promise, expected) => assert.rejects(promise, error => {
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(error[name], value)
  return true
})

const newClient = storage => restClient(server.base, storage)

test('a record is created, read, patched, replaced and removed', async () => {
  const rooms = client.service('rooms')
  const messages = client.service('messages')
  const room = await rooms.create({ name: unique('room') })

  const created = await messages.create({ text: 'hi', roomId: room.id })
  const patched = await messages.patch(created.id, { read: true })
  const updated = await messages.update(created.id, { text: 'ho' })
  const removed = await messages.remove(created.id)

  assert.deepEqual(
    [created, patched, updated, removed].map(({ text, read, roomId }) => [text, read, roomId]),
    [['hi', false, room.id], ['hi', true, room.id], ['ho', false, null], ['ho', false, null]]
  )
  await refused(messages.get(created.id), { name: 'NotFound', code: 404 })
})

test('a query filters, sorts, selects and pages', async () => {
  const room = await client.service('rooms').create({ name: unique('room') })
  await client.service('messages').create(
    ['a', 'b', 'c', 'd'].map(text => ({ text, roomId: room.id, archived: text > 'b' }))
  )

  const page = await client.service('messages').find({
    query: {
      roomId: room.id,
      $or: [{ text: { $in: ['a', 'b'] } }, { archived: true }],
      text: { $ne: 'd' },
      $sort: { text: -1 },
      $select: ['text'],
      $limit: 2
    }
  })

  assert.deepEqual([page.total, page.limit, page.skip], [3, 2, 0])
  assert.deepEqual(page.data.map(({ id, ...fields }) => fields), [{ text: 'c' }, { text: 'b' }])
})

test('a list of more than 20 values is a list', async () => {
  const room = await client.service('rooms').create({ name: unique('room') })
  const created = await client.service('messages').create(
    Array.from({ length: 30 }, (_, index) => ({ text: `text ${index}`, roomId: room.id }))
  )

  const page = await client.service('messages').find({
    query: { id: { $in: created.map(({ id }) => id) }, $limit: 50 }
  })

  assert.equal(page.total, 30)
})

test('many records are patched and removed by a query', async () => {
  const room = await client.service('rooms').create({ name: unique('room') })
  const messages = client.service('messages')
  await messages.create([{ text: 'a', roomId: room.id }, { text: 'b', roomId: room.id }])
  const query = { roomId: room.id }

  const patched = await messages.patch(null, { archived: true }, { query })
  const removed = await messages.remove(null, { query })

  assert.deepEqual(patched.map(({ archived }) => archived), [true, true])
  assert.deepEqual(removed.map(({ text }) => text), ['a', 'b'])
})

// A query string has no empty lists.
test('an empty list of identifiers removes nothing', async () => {
  const { id } = await client.service('messages').create({ text: 'stays' })

  await refused(client.service('messages').remove(null, { query: { id: { $in: [] } } }), { code: 400 })

  assert.equal((await client.service('messages').get(id)).text, 'stays')
})

test('errors arrive as their classes', async () => {
  const tests = [
    [() => client.service('messages').find({ query: { $foo: 1 } }), { name: 'BadRequest', message: 'Invalid query parameter $foo', data: { $foo: '1' } }],
    [() => client.service('messages').create({ nope: 1 }), { name: 'BadRequest', errors: { nope: 'is not a field', text: 'is required' } }],
    [() => client.service('rooms').remove(null), { name: 'MethodNotAllowed', message: 'Can not remove multiple entries' }],
    [() => client.service('nope').find(), { name: 'NotFound', message: 'Page not found' }]
  ]

  for (const [call, expected] of tests) await refused(call(), expected)
})

test('a stored token logs in again, until it is logged out', async () => {
  const storage = new MemoryStorage()
  const first = await logIn(newClient(storage))
  const second = newClient(storage)

  const result = await second.reAuthenticate()
  await first.logout()

  assert.deepEqual([result.authentication.strategy, result.user], ['jwt', first.user])
  await refused(second.service('rooms').find(), {
    name: 'NotAuthenticated', code: 401, message: 'jwt revoked'
  })
})

test('nobody changes what belongs to somebody else', async () => {
  const stranger = await logIn(newClient())
  const message = await client.service('messages').create({ text: 'mine' })

  await refused(stranger.service('messages').patch(message.id, { text: 'yours' }), { code: 404 })
  await refused(stranger.service('users').patch(client.user.id, { name: 'x' }), { code: 404 })

  assert.deepEqual(await client.service('messages').get(message.id), message)
})

for (const library of ['axios', 'superagent']) {
  test(`${library} makes the same calls`, async () => {
    const other = await logIn(restClient(server.base, undefined, library))
    const messages = other.service('messages')

    const created = await messages.create([{ text: 'a' }, { text: 'b' }])
    const query = { id: { $in: created.map(({ id }) => id) }, $or: [{ text: 'b' }, { read: true }] }
    const { data } = await messages.find({ query })
    const removed = await messages.remove(null, { query })

    assert.deepEqual([data, removed], [[created[1]], [created[1]]])
    await refused(messages.get(created[1].id), { name: 'NotFound', code: 404 })
  })
}
