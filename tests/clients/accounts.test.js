// The official client stays logged in by the code of docs/accounts.md. Access tokens are
// valid for four seconds here.
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { after, before, test } from 'node:test'
import { MemoryStorage } from '@feathersjs/authentication-client'
import makeManagement from 'feathers-authentication-management/dist/client.js'
import { LocalStorage, startAccounts } from './accounts.js'
import { closeSockets, logIn, newLogin, restClient, socketClient } from './clients.js'

let server
const clients = []

before(async () => { server = await startAccounts() })

after(async () => {
  // Their timers would go on.
  await Promise.all(clients.map(client => client.emit('logout')))
  closeSockets()
  await server.stop()
})

function staying (client, storage = new LocalStorage()) {
  server.stayLoggedIn(client, storage)
  clients.push(client)
  return client
}

test('a socket is logged in anew and loses no event', async () => {
  const [ann, ben] = [staying(socketClient(server.base)), staying(restClient(server.base))]
  const [seen, reasons, tokens] = [[], [], new Set()]
  ann.io.on('loggedOut', reason => reasons.push(reason))
  ann.on('login', ({ accessToken }) => tokens.add(accessToken))
  ann.service('messages').on('created', ({ text }) => seen.push(text))
  await logIn(ann)
  await logIn(ben)
  const texts = Array.from({ length: 60 }, (_, number) => `${number}`)

  for (const text of texts) {
    await ben.service('messages').create({ text })
    await delay(100)
  }

  assert.deepEqual(seen, texts)
  assert.deepEqual(reasons, [])
  assert.ok(tokens.size > 2)
})

test('a page that is loaded later goes on with the login', async () => {
  const [storage, refreshes] = [new MemoryStorage(), new LocalStorage()]
  const first = await logIn(restClient(server.base, storage))
  const { user, refreshToken } = await first.get('authentication')
  refreshes.setItem('refresh', refreshToken)
  await delay(4500)

  const later = staying(restClient(server.base, storage), refreshes)
  const renewed = await later.reAuthenticate()

  assert.deepEqual(renewed.user, user)
  await later.service('messages').find()
})

test('a change of the password keeps this login and no other', async () => {
  const [here, there] = [staying(restClient(server.base)), staying(restClient(server.base))]
  const login = newLogin()
  await here.service('users').create(login)
  for (const client of [here, there]) await client.authenticate({ strategy: 'local', ...login })

  await makeManagement(here).passwordChange(login.password, 'another long secret', { email: login.email })

  const { user } = await here.reAuthenticate(true)
  assert.equal(user.email, login.email)
  await here.service('messages').find()
  await assert.rejects(there.reAuthenticate(true), { code: 401 })
})

test('a wrong password and a session that has ended are refused', async () => {
  const [storage, refreshes] = [new MemoryStorage(), new LocalStorage()]
  const client = staying(restClient(server.base, storage), refreshes)
  const wrong = { strategy: 'local', email: 'nobody@example.com', password: 'wrong horse' }
  await assert.rejects(client.authenticate(wrong), { message: 'Invalid login' })
  await logIn(client)
  const used = refreshes.getItem('refresh')
  for (let times = 0; times < 2; times++) await client.reAuthenticate(true, 'refresh')
  refreshes.setItem('refresh', used)

  await assert.rejects(client.reAuthenticate(true, 'refresh'), { code: 401 })
})
