import { print } from './calls'
import type { Login } from './calls'
import { enter } from './hey-api'
import * as sdk from './generated/hey-api'

async function calls (baseUrl: string, login: Login) {
  const client = await enter(baseUrl, login)
  const { data: room } = await sdk.createRooms({ client, body: { name: login.email } })
  const roomId = (room as { id: string }).id
  const { data: message } = await sdk.createMessages({ client, body: { text: 'a', roomId }, query: { $populate: ['room'] } })
  const { data: photo } = await sdk.createPhotos({ client, body: { title: 'Cat', file: new Blob(['abc']) } })
  const { data: summary } = await sdk.findSummaries({ client, query: { first: '2026-01-01' } })
  const { error } = await sdk.createAuthManagement({ client, body: { action: 'checkUnique', value: { email: login.email } } })
  const { room: of } = message as sdk.Messages
  return { room: of!.name === login.email, size: photo!.size, number: summary!.number, taken: error!.name }
}

print(calls)
