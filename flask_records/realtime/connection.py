"""A client that stays connected."""

from __future__ import annotations

import threading
import time
import typing as t
from dataclasses import dataclass
from dataclasses import field

from ..context import Params
from ..errors import TooManyRequests

if t.TYPE_CHECKING:
    from werkzeug.datastructures import Headers

    from ..typing import Record


@dataclass(eq=False)
class Connection:
    """A client that stays connected, with its login and its channels."""

    id: str
    """The id of the session of Socket.IO."""

    headers: Headers = field(repr=False)
    """The headers of the first request."""

    calls_per_second: int
    """The maximum number of calls in a second. Twice as many at once."""

    channels: set[str] = field(default_factory=set)
    """The names of the channels that it has joined."""

    authentication: Record | None = field(default=None, repr=False)
    """The credentials of each of its calls."""

    login: Params = field(default_factory=Params, repr=False)
    """The params of the last check of the credentials, with the user."""

    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held while the login changes."""

    turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Held by one call after the other."""

    def __post_init__(self) -> None:
        self._allowance: float = 2 * self.calls_per_second
        self._counted = time.monotonic()

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
        return bool(time.time() >= self.payload.get("exp", float("inf")))

    @property
    def payload(self) -> Record:
        """The payload of the login's token, or an empty one."""
        return (self.login.authentication or {}).get("payload") or {}

    def join(self, *channels: str) -> None:
        """Join channels by name, to get the events that are published to them."""
        # A new set, because another thread may read the old one.
        self.channels = self.channels | set(channels)

    def leave(self, *channels: str) -> None:
        """Leave channels by name."""
        self.channels = self.channels - set(channels)

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

    def count_call(self) -> None:
        """Count a call.

        :raises TooManyRequests: There were too many calls.
        """
        now, rate = time.monotonic(), self.calls_per_second
        gained = (now - self._counted) * rate
        self._allowance = min(self._allowance + gained, 2 * rate)
        self._counted = now

        if self._allowance < 1:
            raise TooManyRequests(f"Too many calls: {rate} per second at most.")

        self._allowance -= 1
