// A chat: a login, the users, the latest messages, and those that others write.
import { connect } from './client.js'
import type { ClientApplication, Message, Paginated, User, UserData } from './client.js'

const LATEST = 25

const time = new Intl.DateTimeFormat('en-US', { timeStyle: 'short', timeZone: 'UTC' })

export class Chat {
  user: User | null = null
  users: User[] = []
  messages: Message[] = []
  readonly client: ClientApplication
  readonly close: () => void

  constructor (url: string) {
    const { client, close } = connect(url)
    this.client = client
    this.close = close
    client.on('login', ({ user }: { user: User }) => { this.user = user })
    client.on('logout', () => { this.user = null })
    client.service('messages').on('created', this.add)
  }

  add = (message: Message) => { this.messages = [...this.messages, message] }

  async signUp (login: UserData & { password: string }) {
    const { id } = await this.client.service('users').create(login)
    await this.client.authenticate({ strategy: 'local', ...login })
    return id
  }

  async load () {
    const page: Paginated<Message> = await this.client.service('messages').find({
      query: { $sort: { createdAt: -1 }, $limit: LATEST }
    })
    this.messages = page.data.reverse()
    this.users = (await this.client.service('users').find()).data
  }

  async write (text: string) {
    await this.client.service('messages').create({ text })
  }

  async leave () {
    this.client.service('messages').removeListener('created', this.add)
    await this.client.logout()
  }

  next = () => new Promise<Message>(resolve => this.client.service('messages').once('created', resolve))

  lines = () => this.messages.map(({ user, text, createdAt }) => {
    const email: string | undefined = user?.email
    return { email, text, time: time.format(createdAt) }
  })
}
