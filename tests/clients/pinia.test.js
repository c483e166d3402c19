// feathers-pinia: the records of services in the stores of a Vue application.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPiniaClient, useAuth } from 'feathers-pinia'
import { createPinia } from 'pinia'
import { computed, effectScope, watch } from 'vue'
import { closeSockets, logIn, newLogin, random, restClient, socketClient } from './clients.js'
import { start } from './server.js'

let server

before(async () => { server = await start() })

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

for (const [transport, newClient] of [['REST', restClient], ['sockets', socketClient]]) {
  describe(`feathers-pinia over ${transport}`, () => {
    let client
    let stores
    let room

    before(async () => {
      client = await logIn(newClient(server.base))
      stores = withStores(client, { services: { messages: { setupInstance: withDates } } })
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

    test('a record is saved as it was read', async () => {
      const [{ id }] = await messages('hi')
      const stored = await client.service('messages').get(id)
      const message = await stores.service('messages').get(id, { query: { $populate: ['room', 'user'] } })
      assert.deepEqual([message.room.id, message.user.id], [room.id, client.user.id])
      assert.ok(message.createdAt instanceof Date)

      message.text = 'ho'
      await message.save()

      assert.deepEqual(await client.service('messages').get(id), { ...stored, text: 'ho' })
    })

    test('an error takes a change back', async () => {
      const [created] = await messages('hi')
      const message = await stores.service('messages').get(created.id)
      const clone = message.clone()
      clone.text = null

      await assert.rejects(clone.save(), { code: 400, errors: { text: 'is required' } })

      assert.equal(stores.service('messages').getFromStore(created.id).value.text, 'hi')
    })

    test('many records are patched and removed', async () => {
      await messages('a', 'b')
      const service = stores.service('messages')
      const query = { roomId: room.id }

      const patched = await service.patch(null, { read: true }, { query })
      const removed = await service.remove(null, { query })

      assert.deepEqual(patched.map(({ read }) => read), [true, true])
      assert.deepEqual(removed.map(({ text }) => text), ['a', 'b'])
      assert.deepEqual(service.findInStore({ query }).data, [])
    })

    test('a login is kept and ended', async () => {
      const visitor = newClient(server.base)
      const login = newLogin()
      await visitor.service('users').create(login)
      const api = withStores(visitor)
      const scope = effectScope()
      const auth = scope.run(() => useAuth({ api, servicePath: 'users' }))

      await auth.authenticate({ strategy: 'local', ...login })
      assert.deepEqual([auth.user.value.email, auth.isAuthenticated.value], [login.email, true])
      await auth.logout()

      assert.equal(auth.isAuthenticated.value, false)
      await assert.rejects(api.service('rooms').find(), { code: 401 })
      scope.stop()
    })
  })
}

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
