// The same calls with the clients that two generators make of the OpenAPI document.
import createClient from 'openapi-fetch'
import { createClient as createSdkClient } from './sdk/client/index.js'
import * as sdk from './sdk/index.js'
import type { paths } from './schema.js'

type Login = { email: string, password: string }

export async function fetched (baseUrl: string, login: Login) {
  const api = createClient<paths>({ baseUrl })
  await api.POST('/users', { body: login })
  const { data: entered } = await api.POST('/authentication', { body: { strategy: 'local', ...login } })
  api.use({
    onRequest ({ request }) { request.headers.set('Authorization', `Bearer ${entered!.accessToken}`) }
  })
  const room = await api.POST('/rooms', { body: { name: 'Lobby' } })
  if ('error' in room && room.error) throw new Error(room.error.message)
  const roomId = (room.data as { id: number }).id
  const body = ['a', 'b', 'c'].map(text => ({ text, roomId }))
  const { data: made } = await api.POST('/messages', { body })
  const ids = (made as { id: number }[]).map(({ id }) => id)
  const query = { 'id[$in]': ids, 'id[$gt]': ids[0]!, '$sort[createdAt]': -1 as const, $limit: 1 }
  const { data: page } = await api.GET('/messages', { params: { query } })
  const { error } = await api.GET('/messages/{id}', { params: { path: { id: 0 } } })
  return { total: page!.total, texts: page!.data.map(({ text }) => text), error: error!.name }
}

export async function called (baseUrl: string, login: Login) {
  const client = createSdkClient({ baseUrl })
  await sdk.createUsers({ client, body: login })
  const { data: entered } = await sdk.createAuthentication({ client, body: { strategy: 'local', ...login } })
  client.setConfig({ auth: entered!.accessToken })
  const { data: room } = await sdk.createRooms({ client, body: { name: 'Lobby' } })
  const roomId = (room as { id: number }).id
  const body = ['a', 'b', 'c'].map(text => ({ text, roomId }))
  const { data: made } = await sdk.createMessages({ client, body })
  const ids = (made as { id: number }[]).map(({ id }) => id)
  const query = { 'id[$in]': ids, 'id[$gt]': ids[0]!, '$sort[createdAt]': -1 as const, $limit: 1 }
  const { data: page } = await sdk.findMessages({ client, query })
  const { error } = await sdk.getMessages({ client, path: { id: 0 } })
  return { total: page!.total, texts: page!.data.map(({ text }) => text), error: error!.name }
}
