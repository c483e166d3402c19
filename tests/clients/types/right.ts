import { feathers } from '@feathersjs/feathers'
import type { Application, FeathersService, HookContext } from '@feathersjs/feathers'
import { auth, rest, socketio } from './transports.js'
import { io } from 'socket.io-client'
import { createClient, enter, startLogin, stayLoggedIn, stayLoggedInByCookie } from './types.js'
import type { ClientApplication, Configuration, Messages, MessagesData, ServiceTypes, Users } from './types.js'

const app = feathers<ServiceTypes>()
app.configure(rest<ServiceTypes>('http://localhost').fetch(fetch))
app.configure(auth({ storageKey: 'x' }))
const live = feathers<ServiceTypes>().configure(socketio<ServiceTypes>(io()))

export async function use(): Promise<string> {
  const messages = app.service('messages')
  const page = await messages.find({
    query: { text: 'a', read: { $ne: true }, $or: [{ id: { $in: [1] } }, { text: 'b' }], $sort: { createdAt: -1 }, $select: ['id', 'text'], $limit: 2 }
  })
  const total: number = page.total
  const first: Pick<Messages, 'id' | 'text'> = page.data[0]
  const data: MessagesData = { text: 'Hi' }
  const made: Messages = await messages.create(data)
  const many: Messages[] = await messages.create([data])
  await messages.patch(made.id, { read: true })
  const gone: Messages[] = await messages.remove(null, { query: { archived: true } })
  await app.service('typists').tell({ roomId: 1 })
  messages.on('created', (message: Messages) => message.text)
  live.service('rooms').on('patched', console.log)
  messages.hooks({ before: { find: [async (context) => { context.params.query }] } })
  const user = await app.service('users').get(1)
  const name: string | null = user.name
  await app.reAuthenticate()
  return `${total} ${first.text} ${many.length} ${gone.length} ${name}`
}

// The client is one of FeathersJS, wherever an application needs one.
const client: ClientApplication = createClient(socketio(io()), { storageKey: 'x' })
const plain: Application<ServiceTypes, Configuration> = client
const messages: FeathersService<ClientApplication, ServiceTypes['messages']> = client.service('messages')

export async function useClient(): Promise<Application[]> {
  const { user, accessToken } = await client.authenticate({ strategy: 'local', email: 'a', password: 'b' })
  const created = ({ id, text }: Messages) => `${id} ${text}`
  client.on('login', ({ user }: { user: Users }) => user.id)
  client.service('messages').on('created', created)
  client.service('typists').once('typing', console.log)
  client.service('messages').on('patched', message => message.text.length)
  client.service('messages').removeListener('created', created)
  client.service('messages').hooks({
    before: { find: [async (context: HookContext<ClientApplication>) => { context.app.service('users') }] }
  })
  client.hooks({ around: [async (context, next) => { await next(); console.log(context.path) }] })
  const typing = await client.service('typists').tell({ roomId: 1 })
  const many: Messages[] = await client.service('messages').patch(null, { read: true }, { query: { text: 'a' } })
  const whole: Messages = await client.service('messages').get(1, { query: { $populate: ['user'] }, headers: { 'X-Trace': '1' } })
  const [{ user: author }] = (await client.service('messages').find({ query: { $populate: ['user'] } })).data
  const email: string | null | undefined = author?.email
  client.get('connection').service('rooms')
  await client.service('messages').find({ query: { roomId: null, $and: [{ text: { $search: 'a' } }, { userId: { $in: [1, null] } }], createdAt: { $gte: '2026-01-01' } } })
  return [plain, messages && plain, user && accessToken && many && typing && email && whole]
}

export async function begin(client: ClientApplication): Promise<void> {
  stayLoggedIn(client)
  stayLoggedIn(client, sessionStorage)
  stayLoggedInByCookie(client, 'https://example.com')
  startLogin('/oauth/github')
  await enter(client)
}
