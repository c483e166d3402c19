import { print } from './calls'
import type { Login } from './calls'
import { createClient } from './generated/hey-api/client'
import * as sdk from './generated/hey-api'

export async function enter (baseUrl: string, login: Login) {
  const client = createClient({ baseUrl })
  await sdk.createUsers({ client, body: login })
  const { data: entered } = await sdk.createAuthentication({ client, body: { strategy: 'local', ...login } })
  client.setConfig({ auth: entered!.accessToken })
  return client
}

async function calls (baseUrl: string, login: Login) {
  const client = await enter(baseUrl, login)
  const { data: room } = await sdk.createRooms({ client, body: { name: 'Lobby' } })
  const roomId = (room as { id: never }).id
  const body = ['a', 'b', 'c'].map(text => ({ text, roomId }))
  const { data: made } = await sdk.createMessages({ client, body })
  const ids = (made as { id: number }[]).map(({ id }) => id)
  const query = { 'id[$in]': ids, 'id[$gt]': ids[0]!, '$sort[createdAt]': -1 as const, '$sort[id]': -1 as const, $limit: 1 }
  const { data: page } = await sdk.findMessages({ client, query })
  const { data: selected } = await sdk.findMessages({ client, query: { id: ids[0]!, $select: ['text'] } })
  const { data: second } = await sdk.findMessages({ client, query: { 'id[$in]': ids, '$sort[id]': 1, $limit: 1, $skip: 1 } })
  const path = { id: ids[0]! }
  const { data: patched } = await sdk.patchMessages({ client, path, body: { text: 'd' } })
  const { data: removed } = await sdk.removeMessages({ client, path })
  const { error } = await sdk.getMessages({ client, path })
  const text = (records: object[]) => records.map(each => (each as { text?: string }).text)
  return {
    total: page!.total,
    sorted: text(page!.data),
    selected: Object.keys(selected!.data[0]!),
    second: text(second!.data),
    patched: patched!.text,
    removed: removed!.id === ids[0],
    error: error!.name
  }
}

if (require.main === module) print(calls)
