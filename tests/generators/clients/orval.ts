import { print } from './calls'
import type { Login } from './calls'
import * as api from './generated/orval/api'

export async function enter (base: string, login: Login) {
  const plain = fetch
  let token = ''
  globalThis.fetch = (path, options) => plain(`${base}${path}`, {
    ...options,
    headers: { ...options?.headers as object, ...(token && { Authorization: `Bearer ${token}` }) }
  })
  await api.createUsers(login)
  const entered = await api.createAuthentication({ strategy: 'local', ...login })
  if (entered.status !== 201) throw new Error(String(entered.status))
  token = entered.data.accessToken!
}

async function calls (base: string, login: Login) {
  await enter(base, login)
  const room = await api.createRooms({ name: 'Lobby' })
  const roomId = (room.data as { id: never }).id
  const made = await api.createMessages(['a', 'b', 'c'].map(text => ({ text, roomId })))
  const ids = (made.data as { id: number }[]).map(({ id }) => id)
  const id = ids[0]!
  const page = await api.findMessages({ 'id[$in]': ids, 'id[$gt]': id, '$sort[createdAt]': -1, '$sort[id]': -1, $limit: 1 })
  const selected = await api.findMessages({ id, $select: ['text'] })
  const second = await api.findMessages({ 'id[$in]': ids, '$sort[id]': 1, $limit: 1, $skip: 1 })
  const patched = await api.patchMessages(id, { text: 'd' })
  const removed = await api.removeMessages(id)
  const missing = await api.getMessages(id)
  if (page.status !== 200 || selected.status !== 200 || second.status !== 200) throw new Error('find')
  if (patched.status !== 200 || removed.status !== 200 || missing.status !== 404) throw new Error('patch')
  const text = (records: object[]) => records.map(each => (each as { text?: string }).text)
  return {
    total: page.data.total,
    sorted: text(page.data.data),
    selected: Object.keys(selected.data.data[0]!),
    second: text(second.data.data),
    patched: patched.data.text,
    removed: removed.data.id === id,
    error: missing.data.name
  }
}

if (require.main === module) print(calls)
