// The official client of version 6, with the types of the services.
import { feathers } from 'feathers-6'
import { fetchClient } from 'feathers-6/client'
import { createClient } from './types.js'
import type { Messages, ServiceTypes } from './types.js'

export async function call (baseUrl: string, token: string) {
  const app = feathers<ServiceTypes>()
  app.configure(fetchClient(fetch, { baseUrl }))
  const headers = { Authorization: `Bearer ${token}` }
  const messages = app.service('messages')
  const made: Messages = await messages.create({ text: 'Hi' }, { headers })
  const page = await messages.find({ query: { id: made.id, $sort: { createdAt: -1 }, $select: ['text'] }, headers })
  const found: Pick<Messages, 'id' | 'text'> = page.data[0]!
  messages.on('created', (message: Messages) => message.text)
  const error: Error = await messages.get(0, { headers }).then(() => null, error => error)
  return { total: page.total, text: found.text, error: error.name }
}

export async function misuse (baseUrl: string) {
  const app = feathers<ServiceTypes>()
  // @ts-expect-error There is no such service.
  app.service('mesages')
  // @ts-expect-error There is no such field.
  await app.service('messages').find({ query: { txt: 'Hi' } })
  // @ts-expect-error The text is required.
  await app.service('messages').create({ read: true })
  return createClient(fetchClient(fetch, { baseUrl }))
}
