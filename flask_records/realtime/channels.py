"""The channels of an application's connections."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

if t.TYPE_CHECKING:
    from ..context import Params
    from .connection import Connection
    from .server import Server


def channel_of(login: Params) -> str | None:
    """Return the channel of all connections of a user: the path of the user's record,
    such as ``users/7``. ``None`` for a login without a user.
    """
    if login.user_id is None:
        return None

    return f"{login.authenticator.users_path}/{login.user_id}"


@dataclass(frozen=True)
class Channel:
    """A name that connections join, to get the events that are published to it."""

    name: str
    """The name."""

    _server: Server

    @property
    def connections(self) -> list[Connection]:
        """The connections of this worker that have joined."""
        return list(self._server.members(self.name))

    def join(self, *connections: Connection) -> None:
        """Let connections of this worker join."""
        for connection in connections:
            connection.join(self.name)

    def leave(self, *connections: Connection) -> None:
        """Let connections of this worker leave."""
        for connection in connections:
            connection.leave(self.name)

    def disconnect(self, reason: str | None = None) -> None:
        """Disconnect all connections that have joined, of all workers, once the call
        in progress has been committed, or at once.

        :param reason: What the clients are told.
        """
        self._server.disconnections.send("channel", self.name, reason)
