import { feathers } from '@feathersjs/feathers'
import { rest } from './transports.js'
import { createClient } from './types.js'
import type { Messages, ServiceTypes, Users } from './types.js'

const app = feathers<ServiceTypes>()
const client = createClient(rest('http://localhost').fetch(fetch))

export async function misuse(message: Messages) {
  // @ts-expect-error There is no such service.
  app.service('mesages')
  // @ts-expect-error The text is required.
  await app.service('messages').create({ read: true })
  // @ts-expect-error The text is no number.
  await app.service('messages').create({ text: 1 })
  // @ts-expect-error Clients do not write it.
  await app.service('messages').create({ text: 'Hi', createdAt: '2026-01-01' })
  // @ts-expect-error There is no such field.
  await app.service('messages').find({ query: { txt: 'Hi' } })
  // @ts-expect-error There is no such operator.
  await app.service('messages').find({ query: { text: { $regex: 'Hi' } } })
  // @ts-expect-error The direction is 1 or -1.
  await app.service('messages').find({ query: { $sort: { text: 'asc' } } })
  // @ts-expect-error Only some services change many.
  await app.service('rooms').patch(null, { name: 'Hi' })
  // @ts-expect-error The service has no such method.
  await app.service('rooms').enter({ roomId: 1 })
  // @ts-expect-error Find answers a page.
  ;(await app.service('messages').find()).map(String)
  // @ts-expect-error Nobody sees a password.
  ;(await app.service('users').get(1)).password
  // @ts-expect-error It may be null.
  message.roomId.toFixed()
  // @ts-expect-error A query has one kind of value for a number.
  await app.service('messages').find({ query: { id: { $gt: 'x' } } })
  // @ts-expect-error A message has an id.
  await app.service('messages').find({ query: { id: null } })
  // @ts-expect-error A group has conditions.
  await app.service('messages').find({ query: { $or: { text: 'Hi' } } })
  // @ts-expect-error There is no such field to select.
  await app.service('messages').find({ query: { $select: ['txt'] } })
  // @ts-expect-error A password is in no query.
  await app.service('users').find({ query: { password: 'x' } })
  // @ts-expect-error Records are only there if a query asks for them.
  message.room.name
  // @ts-expect-error There is no such relationship.
  await app.service('messages').find({ query: { $populate: 'author' } })
  // @ts-expect-error There is no such field in a change.
  await app.service('messages').patch(1, { txt: 'Hi' })
  // @ts-expect-error It is spelt query.
  await app.service('messages').find({ qurey: { id: 1 } })
  // @ts-expect-error The query did not select it.
  ;(await app.service('messages').find({ query: { $select: ['text'] } })).data[0].read
  // @ts-expect-error The query did not select it.
  ;(await app.service('messages').get(1, { query: { $select: ['text'] } })).roomId
  // @ts-expect-error The identifier is a number.
  await app.service('messages').get('abc')
  // @ts-expect-error Only the services with this method have it.
  await app.service('rooms').tell({ roomId: 1 })
}

export function misuseClient(message: Messages) {
  // @ts-expect-error It needs a connection.
  createClient()
  // @ts-expect-error There is no such option.
  createClient(rest('http://localhost').fetch(fetch), { storagKey: 'x' })
  // @ts-expect-error There is no such strategy.
  client.authenticate({ strategy: 'nope' })
  // @ts-expect-error The strategy needs a password.
  client.authenticate({ strategy: 'local', email: 'a' })
  // @ts-expect-error There is no such service.
  client.service('mesages')
  // @ts-expect-error There is no such event.
  client.service('messages').on('craeted', console.log)
  // @ts-expect-error Only the typists have this event.
  client.service('rooms').on('typing', console.log)
  // @ts-expect-error The event has a message.
  client.service('messages').on('created', (user: Users) => user.email)
  // @ts-expect-error There is no such method.
  client.service('typists').tel({ roomId: 1 })
  // @ts-expect-error The text is required.
  client.service('messages').create({ read: true })
  // @ts-expect-error Nobody sees a password.
  client.service('users').on('patched', user => user.password)
  // @ts-expect-error There is no such setting.
  client.get('conection')
  return message
}
