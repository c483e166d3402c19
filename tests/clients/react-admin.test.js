// The data provider and the authentication provider of react-admin for Feathers. The
// package react-admin is its core here, which has the same names without the components.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { convertLegacyAuthProvider, convertLegacyDataProvider } from 'react-admin'
import providers from 'ra-data-feathers'
import { logIn, newLogin, random, restClient } from './clients.js'
import { start } from './server.js'

// The storage of a browser, which ra-data-feathers reads by itself.
class Storage extends Map {
  getItem (key) { return this.get(key) ?? null }
  setItem (key, value) { this.set(key, `${value}`) }
  removeItem (key) { this.delete(key) }
}

let server
let client
let room

before(async () => {
  server = await start()
  client = await logIn(restClient(server.base))
})

after(() => server.stop())

const dataProvider = (client, options) => convertLegacyDataProvider(providers.restClient(client, options))
const sort = { field: 'text', order: 'ASC' }
const pagination = { page: 1, perPage: 2 }
const texts = result => result.data.map(({ text }) => text)

async function messages (...texts) {
  room = await client.service('rooms').create({ name: random() })
  return client.service('messages').create(texts.map(text => ({ text, roomId: room.id })))
}

test('a list is filtered, sorted and paged', async () => {
  await messages('c', 'a', 'b', 'd')
  const list = (page, filter = {}) => dataProvider(client).getList('messages', {
    pagination: { ...pagination, page }, sort, filter: { roomId: room.id, ...filter }
  })

  const [first, second, filtered] = [
    await list(1), await list(2), await list(1, { text: { $in: ['b', 'd'] } })
  ]

  assert.deepEqual([first, second, filtered].map(texts), [['a', 'b'], ['c', 'd'], ['b', 'd']])
  assert.deepEqual([first, second, filtered].map(({ total }) => total), [4, 4, 2])
})

test('records are read by their identifiers and references', async () => {
  const [a, b, c] = await messages('a', 'b', 'c')
  const provider = dataProvider(client)

  const one = await provider.getOne('messages', { id: a.id })
  const many = await provider.getMany('messages', { ids: [b.id, c.id] })
  const none = await provider.getMany('messages', { ids: [] })
  const referring = await provider.getManyReference('messages', {
    target: 'roomId', id: room.id, pagination, sort, filter: {}
  })

  assert.deepEqual([one.data, many.data, none.data], [a, [b, c], []])
  assert.deepEqual([texts(referring), referring.total], [['a', 'b'], 3])
})

test('a record is created, saved as a whole and deleted', async () => {
  await messages()
  const provider = dataProvider(client)

  const created = await provider.create('messages', { data: { text: 'hi', roomId: room.id } })
  const { data: record } = await provider.getOne('messages', { id: created.data.id })
  const saved = await provider.update('messages', {
    id: record.id, data: { ...record, text: 'ho', read: true }, previousData: record
  })
  await provider.delete('messages', { id: record.id, previousData: saved.data })

  assert.deepEqual(saved.data, { ...created.data, text: 'ho', read: true })
  await assert.rejects(provider.getOne('messages', { id: record.id }), { code: 404 })
})

test('errors keep their problems by field, as forms show them', async () => {
  const provider = dataProvider(client)

  await assert.rejects(provider.create('messages', { data: { texts: 'hi' } }), {
    code: 400, errors: { text: 'is required', texts: 'is not a field' }
  })
})

test('people log in, come back and log out', async () => {
  const storage = globalThis.localStorage = new Storage()
  const login = newLogin()
  const visitor = restClient(server.base, storage)
  await visitor.service('users').create(login)
  const provider = convertLegacyAuthProvider(providers.authClient(visitor))
  const credentials = { username: login.email, password: login.password }

  await assert.rejects(provider.login({ ...credentials, password: 'wrong' }), { code: 401 })
  await assert.rejects(provider.checkAuth({}))
  await provider.login(credentials)
  await provider.checkAuth({})
  assert.deepEqual(await provider.getPermissions({}), [])
  await provider.logout({})

  await assert.rejects(provider.checkAuth({}))
  await assert.rejects(visitor.service('rooms').find(), { code: 401 })
})
