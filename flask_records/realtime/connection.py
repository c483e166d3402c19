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

PROVIDER: t.Final = "socketio"


@dataclass(eq=False)
class Connection:
    """A client that stays connected, and who has logged in with it."""

    id: str
    """What Socket.IO knows it by."""

    headers: Headers
    """The headers of the request that it began with."""

    calls_per_second: int
    """How many calls it can make in a second."""

    channels: set[str] = field(default_factory=set)
    """The names of the channels that it is in."""

    authentication: Record | None = None
    """What it logs in with at each call."""

    login: Params = field(default_factory=Params)
    """What was found out about who has logged in."""

    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """What is held while the login changes."""

    _allowance: float = 0
    _counted: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._allowance = 2 * self.calls_per_second

    @property
    def user(self) -> t.Any:
        """The user that has logged in, or ``None``."""
        return self.login.user

    @property
    def is_logged_in(self) -> bool:
        """Whether a login is valid."""
        return self.login.authenticated and not self.is_expired

    @property
    def is_expired(self) -> bool:
        """Whether the token of the login has expired."""
        return bool(time.time() >= self.payload.get("exp", float("inf")))

    @property
    def payload(self) -> Record:
        """What the token of the login says, if there is one."""
        return (self.login.authentication or {}).get("payload") or {}

    def join(self, *channels: str) -> None:
        """Get the events that are published to channels from now on.

        :param channels: Their names.
        """
        # A new set, since another thread may look at the old one.
        self.channels = self.channels | set(channels)

    def leave(self, *channels: str) -> None:
        """Get no more events of channels.

        :param channels: Their names.
        """
        self.channels = self.channels - set(channels)

    def params(self, query: Record) -> Params:
        """Return the params of a call.

        :param query: The query.
        """
        known = None if self.authentication is None else dict(self.authentication)
        return Params(
            query,
            provider=PROVIDER,
            headers=self.headers,
            authentication=known,
            connection=self,
        )

    def count_call(self) -> None:
        """Count a call.

        :raises TooManyRequests: There were too many.
        """
        now = time.monotonic()
        gained = (now - self._counted) * self.calls_per_second
        self._allowance = min(self._allowance + gained, 2 * self.calls_per_second)
        self._counted = now

        if self._allowance < 1:
            raise TooManyRequests(
                f"Too many calls: {self.calls_per_second} per second at most."
            )

        self._allowance -= 1
