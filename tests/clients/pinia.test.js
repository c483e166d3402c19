// feathers-pinia: the records of services in the stores of a Vue application.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPiniaClient } from 'feathers-pinia'
import { createPinia } from 'pinia'
import { computed, effectScope, watch } from 'vue'
import { closeSockets, logIn, random, restClient, socketClient } from './clients.js'
import { start } from './server.js'

let server
let client
let stores
let room

before(async () => {
  server = await start()
  client = await logIn(socketClient(server.base))
  stores = withStores(client, { services: { messages: { setupInstance: withDates } } })
})

after(() => {
  closeSockets()
  return server.stop()
})

const withStores = (client, options) => createPiniaClient(client, {
  pinia: createPinia(), idField: 'id', paramsForServer: ['$populate'], ...options
})

// Dates of front ends have no microseconds.
const withDates = data => {
  if (data.createdAt) data.createdAt = new Date(data.createdAt)
  return data
}

const until = condition => new Promise(resolve => {
  const stop = watch(condition, value => {
    if (!value) return
    resolve(value)
    queueMicrotask(() => stop())
  }, { immediate: true, flush: 'sync' })
})

async function messages (...texts) {
  room = await client.service('rooms').create({ name: random() })
  return client.service('messages').create(texts.map(text => ({ text, roomId: room.id })))
}

test('records are found, and are in the store', async () => {
  const [a, b] = await messages('a', 'b', 'c')
  const service = stores.service('messages')
  const query = { roomId: room.id, $sort: { text: 1 } }

  const page = await service.find({ query: { ...query, $limit: 2 } })
  const one = await service.findOne({ query: { ...query, $skip: 2 } })
  const count = await service.count({ query })
  const got = await service.get(a.id)

  assert.deepEqual([page.total, page.data.map(({ id }) => id), one.text], [3, [a.id, b.id], 'c'])
  assert.deepEqual([count.total, count.data], [3, []])
  assert.equal(got, service.getFromStore(a.id).value)
})

test('a new record is saved, changed in a clone and removed', async () => {
  await messages()
  const service = stores.service('messages')
  const message = service.new({ text: 'hi', roomId: room.id })

  await message.createInStore().save()
  const clone = message.clone()
  clone.text = 'ho'
  await clone.save()
  const stored = await client.service('messages').get(message.id)
  await service.getFromStore(message.id).value.remove()

  assert.deepEqual([stored.text, stored.roomId], ['ho', room.id])
  assert.equal(service.getFromStore(message.id).value, null)
  await assert.rejects(client.service('messages').get(message.id), { code: 404 })
})

test('an error takes a change back', async () => {
  const [created] = await messages('hi')
  const message = await stores.service('messages').get(created.id)
  const clone = message.clone()
  clone.text = null

  await assert.rejects(clone.save(), { code: 400, errors: { text: "can't be null" } })

  assert.equal(stores.service('messages').getFromStore(created.id).value.text, 'hi')
})

test('writes of others change the store', async () => {
  const [ann, ben] = [await logIn(socketClient(server.base)), await logIn(restClient(server.base))]
  const room = await ben.service('rooms').create({ name: random() })
  const service = withStores(ann).service('messages')
  const scope = effectScope()
  const query = { roomId: room.id, $sort: { text: 1 } }
  const found = scope.run(() => service.useFind(computed(() => ({ query })), { paginateOn: 'hybrid' }))
  const shown = text => until(() => found.data.map(message => message.text).join() === text)
  // An answer that is late would bring back what an event has changed.
  await until(() => found.haveLoaded)

  const [a] = await ben.service('messages').create(['a', 'b'].map(text => ({ text, roomId: room.id })))
  await shown('a,b')
  await ben.service('messages').patch(a.id, { text: 'c' })
  await shown('b,c')
  await ben.service('messages').remove(null, { query: { roomId: room.id } })
  await shown('')

  scope.stop()
})
