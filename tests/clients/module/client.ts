// The client of a chat, as front ends of FeathersJS have it.
import { io } from 'socket.io-client'
import socketio from '@feathersjs/socketio-client'
import { MemoryStorage } from '@feathersjs/authentication-client'
import { createClient } from './api.js'

export * from './api.js'

export const connect = (url: string) => {
  const socket = io(url, { forceNew: true })
  const client = createClient(socketio(socket), { storage: new MemoryStorage() })
  return { client, close: () => socket.close() }
}
