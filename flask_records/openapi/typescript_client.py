"""The client of an application in TypeScript, with the names that the generator of
FeathersJS gives it.
"""

from __future__ import annotations

import json
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CLIENT_NAMES: t.Final = frozenset(
    {
        "AuthenticationClientOptions",
        "CallParams",
        "ClientApplication",
        "ClientService",
        "Configuration",
        "FeathersApplication",
        "FeathersService",
        "Id",
        "Listener",
        "Omit",
        "Paginated",
        "Partial",
        "Promise",
        "ServiceEvents",
        "ServicePath",
        "ServiceTypes",
        "TransportConnection",
    }
)
"""The names of the types that a module has or uses besides those of its services."""

OWN_METHODS: t.Final = frozenset(
    {
        *("addListener", "emit", "eventNames", "getMaxListeners", "listenerCount"),
        *("listeners", "off", "on", "once", "prependListener", "prependOnceListener"),
        *("rawListeners", "removeAllListeners", "removeListener", "setMaxListeners"),
        *("after", "all", "around", "before", "error", "hooks"),
        *("publish", "setup", "teardown"),
    }
)
"""The names that no custom method can have in a client of FeathersJS."""

HEAD: t.Final = """\
export type Id = number | string

export interface Paginated<T> {
  total: number
  limit: number
  skip: number
  data: T[]
}

export interface CallParams<Q> {
  query?: Q
  [name: string]: any
}

type Listener<T> = (record: T) => void

export interface ServiceEvents<Events> {
  on<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  once<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  off<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  addListener<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  removeListener<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this
  removeAllListeners(event?: keyof Events): this
}
"""
"""The types that those of services use."""

IMPORTS: t.Final = """\
import { feathers } from '@feathersjs/feathers'
import authenticationClient from '@feathersjs/authentication-client'
import type { Application as FeathersApplication } from '@feathersjs/feathers'
import type { FeathersService, TransportConnection } from '@feathersjs/feathers'
import type { AuthenticationClientOptions } from '@feathersjs/authentication-client'
"""
"""The imports of the client."""

TYPES: t.Final = """\
export interface Configuration {
  connection: TransportConnection<ServiceTypes>
}

/** A client whose services take and send no other events than their own. */
export type ClientApplication = {
  service<P extends keyof ServiceTypes & string>(path: P): ClientService<P>
} & FeathersApplication<ServiceTypes, Configuration>

type ClientService<P extends keyof ServiceTypes> = ServiceTypes[P] &
  Omit<FeathersService<ClientApplication, ServiceTypes[P]>, keyof ServiceEvents<any>>
"""
"""The types of a client."""

CREATE_CLIENT: t.Final = """\
type ServicePath = keyof typeof serviceMethods & keyof ServiceTypes

/**
 * Returns a client that knows the types of all services.
 *
 * @param connection The connection of a client for REST or Socket.IO
 * @param authenticationOptions Options of `@feathersjs/authentication-client`
 */
export const createClient = <_Configuration = any>(
  connection: TransportConnection<ServiceTypes>,
  authenticationOptions: Partial<AuthenticationClientOptions> = {}
): ClientApplication => {
  const client: FeathersApplication<ServiceTypes, Configuration> = feathers()

  client.configure(connection)
  client.configure(authenticationClient(authenticationOptions))
  client.set('connection', connection)

  for (const path of Object.keys(serviceMethods) as ServicePath[]) {
    const methods: readonly any[] = serviceMethods[path]
    client.use(path, connection.service(path), { methods })
  }

  return client
}
"""
"""The function that returns a client."""


def client(methods: Mapping[str, Sequence[str]]) -> str:
    """Return the types and the function of a client.

    :param methods: The methods of services by path.
    """
    listed = ",\n".join(
        f"  {json.dumps(path)}: {json.dumps(names)}" for path, names in methods.items()
    )
    constant = (
        "/** The methods of the services by path. */\n"
        f"export const serviceMethods = {{\n{listed}\n}} as const\n"
    )
    return "\n".join([TYPES, constant, CREATE_CLIENT])
