"""A session of Engine.IO: one client that polls or has a WebSocket."""

from __future__ import annotations

import logging
import math
import threading
import time
import typing as t
from contextlib import contextmanager

from engineio import packet
from engineio.exceptions import EngineIOError
from engineio.socket import Socket
from wsproto.frame_protocol import CloseReason
from wsproto.frame_protocol import Opcode

from .gate import Place
from .handshake import accept
from .hosting import socket_of
from .packets import InvalidPacket
from .websocket import encode_frame
from .websocket import UNSENT
from .websocket import WebSocket

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator

    from _typeshed.wsgi import StartResponse
    from _typeshed.wsgi import WSGIEnvironment

    from .engine import Engine

logger = logging.getLogger(__package__)

JOIN_TIMEOUT: t.Final = 5
"""The seconds that a client has to connect to Socket.IO, or to upgrade."""

PACKET_TYPES: t.Final = {str(type): type for type in range(len(packet.packet_names))}
"""The types of packets, by the first character of a packet."""

PROBE: t.Final = f"{packet.PING}probe"
"""The first packet of a WebSocket that replaces polling."""

Answer: t.TypeAlias = "dict[str, t.Any] | Iterable[bytes]"
"""An answer of Engine.IO, or the body of a response."""


class Session(Socket):  # type: ignore[misc]  # it has no hints
    """A client that polls or has a WebSocket. It may upgrade to a WebSocket later."""

    def __init__(self, server: Engine, sid: str, place: Place) -> None:
        super().__init__(server, sid)
        self.deadline = time.monotonic() + JOIN_TIMEOUT
        """The time of the next step."""
        self.next_step = self._check_joined
        """Does what is due at the deadline."""
        self._place = place
        self._close_reason = server.reason.TRANSPORT_CLOSE
        self._websocket: WebSocket | None = None
        self._queued_size = 0
        self._sending = threading.Lock()
        self._polling = threading.Lock()
        self._posting = threading.Lock()
        self._upgrading = threading.Lock()

    def schedule_ping(self) -> None:
        """Ping the client after an interval. It has just answered."""
        self.deadline = time.monotonic() + self.server.ping_interval
        self.next_step = self._ping

    def _check_joined(self) -> None:
        if self.server.has_joined(self.sid):
            self.schedule_ping()
            # The client counts the interval from the start of the session.
            self.deadline -= JOIN_TIMEOUT
        else:
            self._end(self.server.reason.TRANSPORT_ERROR)

    def _ping(self) -> None:
        self.deadline = time.monotonic() + self.server.ping_timeout
        self.next_step = self._time_out
        self.send(packet.Packet(packet.PING))

    def _time_out(self) -> None:
        self._end(self.server.reason.PING_TIMEOUT)

    def _end(self, reason: str) -> None:
        """Close the session without waiting for the receivers of the event."""
        self.deadline = math.inf
        self._close_reason = reason

        if self._websocket is not None:
            # The thread that serves the WebSocket does the rest.
            self._websocket.hang_up()
        else:
            self.server.start_background_task(self.close, abort=True, reason=reason)

    def send(self, pkt: packet.Packet) -> None:
        """Send a packet, or keep it until the client polls."""
        with self._sending:
            if self._websocket is not None:
                self._websocket.send(_frame_of(pkt))
                return

            self._queued_size += len(pkt.encode())
            self.queue.put(pkt)

        if self._queued_size > UNSENT * self.server.max_http_buffer_size:
            self._end(self.server.reason.TRANSPORT_ERROR)

    def receive(self, pkt: packet.Packet) -> None:
        """Handle a packet.

        :raises EngineIOError: The packet ends the session.
        """
        if pkt.packet_type != packet.MESSAGE:
            super().receive(pkt)
            return

        if not pkt.data:
            raise InvalidPacket("A packet must not be empty.")

        try:
            self.server.handlers["message"](self.sid, pkt.data)
        except InvalidPacket:
            raise
        except Exception:
            logger.exception("A message of a client could not be handled.")

    def close(
        self, wait: bool = True, abort: bool = False, reason: str | None = None
    ) -> None:
        """Close the session without waiting for the client, which may be gone."""
        # Only one of several threads closes it.
        if self.server.sockets.pop(self.sid, None) is not None:
            super().close(wait=False, abort=abort, reason=reason)

        if self._websocket is not None:
            self._websocket.hang_up()
        else:
            self._place.leave()

    def poll(self) -> list[packet.Packet]:
        """Wait for packets, or raise :exc:`EngineIOError` if another request does."""
        with _exclusive(self._polling):
            packets = super().poll()
            self._queued_size = 0
            return packets  # type: ignore[no-any-return]  # it has no hints

    def handle_post_request(self, environ: WSGIEnvironment) -> None:
        """Handle posted packets. Invalid ones raise :exc:`EngineIOError`."""
        with _exclusive(self._posting):
            try:
                super().handle_post_request(environ)
            except (KeyError, RecursionError, ValueError) as error:
                raise InvalidPacket("The body has no packets.") from error

    def _upgrade_websocket(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Answer:
        """Replace polling by a WebSocket."""
        place = self.server.enter(environ, "websocket")

        if not isinstance(place, Place):
            return t.cast("Answer", place)

        try:
            with _exclusive(self._upgrading):
                return self.open_websocket(environ, start_response, place)
        finally:
            place.leave()

    def open_websocket(
        self, environ: WSGIEnvironment, start_response: StartResponse, place: Place
    ) -> Answer:
        """Serve a WebSocket until it is closed."""
        connection = socket_of(environ)
        assert connection is not None

        if not accept(environ, connection):
            reason = "This is not a handshake of WebSocket version 13."
            return self.server._bad_request(reason)  # type: ignore[no-any-return]  # it has no hints

        start = self.server.start_background_task
        websocket = WebSocket(connection, self.server.max_http_buffer_size, start)

        try:
            if not self.connected or self._confirm_upgrade(websocket):
                self._attach(websocket, place)
                self._serve(websocket)
        finally:
            websocket.hang_up()

        # The server notices that the socket is closed as it sends the response.
        start_response("101 Switching Protocols", [])
        return ()

    def _confirm_upgrade(self, websocket: WebSocket) -> bool:
        """Return whether the client confirms that a WebSocket replaces polling."""
        self.upgrading = True

        try:
            if websocket.receive(JOIN_TIMEOUT) != PROBE:
                return False

            websocket.send(_frame_of(packet.Packet(packet.PONG, "probe")))
            # This ends the request that polls.
            self.queue.put(packet.Packet(packet.NOOP))
            return websocket.receive(JOIN_TIMEOUT) == str(packet.UPGRADE)
        finally:
            self.upgrading = False

    def _attach(self, websocket: WebSocket, place: Place) -> None:
        """Send the queued packets, and later ones, over a WebSocket."""
        with self._sending:
            while not self.queue.empty():
                pkt = self.queue.get()

                if pkt is not None:
                    websocket.send(_frame_of(pkt))

            self._websocket = websocket
            self.connected = self.upgraded = True

        if self._place is not place:
            self._place.leave()

    def _serve(self, websocket: WebSocket) -> None:
        """Handle the messages of the client, one after the other."""
        try:
            while not self.closed and (text := websocket.receive()) is not None:
                pkt = _parse(text)
                self.receive(pkt)

                if pkt.packet_type == packet.MESSAGE:
                    # A client that does not read its answers can make no calls.
                    websocket.flush()
        except EngineIOError as error:
            websocket.close(CloseReason.POLICY_VIOLATION, str(error))
        finally:
            self.close(abort=True, reason=self._close_reason)


@contextmanager
def _exclusive(lock: threading.Lock) -> Iterator[None]:
    """Refuse other requests of the same kind while the block runs."""
    if not lock.acquire(blocking=False):
        raise EngineIOError("Another request of the session is under way.")

    try:
        yield
    finally:
        lock.release()


def _parse(text: str) -> packet.Packet:
    if text[:1] not in PACKET_TYPES:
        raise InvalidPacket("A packet must begin with its type.")

    return packet.Packet(PACKET_TYPES[text[:1]], text[1:])


def _frame_of(pkt: packet.Packet) -> bytes:
    """Return the frame of a packet. All connections share it."""
    frame: bytes | None = getattr(pkt, "frame", None)

    if frame is None:
        frame = pkt.frame = encode_frame(Opcode.TEXT, pkt.encode().encode())

    return frame
