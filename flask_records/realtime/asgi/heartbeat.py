"""The signs of life of clients, without which their sessions end."""

from __future__ import annotations

import time
import typing as t
from abc import ABC, abstractmethod

from ..closing import NOT_JOINED
from .packet import InvalidPacket, NOOP, Packet, PING, PONG

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from .event_loop import EventLoop
    from .protocol import EnginePacket
    from .session import Session

JOIN_TIMEOUT: t.Final = 5
"""The seconds that a client has to connect to Socket.IO, or to begin an upgrade."""


class Heartbeat(ABC):
    """Ends a session whose client does not connect to Socket.IO, or is gone.

    :param session: The session, which has just begun.
    :param timing: The event loop, which has the seconds that clients get.
    """

    __slots__ = ("_next_step", "_session", "_timing", "deadline")

    def __init__(self, session: Session, timing: EventLoop) -> None:
        self._session = session
        self._timing = timing
        self._plan(self._check_joined, JOIN_TIMEOUT)

    def check(self, now: float) -> None:
        """Do what is due.

        :param now: The time.
        """
        if now >= self.deadline:
            self._next_step()

    @abstractmethod
    def hear(self) -> None:
        """Notice that the client has sent something."""

    @abstractmethod
    def take(self, packet: EnginePacket) -> None:
        """Handle a ping or a pong of the client.

        :raises InvalidPacket: The other side sends these packets.
        """

    @abstractmethod
    def _begin(self) -> None:
        """Plan the first step after the client has connected to Socket.IO."""

    def _plan(self, step: Callable[[], None], seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self._next_step = step

    def _check_joined(self) -> None:
        if self._session.has_joined:
            self._begin()
        else:
            self._session.end(*NOT_JOINED)


class ServerPings(Heartbeat):
    """Pings the client at intervals, and waits for its pongs."""

    __slots__ = ()

    def hear(self) -> None:
        """Wait for the next ping, if there is one to be answered."""
        if self._next_step == self._time_out:
            self._plan(self._ping, self._timing.ping_interval)

    def take(self, packet: EnginePacket) -> None:
        """Accept a pong."""
        if packet.type != PONG.text:
            raise InvalidPacket("Clients of this protocol send no pings.")

    def _begin(self) -> None:
        # The client counts the interval from the start of the session.
        self._plan(self._ping, self._timing.ping_interval - JOIN_TIMEOUT)

    def _ping(self) -> None:
        self._plan(self._time_out, self._timing.ping_timeout)
        self._session.send(PING)

    def _time_out(self) -> None:
        if self._session.is_busy:
            # The pong may be behind the calls that are being answered.
            pause = self._timing.ping_interval - self._timing.ping_timeout
            self._plan(self._ping, max(0, pause))
        else:
            self._session.end()


class ClientPings(Heartbeat):
    """Answers the pings that the client sends at intervals."""

    __slots__ = ("_heard",)

    def __init__(self, session: Session, timing: EventLoop) -> None:
        super().__init__(session, timing)
        self.hear()

    def hear(self) -> None:
        """Note the time."""
        self._heard = time.monotonic()

    def take(self, packet: EnginePacket) -> None:
        """Answer a ping."""
        if packet.type != PING.text:
            raise InvalidPacket("Clients of this protocol send no pongs.")

        self._session.send(Packet(f"{PONG.text}{packet.data}"))

    def _begin(self) -> None:
        self._plan(self._check_silence, self._timing.ping_timeout / 2)

    def _check_silence(self) -> None:
        patience = self._timing.ping_interval + self._timing.ping_timeout

        if self._session.is_busy:
            # A ping may be behind the calls that are being answered. Any packet tells
            # the client that the server is there.
            self.hear()
            self._session.send(NOOP)

        if time.monotonic() - self._heard > patience:
            self._session.end()
        else:
            self._begin()
