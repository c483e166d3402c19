"""The signs of life of clients, without which their sessions end."""

from __future__ import annotations

import math
import time
import typing as t
from abc import ABC
from abc import abstractmethod

from engineio import packet

from .closing import NOT_JOINED
from .packets import InvalidPacket

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from .closing import Reason
    from .session import Session

JOIN_TIMEOUT: t.Final = 5
"""The seconds that a client has to connect to Socket.IO, or to begin an upgrade."""

UPGRADE_TIMEOUT: t.Final = 45
"""The seconds that a client has to stop polling. It waits for its request to be
answered.
"""

UPGRADE_PAUSE: t.Final = 0.1
"""The seconds that a request waits for packets while the client stops polling."""


class Monitored(t.Protocol):
    """A session that ends without signs of life."""

    @property
    def has_joined(self) -> bool:
        """``True`` if the client is connected to Socket.IO."""

    @property
    def is_busy(self) -> bool:
        """``True`` while packets of the client are behind its calls."""

    def ping(self) -> None:
        """Send a ping."""

    def time_out(self) -> None:
        """End the session of a client that is gone."""

    def tell_and_end(self, reason: Reason) -> None:
        """End the session once the client had time to read the reason."""


class Timing(t.Protocol):
    """The seconds that a server gives to clients."""

    ping_interval: float
    """Those between two pings."""

    ping_timeout: float
    """Those that a client has to answer."""


class Heartbeat(ABC):
    """Ends a session whose client does not connect to Socket.IO, or is gone.

    :param session: The session, which has just begun.
    :param timing: The server that has the session.
    """

    __slots__ = ("_session", "_timing", "deadline", "next_step")

    deadline: float
    """The time of the next step."""

    next_step: Callable[[], None]
    """Does what is due at the deadline."""

    def __init__(self, session: Monitored, timing: Timing) -> None:
        self._session = session
        self._timing = timing
        self._plan(self._check_joined, JOIN_TIMEOUT)

    @abstractmethod
    def hear(self) -> None:
        """Notice that the client has sent something."""

    @abstractmethod
    def take(self, pkt: packet.Packet) -> None:
        """Handle a ping or a pong of the client.

        :raises InvalidPacket: The other side sends these packets.
        """

    def end_after(self, seconds: float, end: Callable[[], None]) -> None:
        """End the session soon, whatever the client does.

        :param end: Ends it.
        """
        self._plan(end, seconds)

    def stop(self) -> None:
        """Plan no more steps."""
        self.deadline = math.inf

    @abstractmethod
    def _begin(self) -> None:
        """Plan the first step after the client has connected to Socket.IO."""

    def _plan(self, step: Callable[[], None], seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.next_step = step

    def _check_joined(self) -> None:
        if self._session.has_joined:
            self._begin()
        else:
            self._session.tell_and_end(NOT_JOINED)


class ServerPings(Heartbeat):
    """Pings the client at intervals, and waits for its pongs."""

    __slots__ = ()

    def hear(self) -> None:
        """Wait for the next ping, if there is one to be answered."""
        if self.next_step == self._time_out:
            self._plan(self._ping, self._timing.ping_interval)

    def take(self, pkt: packet.Packet) -> None:
        """Accept a pong."""
        if pkt.packet_type != packet.PONG:
            raise InvalidPacket("Clients of this protocol send no pings.")

    def _begin(self) -> None:
        # The client counts the interval from the start of the session.
        self._plan(self._ping, self._timing.ping_interval - JOIN_TIMEOUT)

    def _ping(self) -> None:
        self._plan(self._time_out, self._timing.ping_timeout)
        self._session.ping()

    def _time_out(self) -> None:
        if self._session.is_busy:
            # The pong may be behind the calls that are being answered.
            pause = self._timing.ping_interval - self._timing.ping_timeout
            self._plan(self._ping, max(0, pause))
        else:
            self._session.time_out()


class ClientPings(Heartbeat):
    """Answers the pings that the client sends at intervals."""

    __slots__ = ("_heard", "_send")

    def __init__(self, session: Session, timing: Timing) -> None:
        super().__init__(session, timing)
        self._send = session.send
        self._heard = time.monotonic()

    def hear(self) -> None:
        """Note the time."""
        self._heard = time.monotonic()

    def take(self, pkt: packet.Packet) -> None:
        """Answer a ping."""
        if pkt.packet_type != packet.PING:
            raise InvalidPacket("Clients of this protocol send no pongs.")

        self._send(packet.Packet(packet.PONG, pkt.data))

    def _begin(self) -> None:
        self._plan(self._check_silence, self._timing.ping_timeout / 2)

    def _check_silence(self) -> None:
        patience = self._timing.ping_interval + self._timing.ping_timeout

        if self._session.is_busy:
            # A ping may be behind the calls that are being answered. Any packet tells
            # the client that the server is there.
            self.hear()
            self._send(packet.Packet(packet.NOOP))
        elif time.monotonic() - self._heard > patience:
            self._session.time_out()
            return

        self._begin()
