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

from .closing import NOT_TEXT
from .closing import Reason
from .closing import too_large

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from wsproto.events import Event

CHUNK: t.Final = 64 * 1024
"""The maximum number of bytes of one read."""

FAREWELL: t.Final = 1
"""The seconds that a thread waits for a client to read the reason for closing."""

WOULD_BLOCK: t.Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class WebSocket:
    """Sends and receives the messages of one client.

    Text is received in the thread of the request, so that a client that sends too fast
    has to wait. Any thread may send. Bytes that the client does not accept at once are
    sent in the background.

    :param connection: The socket, after the handshake.
    :param max_payload: The size of the largest message in bytes, over all fragments.
    """

    def __init__(
        self,
        connection: socket.socket,
        max_payload: int,
        start: Callable[[Callable[[], None]], t.Any],
    ) -> None:
        # Threads share it, and with TLS, none of them may block in a read or write.
        connection.setblocking(False)
        self._socket = connection
        self._max_payload = max_payload
        self._start = start
        self._protocol = Connection(ConnectionType.SERVER)
        self._text = StringIO()
        self._text_size = 0
        self._lock = threading.RLock()
        self._flushing = threading.Lock()
        self._unsent: deque[bytes] = deque()
        self._unsent_size = 0
        self._offset = 0
        self._is_open = True
        self._can_send = True

    @property
    def unsent(self) -> int:
        """The number of bytes that the client has not accepted."""
        return self._unsent_size

    def send(self, frame: bytes) -> None:
        """Send a frame, unless the connection is closed."""
        with self._lock:
            if not self._is_open or not self._can_send:
                return

            is_first = not self._unsent
            self._unsent.append(frame)
            self._unsent_size += len(frame)

            if is_first:
                self._write()

            has_rest = is_first and bool(self._unsent)

        if has_rest:
            try:
                self._start(self.flush)
            except RuntimeError:
                # There are too many threads. Other connections get their frames.
                self.hang_up()

    def finish(self, reason: Reason) -> None:
        """Let the client find the reason for closing behind all that is unread."""
        with self._lock:
            self.send(close_frame(reason))
            self._can_send = False

    def flush(self) -> None:
        """Wait until all bytes are sent, or the client is gone."""
        with self._flushing:
            while True:
                with self._lock:
                    self._write()

                    if not self._unsent:
                        return

                # Another thread may close the socket.
                with suppress(OSError, ValueError):
                    wait_for(self._socket, for_writing=True)

    def receive(self, timeout: float | None = None) -> str | None:
        """Return the next message, or ``None`` if the connection has ended.

        :param timeout: The seconds to wait for bytes. No limit by default.
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

    def close(self, reason: Reason) -> None:
        """Send the client the reason for closing the connection, and hang up."""
        self.send(close_frame(reason))

        # Unread bytes would reset the connection before the client reads the reason.
        with self._lock, suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

        end = time.monotonic() + FAREWELL

        while time.monotonic() < end and self._read(FAREWELL):
            pass

        self.hang_up()

    def hang_up(self) -> None:
        """Close the connection in both directions at once."""
        with self._lock, suppress(OSError):
            self._is_open = False
            self._unsent.clear()
            self._unsent_size = 0
            # This wakes the threads that wait for the socket.
            self._socket.shutdown(socket.SHUT_RDWR)

    def _take(self, event: Event) -> str | None:
        """Handle an event, and return the message that it completes, if any."""
        if isinstance(event, TextMessage):
            return self._add(event)

        if isinstance(event, Ping):
            self.send(encode_frame(Opcode.PONG, event.payload))
            self.flush()
        elif isinstance(event, BytesMessage):
            self.close(NOT_TEXT)
        elif isinstance(event, CloseConnection):
            is_local = event.code in LOCAL_ONLY_CLOSE_REASONS
            code = CloseReason.NORMAL_CLOSURE if is_local else event.code
            self.close(Reason(code, ""))

        return None

    def _add(self, event: TextMessage) -> str | None:
        """Add a fragment, and return the message once it is complete."""
        text = event.data
        self._text_size += len(text) if text.isascii() else len(text.encode())

        if self._text_size > self._max_payload:
            self.close(too_large(self._max_payload))
            return None

        self._text.write(text)

        if not event.message_finished:
            return None

        message = self._text.getvalue()
        self._text = StringIO()
        self._text_size = 0
        return message

    def _read(self, timeout: float | None) -> bytes:
        """Return the next bytes, or no bytes if the connection has ended."""
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
        """Write as many bytes as the client accepts now."""
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
            # The client is gone, but what it has sent before can still be read.
            self._can_send = False
            self._unsent.clear()
            self._unsent_size = 0


def close_frame(reason: Reason) -> bytes:
    """Return the frame that closes a connection."""
    payload = struct.pack("!H", reason.code) + reason.text.encode()
    return encode_frame(Opcode.CLOSE, payload)


def encode_frame(opcode: Opcode, payload: bytes) -> bytes:
    """Return a whole message as one frame."""
    first, size = 0x80 | opcode, len(payload)

    if size < 126:
        return struct.pack("!BB", first, size) + payload

    if size < 1 << 16:
        return struct.pack("!BBH", first, 126, size) + payload

    return struct.pack("!BBQ", first, 127, size) + payload


def wait_for(
    connection: socket.socket, timeout: float | None = None, *, for_writing: bool
) -> bool:
    """Wait until a socket can be read, or written, and return whether it can.

    :param timeout: The seconds to wait. No limit by default.
    """
    # Looked up at each call, because gevent replaces them. Windows has no poll.
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(connection, select.POLLOUT if for_writing else select.POLLIN)
        return bool(poll.poll(None if timeout is None else timeout * 1000))

    reads, writes = ([], [connection]) if for_writing else ([connection], [])
    return any(select.select(reads, writes, [], timeout))
