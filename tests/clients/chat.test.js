// The calls of the chats of FeathersJS, and of packages that add to its clients, against
// docs/chat.py.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rx } from 'feathers-reactive'
import { filter, firstValueFrom } from 'rxjs'
import { io } from 'socket.io-client'
import { closeSockets, logIn, next, restClient, socketClient } from './clients.js'
import { startChat } from './documented.js'

const ORIGIN = 'http://localhost:3000'

let server

before(async () => { server = await startChat() })

after(() => {
  closeSockets()
  return server.stop()
})

// A page of a browser, which sends its origin.
const newPage = () => socketClient(server.base, { extraHeaders: { Origin: ORIGIN } })

test('a chat shows messages with their users, also those of others', async () => {
  const [ann, ben] = [await logIn(newPage(), 'ann'), await logIn(newPage(), 'ben')]
  const seen = next(ben.service('messages'), 'created')

  const message = await ann.service('messages').create({ text: 'Hello' })
  const latest = await ben.service('messages').find({ query: { $sort: { createdAt: -1 }, $limit: 25 } })

  assert.deepEqual(message.user, ann.user)
  assert.deepEqual([await seen, latest.data[0]], [message, message])
})

test('a chat shows a new user, and nothing after a logout', async () => {
  const [ann, ben] = [await logIn(newPage(), 'ann'), await logIn(newPage(), 'ben')]
  const seen = next(ann.service('users'), 'created')
  await ben.logout()
  ben.service('users').on('created', () => assert.fail('seen after the logout'))

  const cy = await logIn(newPage(), 'cy')

  assert.deepEqual(await seen, cy.user)
  await assert.rejects(ben.service('messages').find(), { code: 401 })
})

test('an observable list follows the writes of others', async () => {
  const [ann, ben] = [await logIn(newPage(), 'ann'), await logIn(restClient(server.base), 'ben')]
  ann.configure(rx({ idField: 'id' }))
  const list = ann.service('messages').watch().find({ query: { userId: ben.user.id, $sort: { text: 1 } } })
  const shown = texts => firstValueFrom(list.pipe(filter(page => page.data.map(({ text }) => text).join() === texts)))
  await shown('')

  const [a] = [await ben.service('messages').create({ text: 'a' }), await ben.service('messages').create({ text: 'b' })]
  await shown('a,b')
  await ben.service('messages').patch(a.id, { text: 'c' })
  await shown('b,c')
  await ben.service('messages').remove(a.id)
  await shown('b')
})
