"""Senders of packets to one client, none of which waits for the client."""

from __future__ import annotations

import asyncio
import socket
import struct
import typing as t
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .admission import Receive, Send
    from .protocol import Packet

    Message: t.TypeAlias = dict[str, t.Any]
    Scope: t.TypeAlias = Mapping[str, t.Any]

LINGER: t.Final = 5
"""The seconds that a client has to read the reason for closing."""

RESET: t.Final = struct.pack("ii", 1, 0)
"""Lets the end of a connection be a reset."""


def text_message(packet: Packet) -> Message:
    """Return the message of a WebSocket with a packet."""
    return {"type": "websocket.send", "text": packet.text}


def body_message(packet: Packet) -> Message:
    """Return the message of a part of a response."""
    return {"type": "http.response.body", "body": packet.frame, "more_body": True}


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
        size = len(packet.frame)
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

    @abstractmethod
    def close(self, message: Message) -> None:
        """Send a last message, and hang up."""

    @abstractmethod
    def hang_up(self) -> None:
        """Close the connection at once."""

    async def finish(self) -> None:
        """Wait until the last message is sent, once the client is served no more."""
        return

    @abstractmethod
    def _put(self, packet: Packet) -> None:
        """Add a packet to those that are unsent."""


class SocketSender(Sender):
    """Writes frames to the socket of the server. They are encoded once for all clients
    and never compressed.
    """

    def __init__(self, transport: asyncio.Transport, send: Send) -> None:
        self._transport = transport
        self._send = send
        self._closing: asyncio.Task[None] | None = None

    @property
    def unsent(self) -> int:  # type: ignore[override]  # the transport counts it
        """The number of bytes that the client has not accepted."""
        return self._transport.get_write_buffer_size()

    def offer(self, packet: Packet, limit: int) -> bool:
        """Send a packet unless too much is unread, and return whether it was sent."""
        # These lines run for each event and client.
        transport = self._transport

        if transport.get_write_buffer_size() > limit + self._answer_size:
            return False

        if not transport.is_closing():
            transport.write(packet.frame)

        return True

    def close(self, message: Message) -> None:
        """Send a last message, and hang up."""
        # Some servers wait for the client's answer, with a time limit of the task.
        loop = asyncio.get_running_loop()
        self._closing = loop.create_task(self._tell(message))
        loop.call_later(LINGER, self.hang_up)

    def hang_up(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def _put(self, packet: Packet) -> None:
        if not self._transport.is_closing():
            self._transport.write(packet.frame)

    async def _tell(self, message: Message) -> None:
        # The client may have gone, and uvloop raises if the server writes then.
        if not self._transport.is_closing():
            with suppress(OSError):
                await self._send(message)


class ResponseSender(SocketSender):
    """Writes the parts of a response to the socket of the server.

    :param end: Ends the task that serves the client.
    :param is_chunked: ``False`` if the response ends with its connection.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        send: Send,
        end: Callable[[], object],
        is_chunked: bool,
    ) -> None:
        super().__init__(transport, send)
        self._end = end
        self._is_chunked = is_chunked
        self._last: Message | None = None

    def close(self, message: Message) -> None:
        """Send a last message. The connection stays for other requests."""
        self._last = message
        self._end()

    def hang_up(self) -> None:
        """Break the connection, so that the response is not taken for a whole one."""
        if not self._is_chunked and not self._transport.is_closing():
            own = self._transport.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

        super().hang_up()

    async def finish(self) -> None:
        """Send the last message."""
        if self._last is not None:
            await self._tell(self._last)


class ServerSender(Sender):
    """Sends packets by a server that shows no socket, in a task.

    :param end: Ends the task that serves the client.
    :param form: Makes the message of a packet.
    """

    def __init__(
        self,
        send: Send,
        end: Callable[[], object],
        form: Callable[[Packet], Message] = text_message,
    ) -> None:
        self._send = send
        self._end = end
        self._form = form
        self._packets: asyncio.Queue[Packet | Message] = asyncio.Queue()
        self._task = asyncio.get_running_loop().create_task(self._send_all())

    def close(self, message: Message) -> None:
        """Send a last message, and hang up."""
        self._packets.put_nowait(message)
        asyncio.get_running_loop().call_later(LINGER, self.hang_up)

    def hang_up(self) -> None:
        """Close the connection at once."""
        self._task.cancel()
        self._end()

    async def finish(self) -> None:
        """Wait until the last message is sent."""
        await asyncio.wait([self._task])

    def _put(self, packet: Packet) -> None:
        self.unsent += len(packet.frame)
        self._packets.put_nowait(packet)

    async def _send_all(self) -> None:
        # The client may have gone.
        with suppress(OSError):
            while not isinstance(packet := await self._packets.get(), dict):
                await self._send(self._form(packet))
                self.unsent -= len(packet.frame)

            # granian sends it once nothing is received any more.
            asyncio.get_running_loop().call_soon(self._end)
            await self._send(packet)


class PollQueue(Sender):
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

    def close(self, message: Message) -> None:
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

    def _put(self, packet: Packet) -> None:
        self.packets.append(packet)
        self.unsent += len(packet.frame)
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


@contextmanager
def until_ended() -> Iterator[Callable[[], None]]:
    """Let a sender end the block, which serves its client in the task of the server:
    the block gets a function that does.
    """
    task = t.cast("asyncio.Task[None]", asyncio.current_task())
    is_over = is_ended = False

    def end() -> None:
        nonlocal is_ended

        # The task may serve the next client of a connection.
        if not is_over and not is_ended:
            is_ended = True
            task.cancel()

    try:
        yield end
    except asyncio.CancelledError:
        # The server may cancel it, too.
        if not is_ended:
            raise
    finally:
        is_over = True


def sender_for(scope: Scope, send: Send, end: Callable[[], object]) -> Sender:
    """Return the sender of a WebSocket that is open.

    A server that passes a method of its protocol shows the socket. This saves half of
    the time of an event, counts what is unsent, and closes sockets whose clients do
    not read.

    :param end: Ends the task that serves the client.
    """
    transport = _transport_of(scope, getattr(send, "__self__", None))
    return (
        ServerSender(send, end) if transport is None else SocketSender(transport, send)
    )


def socket_of(scope: Scope, receive: Receive) -> tuple[asyncio.Transport | None, bool]:
    """Return the transport of a response that has begun, if the server shows it, and
    whether its parts are chunks.
    """
    # gunicorn passes a method of a reader, which has the protocol.
    owner = getattr(receive, "__self__", None)
    protocol = getattr(owner, "protocol", owner)

    # The protocol of uWSGI has parts without a frame.
    if getattr(protocol, "_uses_uwsgi", False):
        return None, False

    # uvicorn with httptools sends chunks to clients of HTTP/1.0, too.
    is_chunked = getattr(owner, "chunked_encoding", scope.get("http_version") == "1.1")
    return _transport_of(scope, protocol), bool(is_chunked)


def _transport_of(scope: Scope, owner: t.Any) -> asyncio.Transport | None:
    transport = getattr(owner, "transport", None)
    names = ("abort", "get_write_buffer_size", "is_closing", "write")

    # A connection of HTTP/2 carries other streams as well.
    if scope.get("http_version") in ("1.0", "1.1") and all(
        hasattr(transport, name) for name in names
    ):
        return t.cast("asyncio.Transport", transport)

    return None
