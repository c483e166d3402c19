"""A session of Engine.IO: one client that polls, or has a WebSocket."""

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

from .handshake import accept
from .handshake import HandshakeError
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
    from .gate import Place

logger = logging.getLogger(__package__)

JOIN_TIMEOUT: t.Final = 5
"""How many seconds a client has to connect to Socket.IO, or to upgrade."""

TYPES: t.Final = {str(number): number for number in range(len(packet.packet_names))}
"""The types of packets, by the text that a packet begins with."""

PROBE: t.Final = f"{packet.PING}probe"
"""The first packet of a WebSocket that replaces polling."""

TOO_MANY: t.Final = {
    "status": "503 SERVICE UNAVAILABLE",
    "headers": [("Content-Type", "text/plain"), ("Retry-After", "10")],
    "response": b"Too many connections. Try again later.",
}

Answer: t.TypeAlias = "dict[str, t.Any] | Iterable[bytes]"
"""An answer of Engine.IO to a client, or a body."""


class Session(Socket):  # type: ignore[misc]  # it has no hints
    """A client that polls, or has a WebSocket from the beginning or later on.

    :param server: The engine.
    :param sid: The id that the client knows it by.
    :param place: The place that it takes.
    """

    def __init__(self, server: Engine, sid: str, place: Place) -> None:
        super().__init__(server, sid)
        self.deadline = time.monotonic() + JOIN_TIMEOUT
        """When it is to be looked at."""
        self._next_step = self._check_joined
        self._place = place
        self._reason = server.reason.TRANSPORT_CLOSE
        self._websocket: WebSocket | None = None
        self._queued = 0
        self._sending = threading.Lock()
        self._polling = threading.Lock()
        self._posting = threading.Lock()
        self._upgrading = threading.Lock()

    def look(self) -> None:
        """Do what is due: ping the client, or end the session if it does not answer."""
        self._next_step()

    def schedule_ping(self) -> None:
        """Ping the client in a while. It has just answered."""
        self.deadline = time.monotonic() + self.server.ping_interval
        self._next_step = self._ping

    def _check_joined(self) -> None:
        if self.server.has_joined(self.sid):
            self.schedule_ping()
            # It expects the first one as early as the others.
            self.deadline -= JOIN_TIMEOUT
        else:
            self._end(self.server.reason.TRANSPORT_ERROR)

    def _ping(self) -> None:
        self.deadline = time.monotonic() + self.server.ping_timeout
        self._next_step = self._time_out
        self.send(packet.Packet(packet.PING))

    def _time_out(self) -> None:
        self._end(self.server.reason.PING_TIMEOUT)

    def _end(self, reason: str) -> None:
        """Close the session without waiting for receivers of the event."""
        self.deadline = math.inf
        self._reason = reason

        if self._websocket is not None:
            # Its own thread does the rest.
            self._websocket.hang_up()
        else:
            self.server.start_background_task(self.close, abort=True, reason=reason)

    def send(self, pkt: packet.Packet) -> None:
        """Send a packet, or keep it until the client polls.

        :param pkt: The packet.
        """
        with self._sending:
            if self._websocket is not None:
                self._websocket.send(_frame_of(pkt))
                return

            self._queued += len(pkt.encode())
            self.queue.put(pkt)

        if self._queued > UNSENT * self.server.max_http_buffer_size:
            self._end(self.server.reason.TRANSPORT_ERROR)

    def receive(self, pkt: packet.Packet) -> None:
        """Handle a packet.

        :param pkt: The packet.
        :raises EngineIOError: It ends the session.
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
        """Close the session. Nobody waits for the client: it may have gone.

        :param wait: Has no effect.
        :param abort: Whether the client is not told.
        :param reason: Why it is closed.
        """
        # Of several threads, one does it.
        if self.server.sockets.pop(self.sid, None) is not None:
            super().close(wait=False, abort=abort, reason=reason)

        if self._websocket is not None:
            self._websocket.hang_up()
        else:
            self._place.leave()

    def poll(self) -> list[packet.Packet]:
        """Return the packets for a client that polls, as soon as there are some.

        :raises EngineIOError: Another request of the session is waiting for them.
        """
        with _only_one(self._polling):
            packets = super().poll()
            self._queued = 0
            return packets  # type: ignore[no-any-return]  # it has no hints

    def handle_post_request(self, environ: WSGIEnvironment) -> None:
        """Handle the packets that a client posts.

        :param environ: The request.
        :raises EngineIOError: They end the session.
        """
        with _only_one(self._posting):
            try:
                super().handle_post_request(environ)
            except (KeyError, RecursionError, ValueError) as error:
                raise InvalidPacket("The body has no packets.") from error

    def _upgrade_websocket(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Answer:
        """Go on with a WebSocket instead of polling."""
        refusal = self.server.refusal(environ, "websocket")

        if refusal is not None:
            return self.server._bad_request(refusal)  # type: ignore[no-any-return]  # it has no hints

        place = self.server.enter(environ)

        if place is None:
            return TOO_MANY

        try:
            with _only_one(self._upgrading):
                return self.open_websocket(environ, start_response, place)
        finally:
            place.leave()

    def open_websocket(
        self, environ: WSGIEnvironment, start_response: StartResponse, place: Place
    ) -> Answer:
        """Serve a WebSocket until it is closed.

        :param environ: The request of the handshake.
        :param start_response: Begins the response.
        :param place: The place that it takes.
        """
        connection = socket_of(environ)
        assert connection is not None

        try:
            accept(environ, connection)
        except HandshakeError as error:
            return self.server._bad_request(str(error))  # type: ignore[no-any-return]  # it has no hints

        websocket = WebSocket(
            connection,
            self.server.max_http_buffer_size,
            self.server.start_background_task,
        )

        try:
            if not self.connected or self._is_confirmed(websocket):
                self._attach(websocket, place)
                self._serve(websocket)
        finally:
            websocket.hang_up()

        # The server notices that the socket is closed as it sends the response.
        start_response("101 Switching Protocols", [])
        return ()

    def _is_confirmed(self, websocket: WebSocket) -> bool:
        """Return whether a client that polls goes on with a WebSocket."""
        self.upgrading = True

        try:
            if websocket.receive(JOIN_TIMEOUT) != PROBE:
                return False

            websocket.send(_frame_of(packet.Packet(packet.PONG, "probe")))
            # It ends the request that polls.
            self.queue.put(packet.Packet(packet.NOOP))
            return websocket.receive(JOIN_TIMEOUT) == str(packet.UPGRADE)
        finally:
            self.upgrading = False

    def _attach(self, websocket: WebSocket, place: Place) -> None:
        """Send by a WebSocket from now on, beginning with what was kept."""
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
        """Handle what the client sends, one message after the other."""
        try:
            while not self.closed:
                text = websocket.receive()

                if text is None:
                    break

                pkt = _parsed(text)
                self.receive(pkt)

                if pkt.packet_type == packet.MESSAGE:
                    # A client that does not take its answers calls no more.
                    websocket.flush()
        except EngineIOError as error:
            websocket.close(CloseReason.POLICY_VIOLATION, str(error))
        finally:
            self.close(abort=True, reason=self._reason)


@contextmanager
def _only_one(lock: threading.Lock) -> Iterator[None]:
    """Refuse another request of the same kind meanwhile."""
    if not lock.acquire(blocking=False):
        raise EngineIOError("Another request of the session is under way.")

    try:
        yield
    finally:
        lock.release()


def _parsed(text: str) -> packet.Packet:
    if text[:1] not in TYPES:
        raise InvalidPacket("A packet must begin with its type.")

    return packet.Packet(TYPES[text[:1]], text[1:])


def _frame_of(pkt: packet.Packet) -> bytes:
    """Return the frame of a packet, which is made once for all connections."""
    frame: bytes | None = getattr(pkt, "frame", None)

    if frame is None:
        frame = pkt.frame = encode_frame(Opcode.TEXT, pkt.encode().encode())

    return frame
