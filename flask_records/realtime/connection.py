"""A client that stays connected."""

from __future__ import annotations

import math
import threading
import time
import typing as t
from dataclasses import dataclass, field

from ..context import Params
from ..errors import TooManyRequests
from .connections import Connections

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from werkzeug.datastructures import Headers

    from ..typing import Record


BURST: t.Final = 20
"""The seconds whose calls a client may make at once, after as long a pause."""

MAX_DELAY: t.Final = 20
"""The maximum number of seconds that a call waits to begin."""


@dataclass(eq=False)
class Connection:
    """A client that stays connected, with its login and its channels."""

    id: str
    """The id of the session of Socket.IO."""

    headers: Headers = field(repr=False)
    """The headers of the first request."""

    calls_per_second: int
    """The number of calls in a second, once it has made many at once."""

    registry: Connections = field(default_factory=Connections, repr=False)
    """The connections that it is one of."""

    authentication: Record | None = field(default=None, repr=False)
    """The credentials of each of its calls."""

    login: Params = field(default_factory=Params, repr=False)
    """The params of the last check of the credentials, with the user."""

    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held while the login changes, or a call is counted."""

    expects_login: bool = field(default=False, init=False, repr=False)
    """``True`` if the client has logged in, and was not told that its login is over."""

    _channels: frozenset[str] = field(default=frozenset(), init=False)

    expires_at: float = field(default=math.inf, init=False, repr=False)
    """The time at which the token of the login expires."""

    def __post_init__(self) -> None:
        self._allowance: float = BURST * self.calls_per_second
        self._counted = time.monotonic()

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
    def is_logged_in(self) -> bool:
        """``True`` if there is a login that is valid."""
        return self.login.authenticated and not self.is_expired

    @property
    def is_expired(self) -> bool:
        """``True`` if the token of the login has expired."""
        return time.time() >= self.expires_at

    @property
    def payload(self) -> Record:
        """The payload of the login's token, or an empty one."""
        return (self.login.authentication or {}).get("payload") or {}

    def login_at(self, now: float) -> Params | None:
        """Return the login, or ``None`` if there is none that is valid.

        :param now: The time.
        """
        login = self.login
        return login if login.authenticated and now < self.expires_at else None

    def set_login(self, login: Params) -> None:
        """Set the login after a check of the credentials."""
        self.login = login
        self.expires_at = self.payload.get("exp", math.inf)
        self.registry.renew(self)

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

    def count_call(self) -> float:
        """Count a call, and return the seconds until it may begin.

        :raises TooManyRequests: It would have to wait for too long.
        """
        with self.lock:
            now, rate = time.monotonic(), self.calls_per_second
            gained = (now - self._counted) * rate
            allowance = min(self._allowance + gained, BURST * rate) - 1

            if allowance < -MAX_DELAY * rate:
                raise TooManyRequests(f"Too many calls: {rate} per second at most.")

            self._allowance, self._counted = allowance, now
            return max(0, -allowance / rate)
