// The official client stays logged in by the functions of the module of types. Access tokens
// are valid for four seconds here.
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { after, before, test } from 'node:test'
import { MemoryStorage } from '@feathersjs/authentication-client'
import makeManagement from 'feathers-authentication-management/dist/client.js'
import { LocalStorage, startAccounts } from './accounts.js'
import { closeSockets, logIn, newLogin, restClient, socketClient } from './clients.js'
import { stayLoggedIn } from './logins.js'

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
  stayLoggedIn(client, storage)
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

test('a change of the password ends all logins, and a new one goes on', async t => {
  // A machine that has much to do may take more than four seconds for the hashes.
  const lasting = await startAccounts({ FLASK_RECORDS_AUTHENTICATION__lifetime: '3600' })
  t.after(() => lasting.stop())
  const [here, there] = [staying(restClient(lasting.base)), staying(restClient(lasting.base))]
  const login = newLogin()
  await here.service('users').create(login)
  for (const client of [here, there]) await client.authenticate({ strategy: 'local', ...login })

  const password = 'another long secret'
  await makeManagement(here).passwordChange(login.password, password, { email: login.email })

  const { user } = await here.authenticate({ strategy: 'local', email: login.email, password })
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

test('a login without a refresh token goes on until its end, and no call hangs', async () => {
  const [storage, refreshes] = [new MemoryStorage(), new LocalStorage()]
  await logIn(restClient(server.base, storage))

  // As `enter` does after a login at a provider.
  const client = staying(restClient(server.base, storage), refreshes)
  await client.reAuthenticate(true)
  await client.service('messages').find()
  await assert.rejects(client.authenticate({ strategy: 'refresh' }), { code: 401 })
  await assert.rejects(client.service('messages').find(), { code: 401 })
})

test('the login of another user without a refresh token is not replaced', async () => {
  const [storage, refreshes] = [new MemoryStorage(), new LocalStorage()]
  const ben = await logIn(restClient(server.base))
  const client = staying(restClient(server.base, storage), refreshes)
  await logIn(client)

  await client.authentication.setAccessToken((await ben.get('authentication')).accessToken)
  const { user } = await client.reAuthenticate(true)
  await delay(100)

  assert.equal(user.id, ben.user.id)
  assert.equal(refreshes.getItem('refresh'), null)
})

test('a logout after the access token has expired ends the session', async () => {
  const [storage, refreshes] = [new MemoryStorage(), new LocalStorage()]
  const client = await logIn(restClient(server.base, storage))
  const { refreshToken } = await client.get('authentication')
  await delay(4500)

  await client.logout()

  const renewal = { strategy: 'refresh', refreshToken }
  await assert.rejects(restClient(server.base).service('authentication').create(renewal), { code: 401 })
  assert.equal(refreshes.getItem('refresh'), null)
})

test('a server that can not be reached for a while is tried again', async () => {
  const client = staying(restClient(server.base))
  let down = true
  client.service('authentication').hooks({
    around: {
      create: [async (context, next) => {
        if (context.data.strategy === 'refresh' && down) throw Object.assign(new Error('down'), { code: 503 })
        await next()
      }]
    }
  })
  await logIn(client)
  const { accessToken } = await client.get('authentication')
  await delay(2500)
  down = false
  await delay(5500)

  assert.notEqual((await client.get('authentication')).accessToken, accessToken)
  await client.service('messages').find()
})
