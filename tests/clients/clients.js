// Clients of a server, configured as applications do, and people who log in.
import authentication, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import rest from '@feathersjs/rest-client'
import socketio from '@feathersjs/socketio-client'
import { io } from 'socket.io-client'

const sockets = []

export const closeSockets = () => sockets.splice(0).forEach(socket => socket.close())

const withLogins = storage => authentication({ storage })

export const restClient = (base, storage = new MemoryStorage()) => feathers()
  .configure(rest(base).fetch(fetch))
  .configure(withLogins(storage))

// The transports are those of a browser by default: polling, then an upgrade.
export function socketClient (base, options = {}, storage = new MemoryStorage()) {
  const socket = io(base, { forceNew: true, ...options })
  sockets.push(socket)
  return feathers().configure(socketio(socket)).configure(withLogins(storage))
}

export const random = () => Math.random().toString(36).slice(2)

export const newLogin = (name = 'ann') => ({ email: `${name}${random()}@example.com`, password: 'a long secret' })

export async function logIn (client, name) {
  const login = newLogin(name)
  client.user = await client.service('users').create(login)
  await client.authenticate({ strategy: 'local', ...login })
  return client
}

export const next = (service, event) => new Promise(resolve => service.once(event, resolve))
