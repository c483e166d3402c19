import { print } from './calls'
import type { Login } from './calls'
import { AuthenticationApi, Configuration, Direction, MessagesApi, ResponseError, RoomsApi, UsersApi } from './generated/typescript-fetch'

export async function enter (basePath: string, login: Login) {
  const anonymous = new Configuration({ basePath })
  await new UsersApi(anonymous).createUsers({ usersCreate: login })
  const authenticationCreate = { strategy: 'local' as const, ...login }
  const entered = await new AuthenticationApi(anonymous).createAuthentication({ authenticationCreate } as never)
  return new Configuration({ basePath, accessToken: entered.accessToken! })
}

// Returns the name of the error that a call ends with.
export async function errorOf (call: Promise<unknown>): Promise<string> {
  const error = await call.then(() => null, error => error)
  if (!(error instanceof ResponseError)) throw error
  return (await error.response.json()).name
}

async function calls (basePath: string, login: Login) {
  const configuration = await enter(basePath, login)
  const rooms = new RoomsApi(configuration)
  const messages = new MessagesApi(configuration)
  const { id: roomId } = await rooms.createRooms({ roomsCreate: { name: 'Lobby' } }) as { id: never }
  const ids: number[] = []
  for (const text of ['a', 'b', 'c']) {
    const { id } = await messages.createMessages({ createMessagesRequest: { text, roomId } })
    ids.push(id)
  }
  const id = ids[0]!
  const page = await messages.findMessages({ id$in: ids, id$gt: id, $sortCreatedAt: Direction.descending, $sortId: Direction.descending, $limit: 1 })
  const selected = await messages.findMessages({ id, $select: ['text'] })
  const second = await messages.findMessages({ id$in: ids, $sortId: Direction.ascending, $limit: 1, $skip: 1 })
  const patched = await messages.patchMessages({ id, messagesPatch: { text: 'd' } })
  const removed = await messages.removeMessages({ id })
  const error = await errorOf(messages.getMessages({ id }))
  const text = (records: object[]) => records.map(each => (each as { text?: string }).text)
  const filled = Object.entries(selected.data[0]!).filter(([, value]) => value !== undefined)
  return {
    total: page.total,
    sorted: text(page.data),
    selected: filled.map(([name]) => name),
    second: text(second.data),
    patched: patched.text,
    removed: removed.id === id,
    error
  }
}

if (require.main === module) print(calls)
