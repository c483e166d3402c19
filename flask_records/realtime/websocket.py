"""A WebSocket over the socket of a WSGI server."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
import time
import typing as t
from collections import deque
from contextlib import suppress
from io import StringIO

from wsproto.connection import Connection
from wsproto.connection import ConnectionType
from wsproto.events import BytesMessage
from wsproto.events import CloseConnection
from wsproto.events import Ping
from wsproto.events import TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.frame_protocol import LOCAL_ONLY_CLOSE_REASONS
from wsproto.frame_protocol import Opcode

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from wsproto.events import Event

CHUNK: t.Final = 64 * 1024
"""How many bytes are read at once."""

UNSENT: t.Final = 32
"""How many times the largest payload a client may leave unread."""

LINGER: t.Final = 1
"""How many seconds a client has to read why its connection is closed."""

WOULD_BLOCK: t.Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class WebSocket:
    """Sends and receives the messages of one client.

    Text is received in the thread of the request, so that a client that sends more
    than is handled waits. Any thread may send. What the client does not take at once
    is sent in the background.

    :param connection: The socket, after the handshake.
    :param max_payload: The largest message in bytes, however many fragments it has.
    :param start: Runs a function in the background.
    """

    def __init__(
        self,
        connection: socket.socket,
        max_payload: int,
        start: Callable[[Callable[[], None]], t.Any],
    ) -> None:
        # Threads share it: TLS forbids that one waits inside of it for another.
        connection.setblocking(False)
        self._socket = connection
        self._max_payload = max_payload
        self._start = start
        self._protocol = Connection(ConnectionType.SERVER)
        self._text = StringIO()
        self._text_size = 0
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._unsent: deque[bytes] = deque()
        self._unsent_size = 0
        self._offset = 0
        self._is_open = True

    def send(self, frame: bytes) -> None:
        """Send a frame. A connection that is closed sends nothing.

        :param frame: The frame, of :func:`encode_frame`.
        """
        with self._lock:
            if not self._is_open:
                return

            if self._unsent_size > UNSENT * self._max_payload:
                self._hang_up()
                return

            is_first = not self._unsent
            self._unsent.append(frame)
            self._unsent_size += len(frame)

            if is_first:
                self._write()

            has_rest = is_first and bool(self._unsent)

        if has_rest:
            self._flush_in_background()

    def flush(self) -> None:
        """Wait until the client has taken all that was sent, or has gone."""
        with self._flushing:
            while True:
                with self._lock:
                    self._write()

                    if not self._unsent:
                        return

                # Its own thread may close it meanwhile.
                with suppress(OSError, ValueError):
                    wait_for(self._socket, for_writing=True)

    def receive(self, timeout: float | None = None) -> str | None:
        """Return the next message, or ``None`` if the connection has ended.

        :param timeout: How many seconds to wait for bytes. For ever by default.
        """
        while self._is_open:
            for event in self._protocol.events():
                message = self._take(event)

                if message is not None or not self._is_open:
                    return message

            data = self._read(timeout)

            if not data:
                break

            self._protocol.receive_data(data)

        return None

    def close(self, code: int, reason: str = "") -> None:
        """Tell the client why the connection is closed, and hang up.

        :param code: The code of the protocol.
        :param reason: The text, 123 bytes at most.
        """
        self.send(encode_frame(Opcode.CLOSE, struct.pack("!H", code) + reason.encode()))

        # The client would not read it if there were bytes that nobody has read.
        with self._lock, suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

        end = time.monotonic() + LINGER

        while time.monotonic() < end and self._read(LINGER):
            pass

        self.hang_up()

    def _flush_in_background(self) -> None:
        try:
            self._start(self.flush)
        except RuntimeError:
            # There are too many threads. The other connections get their frame.
            self.hang_up()

    def hang_up(self) -> None:
        """Close the connection in both directions, whatever its client does."""
        with self._lock:
            self._hang_up()

    def _hang_up(self) -> None:
        self._is_open = False
        self._unsent.clear()

        # Who waits for the socket is woken by it.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _take(self, event: Event) -> str | None:
        """Return the message that an event completes, if it does."""
        if isinstance(event, TextMessage):
            return self._add(event)

        if isinstance(event, Ping):
            self.send(encode_frame(Opcode.PONG, event.payload))
            self.flush()
        elif isinstance(event, BytesMessage):
            self.close(CloseReason.UNSUPPORTED_DATA, "Messages must be text.")
        elif isinstance(event, CloseConnection):
            code = CloseReason.NORMAL_CLOSURE
            self.close(code if event.code in LOCAL_ONLY_CLOSE_REASONS else event.code)

        return None

    def _add(self, event: TextMessage) -> str | None:
        """Add a fragment, and return the message if it is complete."""
        text = event.data
        self._text_size += len(text) if text.isascii() else len(text.encode())

        if self._text_size > self._max_payload:
            reason = f"Messages must not exceed {self._max_payload} bytes."
            self.close(CloseReason.MESSAGE_TOO_BIG, reason)
            return None

        self._text.write(text)

        if not event.message_finished:
            return None

        message = self._text.getvalue()
        self._text = StringIO()
        self._text_size = 0
        return message

    def _read(self, timeout: float | None) -> bytes:
        """Return the next bytes, or none if the connection has ended."""
        while True:
            with self._lock:
                try:
                    return self._socket.recv(CHUNK)
                except WOULD_BLOCK as error:
                    for_writing = isinstance(error, ssl.SSLWantWriteError)
                except OSError:
                    return b""

            if not wait_for(self._socket, timeout, for_writing=for_writing):
                return b""

    def _write(self) -> None:
        """Write what the client takes now."""
        try:
            while self._unsent:
                frame = self._unsent[0]
                self._offset += self._socket.send(memoryview(frame)[self._offset :])

                if self._offset == len(frame):
                    self._unsent.popleft()
                    self._unsent_size -= len(frame)
                    self._offset = 0
        except WOULD_BLOCK:
            pass
        except OSError:
            self._hang_up()


def encode_frame(opcode: Opcode, payload: bytes) -> bytes:
    """Return a frame that is a whole message.

    :param opcode: The kind of the message.
    :param payload: The message.
    """
    first, size = 0x80 | opcode, len(payload)

    if size < 126:
        return struct.pack("!BB", first, size) + payload

    if size < 1 << 16:
        return struct.pack("!BBH", first, 126, size) + payload

    return struct.pack("!BBQ", first, 127, size) + payload


def wait_for(
    connection: socket.socket, timeout: float | None = None, *, for_writing: bool
) -> bool:
    """Wait until a socket can be read or written, and return whether it can.

    :param connection: The socket.
    :param timeout: How many seconds to wait. For ever by default.
    :param for_writing: Whether it is to be written.
    """
    # Both are looked up now, since gevent replaces them. Windows has the second only.
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(connection, select.POLLOUT if for_writing else select.POLLIN)
        return bool(poll.poll(None if timeout is None else timeout * 1000))

    sockets = [connection]
    ready = select.select(
        [] if for_writing else sockets, sockets if for_writing else [], [], timeout
    )
    return any(ready)
