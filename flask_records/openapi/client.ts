// Made by `flask records types`: change the services, and make it again.
import { feathers } from '@feathersjs/feathers'
import authenticationClient from '@feathersjs/authentication-client'
import type { Application as FeathersApplication } from '@feathersjs/feathers'
import type { FeathersService, TransportConnection } from '@feathersjs/feathers'
import type { AuthenticationClientOptions } from '@feathersjs/authentication-client'

export type Id = number | string

export interface Paginated<T> {
  total: number
  limit: number
  skip: number
  data: T[]
}

/** A page whose records are counted for `$limit: 0` alone. */
export type Uncounted<P> = Omit<P, 'total'> & { total?: number }

export interface CallParams<Q> {
  query?: Q
  headers?: { [name: string]: string }
  connection?: any
}

/** Params that ask for groups or sums, by one part of the query at least. */
export interface GroupsParams<Q, P extends keyof Q> extends CallParams<any> {
  query: Omit<Q, '$select' | '$populate'> & { [K in P]-?: Required<Pick<Q, K>> }[P]
}

/** A record with those of its fields that are selected. */
export type Selected<T, Fields, S> = [Fields] extends [S] ? T : Omit<T, Exclude<Fields, S> & keyof T>

type Listener<T> = (record: T) => void

export interface ServiceEvents<Events> {
  on<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  once<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  off<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  addListener<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  removeListener<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  removeAllListeners(event?: keyof Events): this
}

// types
export interface Configuration {
  connection: TransportConnection<ServiceTypes>
}

/** A client whose services take and send no other events than their own. */
export type ClientApplication = {
  service<P extends keyof ServiceTypes & string>(path: P): ClientService<P>
  authenticate(data?: LoginData, params?: CallParams<any>): Promise<LoginResult>
} & Omit<FeathersApplication<ServiceTypes, Configuration>, 'authenticate'>

type ClientService<P extends keyof ServiceTypes> = ServiceTypes[P] &
  Omit<FeathersService<ClientApplication, ServiceTypes[P]>, keyof ServiceEvents<any>>

/** The methods of the services by path. */
export const serviceMethods = { /* methods */ } as const

/** The connection of a client of any version, for REST or Socket.IO. */
export interface Connection {
  (app: any): void
  Service: any
  service(path: any): any
}

type ServicePath = keyof typeof serviceMethods & keyof ServiceTypes

type Plugin = (options: Partial<AuthenticationClientOptions>) => (client: any) => void

/**
 * Returns a client that knows the types of all services.
 *
 * @param connection The connection of a client for REST or Socket.IO
 * @param authenticationOptions Options of `@feathersjs/authentication-client`
 */
export const createClient = <_Configuration = any>(
  connection: Connection,
  authenticationOptions: Partial<AuthenticationClientOptions> = {}
): ClientApplication => {
  const client: FeathersApplication<ServiceTypes, Configuration> = feathers()

  client.configure(connection)
  client.configure((authenticationClient as unknown as Plugin)(authenticationOptions))
  client.set('connection', connection)

  for (const path of Object.keys(serviceMethods) as ServicePath[]) {
    const methods: readonly any[] = serviceMethods[path]
    client.use(path, connection.service(path), { methods })
  }

  return client as unknown as ClientApplication
}
