"""The connections of one worker, and the channels that they join."""

from __future__ import annotations

import math
import threading
import time
import typing as t
from dataclasses import dataclass, field

from ..service.context import Params

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from werkzeug.datastructures import Headers

    from ..typing import Record
    from .asgi.client import Client
    from .server import Server
    from .testing import SocketClient

    Names: t.TypeAlias = frozenset[str]


class Reason(t.NamedTuple):
    """A reason for closing a connection, which clients get."""

    code: int
    """The code of WebSockets."""

    reason: str
    """The reason in words, 123 bytes at most."""


LOAD_ANEW: t.Final = Reason(1013, "Events are lost. Connect again, and load anew.")


class Connections:
    """The connections of one worker, by channel. All threads may change them.

    A connection is found from :meth:`add` to :meth:`remove`.
    """

    def __init__(self) -> None:
        # Dicts are sets that keep the order.
        self._all: dict[Connection, None] = {}
        self._members: dict[str, dict[Connection, None]] = {}
        # Nothing that takes another lock, and nothing of the application, runs in it.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._all

    def all(self) -> list[Connection]:
        """Return all connections."""
        return list(self._all)

    def members(self, *channels: str) -> list[Connection]:
        """Return the connections in a channel, or each one in any of several."""
        with self._lock:
            groups = [self._members.get(name, {}) for name in channels]
            return list({each: None for group in groups for each in group})

    def add(self, connection: Connection) -> None:
        """Add a connection that was made for these."""
        with self._lock:
            self._all[connection] = None
            self._enter(connection, connection.channels)

    def remove(self, connection: Connection) -> bool:
        """Remove a connection, and return whether it was there."""
        with self._lock:
            if connection not in self._all:
                return False

            del self._all[connection]
            self._leave(connection, connection.channels)

        return True

    def move(
        self, connection: Connection, change: Callable[[Names], Iterable[str]]
    ) -> None:
        """Change the channels of a connection.

        :param change: Returns the new channels for the present ones.
        """
        with self._lock:
            before = connection.channels
            after = connection._channels = frozenset(change(before))

            if connection in self._all:
                self._leave(connection, before - after)
                self._enter(connection, after - before)

    def _enter(self, connection: Connection, channels: Names) -> None:
        for name in channels:
            self._members.setdefault(name, {})[connection] = None

    def _leave(self, connection: Connection, channels: Names) -> None:
        for name in channels:
            members = self._members[name]
            del members[connection]

            if not members:
                del self._members[name]


@dataclass(eq=False)
class Connection:
    """A client that stays connected, with its login and its channels."""

    id: str
    """The id, as clients of Socket.IO know it."""

    headers: Headers = field(repr=False)
    """The headers of the first request."""

    registry: Connections = field(default_factory=Connections, repr=False)
    """The connections that it is one of."""

    authentication: Record | None = field(default=None, repr=False)
    """The credentials of each of its calls."""

    login: Params = field(default_factory=Params, repr=False)
    """The params of the last check of the credentials, with the user."""

    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held while the login changes."""

    client: Client | SocketClient | None = field(default=None, repr=False)
    """The client that gets events, once it is connected."""

    _channels: frozenset[str] = field(default=frozenset(), init=False)

    expires_at: float = field(default=math.inf, init=False, repr=False)
    """The time at which the token of the login expires."""

    @property
    def channels(self) -> frozenset[str]:
        """The names of the channels that it has joined."""
        return self._channels

    @channels.setter
    def channels(self, names: Iterable[str]) -> None:
        channels = frozenset(names)
        self.registry.move(self, lambda present: channels)

    @property
    def user(self) -> t.Any:
        """The user who has logged in, or ``None``."""
        return self.login.user

    @property
    def user_channel(self) -> str | None:
        """The channel of all connections of the user: the path of the user's record,
        such as ``users/7``. ``None`` for a login without a user.
        """
        if self.login.user_id is None:
            return None

        return f"{self.login.authenticator.users_path}/{self.login.user_id}"

    @property
    def valid_login(self) -> Params | None:
        """The login, or ``None`` if there is none that is valid."""
        login = self.login
        return login if login.authenticated and time.time() < self.expires_at else None

    @property
    def is_logged_in(self) -> bool:
        """``True`` if there is a login that is valid."""
        return self.valid_login is not None

    @property
    def payload(self) -> Record:
        """The payload of the login's token, or an empty one."""
        return (self.login.authentication or {}).get("payload") or {}

    def join(self, *channels: str) -> None:
        """Join channels by name, to get the events that are published to them."""
        self.registry.move(self, lambda present: present.union(channels))

    def leave(self, *channels: str) -> None:
        """Leave channels by name."""
        self.registry.move(self, lambda present: present.difference(channels))

    def params(self, query: Record) -> Params:
        """Return the params of a call."""
        credentials = self.authentication
        return Params(
            query,
            provider="socketio",
            headers=self.headers,
            authentication=None if credentials is None else dict(credentials),
            connection=self,
        )


@dataclass(frozen=True)
class Channel:
    """A name that connections join, to get the events that are published to it."""

    name: str
    """The name."""

    _server: Server

    @property
    def connections(self) -> list[Connection]:
        """The connections of this worker that have joined."""
        return self._server.connections.members(self.name)

    def disconnect(self, reason: str | None = None) -> None:
        """Disconnect all connections that have joined, of all workers, once the call
        in progress has been committed, or at once.

        :param reason: The reason that the clients get.
        """
        self._server.disconnect_members(self.name, reason)
