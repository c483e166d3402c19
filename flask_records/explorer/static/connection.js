// The client of the caller, and one of nobody.
/* global feathers, io */
import { announce, element } from './dom.js'
import { encoded, readAddress, Services } from './paths.js'
import { addresses } from './query.js'
import { answerOf, BASE, first, forgetLogin, isEarly, keepLogin, keptLogin, keyOf, request } from './requests.js'

// Timers of browsers can't wait for longer.
const MAX_DELAY = 2 ** 31 - 1
const RETRY = 1000
const OUTAGE = 'The server could not be reached. Trying again …'
const STANDARD = ['find', 'get', 'create', 'update', 'patch', 'remove']
const LIBRARIES = ['socket.io.min.js', 'feathers.min.js']

// What to do about errors that no other value mends.
const NEXT = {
  429: 'Nothing is changed. Wait for that time, and try again.',
  500: 'Nothing is changed. Try again, and if that fails, too, tell those who run the application: its log has the error.',
  503: 'Try again in a moment.'
}

function explain ({ error }) {
  if (NEXT[error.code]) error.message = `${error.message.replace(/[.\s]*$/, '.')} ${NEXT[error.code]}`
}

const loadScript = name => new Promise((resolve, reject) => {
  const onerror = () => reject(new Error(`${name} could not be loaded.`))
  document.head.append(element('script', { src: new URL(name, import.meta.url), onload: resolve, onerror }))
})

let loaded = null
const libraries = () => { loaded ??= Promise.all(LIBRARIES.map(loadScript)).catch(error => { loaded = null; throw error }); return loaded }
if (!isEarly(readAddress().view)) libraries().catch(() => {})

export class Connection extends EventTarget {
  constructor (description) {
    super()
    this.description = description
    this.services = new Services(description.services)
    this.caller = null
    // Whose login this page has, also once that has ended: `{ path, sub }`.
    this.owner = null
    this.isLost = false
    // The number of changes that wait for the connection.
    this.waiting = 0
    this.isReading = false
    this.isOpened = false
  }

  // Why nothing comes and goes, or null.
  get problem () {
    const { waiting } = this
    if (!this.isLost) return null
    return waiting ? `${OUTAGE} ${waiting} ${waiting === 1 ? 'change waits' : 'changes wait'} to be sent.` : OUTAGE
  }

  // Waits for the connection.
  async connected ({ path, method }) {
    if (this.socket.connected) return
    const isChange = !['find', 'get'].includes(method) && !this.description.logins.some(login => login.path === path)
    this.waiting += isChange
    this.change()
    await new Promise(resolve => this.socket.once('connect', resolve))
    this.waiting -= isChange
    this.change()
  }

  // The user of the login, or of the application's own session.
  get user () {
    return this.caller?.user ?? this.description.user ?? null
  }

  get hasEvents () {
    return Boolean(this.description.realtime)
  }

  get isLive () {
    return this.isReading || Boolean(this.isOpened && this.socket?.connected)
  }

  // Returns the address of a service.
  address (path) {
    return `${location.origin}${this.description.prefix}/${encoded(path)}`
  }

  // Returns a service. Until the client is there, it only finds records.
  service (path) {
    return this.isOpened ? this.serviceOf(this.client, path) : { find: ({ query }) => this.read(path, query) }
  }

  async read (path, query) {
    const { url } = addresses(this, path, query)
    const isFirst = first.answer && first.url === url && first.token === keptLogin()?.token
    const response = await (isFirst ? first.answer : request(url))
    if (isFirst) first.answer = null
    return answerOf(response)
  }

  nobody (path) {
    return this.serviceOf(this.stranger, path)
  }

  // Returns a service of a client. Each path with values for placeholders is one.
  serviceOf (client, path) {
    const service = this.services.get(path)
    if (service?.pattern && !Object.hasOwn(client.services, path)) register(client, service)
    return client.service(path)
  }

  // Loads the schemas of a service, if there is one with the path, before its view opens.
  async load (path) {
    const found = this.services.get(path)
    const service = this.services.get(found?.pattern) ?? found
    if (!service || service.query) return
    service.loading ??= this.describe(service).finally(() => { service.loading = null })
    await service.loading
  }

  async describe (service) {
    Object.assign(service, await answerOf(await request(`${BASE}service.json?path=${encodeURIComponent(service.path)}`)))
  }

  // Returns once the client is there, with the login that is kept.
  open () {
    this.opening ??= this.begin().catch(error => {
      this.opening = null
      throw error
    })
    return this.opening
  }

  async begin () {
    await libraries()
    const { realtime, services } = this.description
    const isStreamed = Boolean(realtime?.stream && sessionStorage.getItem(keyOf('stream')))
    this.socket = realtime && !isStreamed ? this.openSocket(realtime) : null
    this.client = this.makeClient(this.socket)
    this.stranger = this.makeClient(null, { credentials: 'omit' })
    // What a socket has not sent yet would have no answer in time, and be sent nevertheless.
    // The hooks of logins wait, too: this one is the first.
    if (this.socket) this.client.hooks({ around: { all: [(context, next) => this.connected(context).then(next)] } })
    for (const service of services) this.listen(service)
    const login = keptLogin()
    if (login) await this.takeUp(login).catch(error => announce(error.message, 'error'))
    if (isStreamed) this.readStream()
    this.isOpened = true
    this.change()
  }

