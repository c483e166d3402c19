"""Senders of packets to one client, none of which waits for the client."""

from __future__ import annotations

import asyncio
import socket
import typing as t
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager, suppress
from operator import attrgetter

if t.TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ..protocol import Packet
    from .requests import Receive, Scope, Send

    Message: t.TypeAlias = dict[str, t.Any]

LINGER: t.Final = 5
"""The seconds that a client has to read the reason for closing."""

READ_TIMEOUT: t.Final = 45
"""The seconds after which a client of a stream is gone that accepts nothing."""


def body_message(packet: Packet) -> Message:
    """Return the message of a part of a response."""
    return {"type": "http.response.body", "body": packet.plain, "more_body": True}


class Sender(ABC):
    """Sends packets to one client."""

    unsent = 0
    """The number of bytes that the client has not accepted."""

    _answer_size = 0

    @property
    def unsent_events(self) -> int:
        """The number of bytes that the client has not accepted, without an answer."""
        return self.unsent - self._answer_size

    def send(self, packet: Packet) -> None:
        """Send the answer to a call, of any size."""
        size = packet.size
        self._answer_size = max(size, min(self._answer_size, self.unsent))
        self._put(packet)

    def offer(self, packet: Packet, limit: int) -> bool:
        """Send a packet unless too much is unread, and return whether it was sent.

        :param limit: The number of bytes that may be unread, besides the last answer.
        """
        if self.unsent > limit + self._answer_size:
            return False

        self._put(packet)
        return True

    def close(self, message: Message) -> None:
        """Let :meth:`finish` send a last message if there can be one, and hang up."""
        self.hang_up()

    @abstractmethod
    def hang_up(self) -> None:
        """Close the connection at once."""

    async def finish(self) -> None:
        """Send the last message, once the client is served no more."""
        return

    @abstractmethod
    def _put(self, packet: Packet) -> None:
        """Add a packet to those that are unsent."""


class PollQueue(Sender):
    """Keeps packets until the client polls, or has another sender."""

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

    def hang_up(self) -> None:
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

    def _put(self, packet: Packet) -> None:
        self.packets.append(packet)
        self.unsent += packet.size
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class OpenSender(Sender):
    """Sends packets as long as a task of the server serves the client.

    :param end: Ends the task.
    """

    def __init__(self, send: Send, end: Callable[[], object]) -> None:
        self._send = send
        self._end = end
        self._last: Message | None = None

    def close(self, message: Message) -> None:
        self._last = message
        self._end()

    async def finish(self) -> None:
        if self._last is None:
            return

        try:
            async with asyncio.timeout(LINGER):
                await self._flush()
                await self._send(self._last)
        except TimeoutError:
            self.hang_up()
        except OSError:
            # The client has gone.
            return

    async def _flush(self) -> None:
        return


class SocketSender(OpenSender):
    """Writes packets to the socket of the server. They are encoded once for all clients
    and never compressed.

    :param form: The form of the packets: ``frame`` of a WebSocket, or ``chunk``.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        send: Send,
        end: Callable[[], object],
        form: str = "frame",
    ) -> None:
        super().__init__(send, end)
        self._transport = transport
        self._bytes_of: Callable[[Packet], bytes] = attrgetter(form)

    @property
    def unsent(self) -> int:  # type: ignore[override]  # the transport counts it
        return self._transport.get_write_buffer_size()

    def offer(self, packet: Packet, limit: int) -> bool:
        # These lines run for each event and client.
        transport = self._transport

        if transport.get_write_buffer_size() > limit + self._answer_size:
            return False

        if not transport.is_closing():
            transport.write(self._bytes_of(packet))

        return True

    def hang_up(self) -> None:
        self._transport.abort()

    async def finish(self) -> None:
        # uvloop raises if the server writes then.
        if not self._transport.is_closing():
            await super().finish()

    def _put(self, packet: Packet) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._bytes_of(packet))


class ServerSender(OpenSender):
    """Sends packets by a server that shows no socket, in a task.

    :param is_response: Send parts of a response, not messages of a WebSocket.
    """

    def __init__(
        self, send: Send, end: Callable[[], object], *, is_response: bool = False
    ) -> None:
        super().__init__(send, end)
        self._is_response = is_response
        self._packets: asyncio.Queue[Packet | None] = asyncio.Queue()
        self._task = asyncio.get_running_loop().create_task(self._send_all())

    def hang_up(self) -> None:
        self._task.cancel()
        self._end()

    def _put(self, packet: Packet) -> None:
        self.unsent += packet.size
        self._packets.put_nowait(packet)

    async def _flush(self) -> None:
        self._packets.put_nowait(None)
        await asyncio.wait([self._task])

    async def _send_all(self) -> None:
        # The client may have gone.
        with suppress(OSError):
            while (packet := await self._packets.get()) is not None:
                message = {"type": "websocket.send", "text": packet.text}
                await self._send(body_message(packet) if self._is_response else message)
                self.unsent -= packet.size


@asynccontextmanager
async def until_ended() -> AsyncIterator[Callable[[], None]]:
    """Let a sender end the block, which serves its client in the task of the server:
    the block gets a function that does.
    """
    block = asyncio.timeout(None)

    def end() -> None:
        # The task may serve the next client of a connection, or end already.
        with suppress(RuntimeError):
            block.reschedule(0)

    try:
        async with block:
            yield end
    except TimeoutError:
        if not block.expired():
            raise


def socket_sender(scope: Scope, send: Send, end: Callable[[], object]) -> OpenSender:
    """Return the sender of a WebSocket that is open.

    A server that passes a method of its protocol shows the socket. This saves half of
    the time of an event, counts what is unsent, and closes sockets whose clients do
    not read.

    :param end: Ends the task that serves the client.
    """
    transport = transport_of(scope, getattr(send, "__self__", None))

    if transport is None:
        return ServerSender(send, end)

    return SocketSender(transport, send, end)


def response_sender(
    scope: Scope, receive: Receive, send: Send, end: Callable[[], object]
) -> OpenSender:
    """Return the sender of a response that has begun.

    :param end: Ends the task that serves the client.
    """
    # gunicorn passes a method of a reader, which has the protocol.
    owner = getattr(receive, "__self__", None)
    transport = transport_of(scope, getattr(owner, "protocol", owner))

    if transport is None:
        return ServerSender(send, end, is_response=True)

    if not transport.is_closing():
        _limit_silence(transport)

    return SocketSender(transport, send, end, "chunk")


def transport_of(scope: Scope, owner: t.Any) -> asyncio.Transport | None:
    """Return the transport of a server's protocol, if it has one to write to."""
    transport = getattr(owner, "transport", None)
    names = ("abort", "get_write_buffer_size", "is_closing", "write")

    # A connection of HTTP/2 carries other streams as well.
    is_own = scope["http_version"] == "1.1"
    is_shown = is_own and all(hasattr(transport, name) for name in names)
    return t.cast("asyncio.Transport", transport) if is_shown else None


def _limit_silence(transport: asyncio.Transport) -> None:
    """Let the system end a connection whose client accepts nothing for a time."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    own = transport.get_extra_info("socket")

    # Sockets of files have no such option, nor have some systems.
    if option is not None and own is not None and own.family != socket.AF_UNIX:
        own.setsockopt(socket.IPPROTO_TCP, option, READ_TIMEOUT * 1000)
