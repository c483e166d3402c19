// The functions of the packages, whose types nodenext has as modules with a default.
import authModule from '@feathersjs/authentication-client'
import restModule from '@feathersjs/rest-client'
import socketioModule from '@feathersjs/socketio-client'
import type { TransportConnection } from '@feathersjs/feathers'

type Default<M> = M extends { default: infer D } ? D : M

export const auth = authModule as unknown as Default<typeof authModule>
export const rest = restModule as unknown as Default<typeof restModule>
// The types of sockets of the packages are those of CommonJS.
export const socketio = socketioModule as unknown as <Services = any>(socket: unknown) => TransportConnection<Services>