  async takeUp ({ path, token, isKept }) {
    // Its hooks are there once.
    if (this.owner) await this.client.authentication.setAccessToken(token)
    else this.client.configure(feathers.authentication({ path, storage: memory(token) }))
    try {
      const { user = this.description.user, authentication = {} } = await this.client.reAuthenticate(true)
      const { exp, sub } = authentication.payload ?? {}
      this.owner = { path, sub, user }
      this.caller = { user, token, isKept, expires: exp ? new Date(exp * 1000) : null }
      this.waitForEnd()
    } catch (error) {
      if (error.code === 401) forgetLogin()
      throw error
    }
    this.change()
  }

  // Forgets the login once it has ended. What the page shows stays, so that nothing that
  // was typed is lost.
  waitForEnd () {
    if (!this.caller?.expires) return
    const delay = this.caller.expires - Date.now()
    if (delay > 0) {
      setTimeout(() => this.waitForEnd(), Math.min(delay, MAX_DELAY))
      return
    }
    forgetLogin()
    this.caller = null
    this.description.user = null
    this.dispatchEvent(new Event('ended'))
    this.change()
  }

  // Logs in, and keeps the token. The page begins anew with the rights of the user, unless the
  // login is renewed: then it has to be of the same one.
  async logIn (path, credentials, { isKept, isRenewal }) {
    await this.open()
    const { accessToken, authentication } = await this.nobody(path).create(credentials)
    const { owner } = this
    if (isRenewal && (path !== owner.path || authentication?.payload?.sub !== owner.sub)) throw new Error('This is another user. What the form has is lost if you log in as another user.')
    keepLogin(path, accessToken, { isKept })
    if (!isRenewal) return beginAnew()
    await this.takeUp(keptLogin())
    this.dispatchEvent(new Event('renewed'))
  }

  async logOut () {
    try {
      await this.client.logout()
    } finally {
      forgetLogin()
      beginAnew()
    }
  }

  openSocket ({ path, stream }) {
    let wasOpen = false
    // Polling reaches another worker with each request, where there are several.
    const socket = io(location.origin, { path, transports: ['websocket', 'polling'], tryAllTransports: true })
    socket.on('connect', () => {
      wasOpen = true
      this.tell(false)
    })
    socket.io.on('reconnect_attempt', () => { if (stream && !wasOpen) this.tryStream(stream) })
    for (const event of ['disconnect', 'connect_error']) socket.on(event, () => this.tell(true))
    // The client tries again by itself, unless the server has closed the connection.
    socket.on('disconnect', reason => { if (reason === 'io server disconnect') setTimeout(() => socket.connect(), RETRY) })
    addEventListener('online', () => socket.connect())
    return socket
  }

  // Begins anew with the stream if it answers where sockets are blocked on the way.
  async tryStream (url) {
    const response = await request(url).catch(() => null)
    await response?.body?.cancel()
    if (!response?.ok || this.socket.connected) return
    sessionStorage.setItem(keyOf('stream'), 'yes')
    beginAnew()
  }

  // Reads the stream, anew whenever it breaks, with the login of that time.
  async readStream () {
    try {
      const response = await request(this.description.realtime.stream)
      for await (const message of messagesIn(response.ok ? response.body : null)) this.take(message)
    } catch {
      // A break is the outage that the page shows.
    }
    this.isReading = false
    this.tell(true)
    setTimeout(() => this.readStream(), RETRY)
  }

  take ({ path, event, data }) {
    if (event === 'connected') {
      this.isReading = true
      this.tell(false)
    } else if (this.services.get(path)?.events.includes(event)) {
      this.announce(path, event, data)
    }
  }

  announce (service, event, data) {
    this.dispatchEvent(new CustomEvent('event', { detail: { service, event, data, time: new Date() } }))
  }

  makeClient (socket, options = {}) {
    const client = feathers()
    const transport = socket
      ? feathers.socketio(socket, { timeout: 30_000 })
      : feathers.rest(`${location.origin}${this.description.prefix}`).fetch((url, given) => fetch(url, { ...given, ...options }))
    client.configure(transport)
    client.hooks({ error: { all: [explain] } })
    for (const service of this.description.services) register(client, service)
    return client
  }

  listen ({ path, events }) {
    if (!this.socket) return
    for (const event of events) {
      this.socket.on(`${path} ${event}`, data => this.announce(path, event, data))
    }
  }

  // Tells the state of the socket.
  tell (isLost) {
    this.isLost = isLost
    this.change()
  }

  change () {
    this.dispatchEvent(new Event('state'))
  }
}

// Yields the messages of a stream of events.
async function * messagesIn (body) {
  if (!body) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    for (const line of lines) if (line.startsWith('data:')) yield JSON.parse(line.slice(5))
  }
}

// Sockets take the path as it is, and URLs encoded.
function register (client, { path, customMethods }) {
  const service = client.defaultService(client.io ? path : encoded(path))
  client.use(path, service, { methods: [...STANDARD, ...customMethods] })
}

// Loads the page with other rights, and leaves the view of logins.
function beginAnew () {
  if (location.hash.startsWith('#/login')) history.replaceState(null, '', '#/')
  location.reload()
}

// A store of the token for the client. This page keeps it itself.
function memory (token) {
  const kept = new Map([['feathers-jwt', token]])
  return {
    getItem: name => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
    removeItem: name => kept.delete(name)
  }
}
