"""The ends of connections that the application asks for."""

from __future__ import annotations

import typing as t
from functools import partial

from ..transaction import after_commit

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..typing import Record
    from .connection import Connection
    from .server import Server

    Selects: t.TypeAlias = Callable[["Connection", str], bool]

TOPIC: t.Final = "disconnect"
"""The topic of the messages to other workers."""

EVENT: t.Final = "disconnected"
"""The event that tells a client the reason, before its connection ends."""

REASON: t.Final = "The server has ended the connection."
"""The reason by default."""

LINGER: t.Final = 1
"""The seconds that a client has to hang up."""


def _has_user(connection: Connection, user: str) -> bool:
    login = connection.login
    path = login.authenticator.users_path if login.authenticated else None
    return path is not None and f"{path}/{login.user_id}" == user


SELECTIONS: t.Final[Mapping[str, Selects]] = {
    "user": _has_user,
    "channel": lambda connection, name: name in connection.channels,
    "connection": lambda connection, id: connection.id == id,
}
"""The key of the connections that end, and the test of a connection."""


class Disconnections:
    """Ends connections of all workers."""

    def __init__(self, server: Server) -> None:
        self._server = server
        server.bus.on(TOPIC, self._handle)

    def send(self, kind: str, value: str, reason: str | None) -> None:
        """Disconnect connections once the call in progress has been committed, or at
        once.

        :param kind: The key of the test in :data:`SELECTIONS`.
        :param value: The value that the test compares.
        :param reason: What the clients are told.
        """
        body = {"kind": kind, "value": value, "reason": reason or REASON}
        after_commit(partial(self._server.bus.send, TOPIC, body))

    def _handle(self, body: Record, id: str | None) -> None:
        """Disconnect connections of this worker."""
        server, selects = self._server, SELECTIONS[body["kind"]]
        selected = [
            connection
            for connection in list(server.connections.values())
            if selects(connection, body["value"])
        ]

        if selected:
            server.transport.disconnect(selected, {"message": body["reason"]})
