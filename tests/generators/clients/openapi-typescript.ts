import createClient from 'openapi-fetch'
import { print } from './calls'
import type { Login } from './calls'
import type { paths } from './generated/openapi-typescript/schema'

export async function enter (baseUrl: string, login: Login) {
  const api = createClient<paths>({ baseUrl })
  await api.POST('/users', { body: login })
  const { data: entered } = await api.POST('/authentication', { body: { strategy: 'local', ...login } })
  api.use({
    onRequest ({ request }) { request.headers.set('Authorization', `Bearer ${entered!.accessToken}`) }
  })
  return api
}

async function calls (baseUrl: string, login: Login) {
  const api = await enter(baseUrl, login)
  const room = await api.POST('/rooms', { body: { name: 'Lobby' } })
  if (room.error) throw new Error(room.error.message)
  const roomId = (room.data as { id: never }).id
  const body = ['a', 'b', 'c'].map(text => ({ text, roomId }))
  const { data: made } = await api.POST('/messages', { body })
  const ids = (made as { id: number }[]).map(({ id }) => id)
  const query = { 'id[$in]': ids, 'id[$gt]': ids[0]!, '$sort[createdAt]': -1 as const, '$sort[id]': -1 as const, $limit: 1 }
  const { data: page } = await api.GET('/messages', { params: { query } })
  const { data: selected } = await api.GET('/messages', { params: { query: { id: ids[0]!, $select: ['text'] } } })
  const { data: second } = await api.GET('/messages', { params: { query: { 'id[$in]': ids, '$sort[id]': 1, $limit: 1, $skip: 1 } } })
  const path = { id: ids[0]! }
  const { data: patched } = await api.PATCH('/messages/{id}', { params: { path }, body: { text: 'd' } })
  const { data: removed } = await api.DELETE('/messages/{id}', { params: { path } })
  const { error } = await api.GET('/messages/{id}', { params: { path } })
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
