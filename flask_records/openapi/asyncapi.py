"""The AsyncAPI document of an application: its calls and events over Socket.IO."""

from __future__ import annotations

import json
import typing as t

from flask import current_app

from ..context import Params
from ..globals import current_records
from ..http.formatter import dumps
from .answers import ERROR_SCHEMA
from .answers import reference
from .document import REALTIME
from .messages import CORRELATION
from .messages import ERROR
from .messages import list_of
from .messages import Messages
from .messages import OFFSET
from .rights import services_for
from .security import security_of
from .security import socket_schemes_of

if t.TYPE_CHECKING:
    from ..realtime.server import Server
    from ..service.schemas import Schema
    from ..typing import Record

VERSION: t.Final = "3.0.0"
"""The version of AsyncAPI."""

PROVIDER: t.Final = "socketio"
"""The transport of calls over Socket.IO."""

SERVER: t.Final = "socketio"
"""The name of the server in the document."""

NO_REALTIME: t.Final = """\
The application has no real time, so that it has no calls and events over Socket.IO. \
Call realtime.init_app(app) first.\
"""

ABOUT: t.Final = """\
Calls and events over Socket.IO.

The payload of a call or an event is the JSON of an event packet: its name, then its
arguments. The payload of an answer is the JSON of the acknowledgement packet with the
same id: `null` and the result, or an error alone. A client of Socket.IO adds and reads
the rest: `socket.emit('find', 'messages', {}, (error, result) => ...)`.
"""

HOST: t.Final = {
    "default": "127.0.0.1:5000",
    "description": "The host of the application, with its port.",
}

SOCKET_IO: t.Final = {"protocol": 5, "engine": 4, "namespace": "/"}
"""The versions of Socket.IO and Engine.IO, and the namespace of all packets."""

BINDINGS: t.Final = {
    "ws": {
        "method": "GET",
        "query": {
            "type": "object",
            "properties": {
                "EIO": {"const": "4"},
                "transport": {"const": "websocket"},
            },
            "required": ["EIO", "transport"],
        },
        "bindingVersion": "0.1.0",
    }
}
"""The first request of a connection."""

MESSAGE: t.Final = {"type": "string", "description": "A message for people."}

CONNECTION: t.Final = "connection"
"""The name of the channel for messages about the connection itself."""

MISSED: t.Final = {
    "name": "offset",
    "summary": "The place in the log of events that the client has reached",
    "payload": list_of([{"const": "offset"}, OFFSET]),
}

REFUSED: t.Final = {
    "name": "connect_error",
    "summary": "The server refuses the connection, since its token is not valid",
    "payload": {
        "type": "object",
        "properties": {"message": MESSAGE, "data": reference("schemas", "Error")},
        "required": ["message"],
    },
}


def asyncapi(params: Params | None = None, *, only_usable: bool = False) -> Record:
    """Return the AsyncAPI document of the services of the current application, as JSON
    values.

    :param params: The params of the caller who will see it, with its login. An
        anonymous client by default.
    :param only_usable: Leave out the methods that need a login which the caller does
        not have.
    :raises RuntimeError: The application has no real time.
    """
    params = params or Params(provider=PROVIDER)
    server: Server | None = current_app.extensions.get(REALTIME)
    records = current_records

    if server is None:
        raise RuntimeError(NO_REALTIME)

    has_offsets = server.settings.event_log is not None
    ended = _ended("disconnected", "The server ends the connection")
    own = {"disconnected": ended, "refused": REFUSED}

    if records.authentications:
        own["loggedOut"] = _ended("loggedOut", "The login of the connection is over")

    if has_offsets:
        own["offset"] = MISSED

    channels: dict[str, t.Any] = {CONNECTION: _connection(own)}
    operations: dict[str, t.Any] = {name: _sent(name) for name in own}
    messages: dict[str, t.Any] = {**own, ERROR: _error()}
    schemas: dict[str, t.Any] = {"Error": ERROR_SCHEMA}

    for each in services_for(params, only_usable=only_usable):
        described = Messages(
            each,
            security=[
                reference("securitySchemes", name)
                for scheme in security_of(records, each.service)
                for name in scheme
            ],
            has_offsets=has_offsets,
        )
        schemas |= described.schemas()
        messages |= described.messages()
        channels[described.name] = described.channel()
        operations |= described.operations()

    components = {
        "schemas": schemas,
        "messages": messages,
        "channelBindings": {"socketio": BINDINGS},
    }

    if records.authentications:
        components["securitySchemes"] = socket_schemes_of(records)

    made = {
        "asyncapi": VERSION,
        "info": {"title": current_app.name, "version": "1", "description": ABOUT},
        "defaultContentType": "application/json",
        "servers": {SERVER: _server(server)},
        "channels": channels,
        "operations": operations,
        "components": components,
    }
    return t.cast("Record", json.loads(dumps(made)))


def _server(server: Server) -> dict[str, t.Any]:
    name = current_app.config["SERVER_NAME"]
    is_secure = current_app.config["PREFERRED_URL_SCHEME"] == "https"
    transports = server.settings.transports or ["polling", "websocket"]
    host = {"host": name} if name else {"host": "{host}", "variables": {"host": HOST}}
    return {
        **host,
        "protocol": "wss" if is_secure else "ws",
        "protocolVersion": "13",
        "pathname": server.wsgi.path,
        "x-socket.io": {**SOCKET_IO, "transports": transports},
    }


def _connection(messages: dict[str, t.Any]) -> dict[str, t.Any]:
    return {
        "address": None,
        "title": "The connection itself",
        "messages": {name: reference("messages", name) for name in messages},
        "bindings": reference("channelBindings", "socketio"),
    }


def _ended(name: str, summary: str) -> dict[str, t.Any]:
    """Return a message that tells why something is over."""
    reason: Schema = {"type": "object", "properties": {"message": MESSAGE}}
    payload = list_of([{"const": name}, reason])
    return {"name": name, "summary": summary, "payload": payload}


def _sent(name: str) -> dict[str, t.Any]:
    """Return the operation of a message about the connection."""
    channel = f"#/channels/{CONNECTION}"
    return {
        "action": "send",
        "channel": {"$ref": channel},
        "messages": [{"$ref": f"{channel}/messages/{name}"}],
    }


def _error() -> dict[str, t.Any]:
    error: Schema = reference("schemas", "Error")
    return {
        "name": ERROR,
        "summary": "The answer to a call that has failed",
        **CORRELATION,
        "payload": list_of([error]),
    }
