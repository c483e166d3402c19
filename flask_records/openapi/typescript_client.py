"""The client of an application in TypeScript and JavaScript, with the names that the
generator of FeathersJS gives it.
"""

from __future__ import annotations

import json
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

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

TYPE_IMPORTS: t.Final = """\
import type { Application as FeathersApplication } from '@feathersjs/feathers'
import type { FeathersService, TransportConnection } from '@feathersjs/feathers'
import type { AuthenticationClientOptions } from '@feathersjs/authentication-client'
"""

CODE_IMPORTS: t.Final = """\
import { feathers } from '@feathersjs/feathers'
import authenticationClient from '@feathersjs/authentication-client'
"""

IMPORTS: t.Final = CODE_IMPORTS + TYPE_IMPORTS
"""The imports of a module."""

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

DESCRIPTION: t.Final = """\
/**
 * Returns a client that knows the types of all services.
 *
 * @param connection The connection of a client for REST or Socket.IO
 * @param authenticationOptions Options of `@feathersjs/authentication-client`
 */
"""

METHODS_DESCRIPTION: t.Final = "/** The methods of the services by path. */\n"

BODY: t.Final = """\
  client.configure(connection)
  client.configure(authenticationClient(authenticationOptions))
  client.set('connection', connection)
"""

TYPESCRIPT: t.Final = f"""\
type ServicePath = keyof typeof serviceMethods & keyof ServiceTypes

{DESCRIPTION}\
export const createClient = <_Configuration = any>(
  connection: TransportConnection<ServiceTypes>,
  authenticationOptions: Partial<AuthenticationClientOptions> = {{}}
): ClientApplication => {{
  const client: FeathersApplication<ServiceTypes, Configuration> = feathers()

{BODY}
  for (const path of Object.keys(serviceMethods) as ServicePath[]) {{
    const methods: readonly any[] = serviceMethods[path]
    client.use(path, connection.service(path), {{ methods }})
  }}

  return client
}}
"""
"""The function in TypeScript."""


DECLARATION: t.Final = f"""\
{DESCRIPTION}\
export declare const createClient: <_Configuration = any>(
  connection: TransportConnection<ServiceTypes>,
  authenticationOptions?: Partial<AuthenticationClientOptions>
) => ClientApplication
"""
"""The type of the function."""

JAVASCRIPT: t.Final = f"""\
const createClient = (connection, authenticationOptions = {{}}) => {{
  const client = feathers()

{BODY}
  for (const [path, methods] of Object.entries(serviceMethods)) {{
    client.use(path, connection.service(path), {{ methods }})
  }}

  return client
}}
"""
"""The function in JavaScript."""

REQUIRES: t.Final = """\
'use strict'

const { feathers } = require('@feathersjs/feathers')
const authenticationClient = require('@feathersjs/authentication-client')
"""

EXPORTS: t.Final = """\
exports.createClient = createClient
exports.serviceMethods = serviceMethods
"""


def implementation(methods: Mapping[str, Sequence[str]]) -> str:
    """Return the client in TypeScript.

    :param methods: The methods of services by path.
    """
    listed = f"export const serviceMethods = {_object(methods)} as const\n"
    return "\n".join([TYPES, METHODS_DESCRIPTION + listed, TYPESCRIPT])


def declarations(methods: Mapping[str, Sequence[str]]) -> str:
    """Return the types of a client in JavaScript."""
    listed = _object(methods, before="readonly ")
    declared = f"export declare const serviceMethods: {listed}\n"
    return "\n".join([TYPES, METHODS_DESCRIPTION + declared, DECLARATION])


def module(methods: Mapping[str, Sequence[str]]) -> str:
    """Return the client in JavaScript, as a module."""
    listed = f"export const serviceMethods = {_object(methods)}\n"
    return "\n".join([CODE_IMPORTS, listed, f"export {JAVASCRIPT}"])


def common_module(methods: Mapping[str, Sequence[str]]) -> str:
    """Return the client in JavaScript, for ``require``."""
    listed = f"const serviceMethods = {_object(methods)}\n"
    return "\n".join([REQUIRES, listed, JAVASCRIPT, EXPORTS])


def _object(methods: Mapping[str, Sequence[str]], *, before: str = "") -> str:
    """Return the methods of services by path, in JavaScript or as a type.

    :param before: The word before each name and list of a type.
    """
    listed = ",\n".join(
        f"  {before}{json.dumps(path)}: {before}{json.dumps(each)}"
        for path, each in methods.items()
    )
    return f"{{\n{listed}\n}}"
