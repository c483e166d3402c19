"""The ways of packets to one client, none of which waits for the client."""

from __future__ import annotations

import asyncio
import typing as t
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress

from ..closing import LINGER
from .packet import Packet
from .steps import run_in_task, run_until_it_waits

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Send: t.TypeAlias = Callable[[t.Any], Awaitable[None]]


class Outlet(t.Protocol):
    """Sends packets to one client."""

    @property
    def unsent(self) -> int:
        """The number of bytes that the client has not accepted."""

    def send(self, packet: Packet) -> None:
        """Send a packet, after all others."""

    def offer(self, packet: Packet, limit: int) -> bool:
        """Send a packet unless too much is unread, and return whether it was sent.

        :param limit: The number of bytes that may be unread, besides the last packet
            that was not offered: it may be a large answer.
        """

    def close(self, code: int, reason: str) -> None:
        """Tell the client the reason for closing, and hang up."""

    def hang_up(self) -> None:
        """Close the connection at once."""


class SocketOutlet:
    """Writes frames to the socket of the server. They are encoded once for all clients
    and never compressed.
    """

    def __init__(self, transport: asyncio.Transport, send: Send) -> None:
        self._transport = transport
        self._send = send
        self._answer_size = 0

    @property
    def unsent(self) -> int:
        """The number of bytes that the client has not accepted."""
        return self._transport.get_write_buffer_size()

    def send(self, packet: Packet) -> None:
        """Send a packet, after all others."""
        size = len(packet.frame)
        self._answer_size = max(size, min(self._answer_size, self.unsent))

        if not self._transport.is_closing():
            self._transport.write(packet.frame)

    def offer(self, packet: Packet, limit: int) -> bool:
        """Send a packet unless too much is unread, and return whether it was sent."""
        # These lines run for each event and client.
        transport = self._transport

        if transport.get_write_buffer_size() > limit + self._answer_size:
            return False

        if not transport.is_closing():
            transport.write(packet.frame)

        return True

    def close(self, code: int, reason: str) -> None:
        """Tell the client the reason for closing, and hang up."""
        message = {"type": "websocket.close", "code": code, "reason": reason}
        # Some servers wait for the client's answer, with a time limit of the task.
        run_in_task(self._tell(message))
        asyncio.get_running_loop().call_later(LINGER, self.hang_up)

    def hang_up(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    async def _tell(self, message: t.Mapping[str, t.Any]) -> None:
        # The client may have gone, and uvloop raises if the server writes then.
        if not self._transport.is_closing():
            await self._send(message)


class CountingOutlet(ABC):
    """An outlet that counts by itself what the client has not accepted."""

    unsent = 0
    """The number of characters that the client has not accepted."""

    _answer_size = 0

    def send(self, packet: Packet) -> None:
        """Send a packet, after all others."""
        size = len(packet.text)
        self._answer_size = max(size, min(self._answer_size, self.unsent))
        self._put(packet)

    def offer(self, packet: Packet, limit: int) -> bool:
        """Send a packet unless too much is unread, and return whether it was sent."""
        if self.unsent > limit + self._answer_size:
            return False

        self._put(packet)
        return True

    @abstractmethod
    def _put(self, packet: Packet) -> None:
        """Add a packet to those that are unsent."""


class ServerOutlet(CountingOutlet):
    """Sends texts by a server that shows no socket.

    :param end: Ends the task that serves the client.
    """

    def __init__(self, send: Send, end: Callable[[], object]) -> None:
        self._send = send
        self._end = end
        self._messages: deque[tuple[int, dict[str, t.Any]]] = deque()
        self._is_sending = False

    def _put(self, packet: Packet) -> None:
        size = len(packet.text)
        self._messages.append((size, {"type": "websocket.send", "text": packet.text}))
        self.unsent += size
        run_until_it_waits(self._send_all())

    def close(self, code: int, reason: str) -> None:
        """Tell the client the reason for closing, and hang up."""
        message = {"type": "websocket.close", "code": code, "reason": reason}
        self._messages.append((0, message))
        run_in_task(self._send_all())
        asyncio.get_running_loop().call_later(LINGER, self.hang_up)

    def hang_up(self) -> None:
        """Close the connection at once."""
        self._messages.clear()
        self._end()

    async def _send_all(self) -> None:
        if self._is_sending:
            return

        self._is_sending = True

        try:
            while self._messages:
                size, message = self._messages.popleft()
                await self._send(message)
                self.unsent -= size
        finally:
            self._is_sending = False


class Queue(CountingOutlet):
    """Keeps packets until the client polls."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []
        """The packets in their order."""
        self._news: asyncio.Future[None] | None = None
        self.patience: float | None = None
        """The seconds that a request waits for packets, ``None`` for any time."""
        self.is_posted_to = False
        """``True`` while a request brings packets of the client."""
        self.is_open = True
        """``False`` once there are no more packets to come."""

    @property
    def is_polled(self) -> bool:
        """``True`` while a request of the client waits for packets."""
        return self._news is not None

    def _put(self, packet: Packet) -> None:
        self.packets.append(packet)
        self.unsent += len(packet.text)
        self._tell()

    def close(self, code: int, reason: str) -> None:
        """Let the client know that the session has ended."""
        self.hang_up()

    def hang_up(self) -> None:
        """Close the connection at once."""
        self.is_open = False
        self._tell()

    async def poll(self) -> list[Packet]:
        """Wait for packets, and return them. There may be none at the end of the
        session, or of the patience.
        """
        if not self.packets and self.is_open:
            self._news = asyncio.get_running_loop().create_future()

            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.patience):
                        await self._news
            finally:
                self._news = None

        return self.take()

    def take(self) -> list[Packet]:
        """Return the packets that there are."""
        packets, self.packets, self.unsent = self.packets, [], 0
        return packets

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


def outlet_for(
    scope: t.Mapping[str, t.Any], send: Send, end: Callable[[], object]
) -> Outlet:
    """Return the outlet of a WebSocket that is open.

    A server that passes a method of its protocol shows the socket. This saves half of
    the time of an event, tells how much is unsent, and closes sockets whose clients do
    not read.

    :param end: Ends the task that serves the client.
    """
    transport = getattr(getattr(send, "__self__", None), "transport", None)

    # A connection of HTTP/2 carries other streams as well.
    if scope.get("http_version") == "1.1" and all(
        hasattr(transport, name)
        for name in ("abort", "get_write_buffer_size", "is_closing", "write")
    ):
        return SocketOutlet(t.cast(asyncio.Transport, transport), send)

    return ServerOutlet(send, end)
