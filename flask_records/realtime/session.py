"""A session of Engine.IO: one client that polls or has a WebSocket."""

from __future__ import annotations

import logging
import threading
import typing as t
from contextlib import contextmanager
from contextlib import suppress

from engineio import packet
from engineio.exceptions import EngineIOError
from engineio.exceptions import QueueEmpty
from engineio.socket import Socket
from socketio.packet import ACK
from socketio.packet import EVENT
from wsproto.frame_protocol import Opcode

from .closing import invalid
from .closing import LATE_READER
from .closing import LINGER
from .gate import Place
from .handshake import accept
from .heartbeat import JOIN_TIMEOUT
from .heartbeat import UPGRADE_PAUSE
from .heartbeat import UPGRADE_TIMEOUT
from .hosting import socket_of
from .inbox import Inbox
from .packets import InvalidPacket
from .payloads import check_sizes
from .payloads import decode
from .payloads import parse
from .protocols import adapted
from .requests import body_of
from .websocket import encode_frame
from .websocket import WebSocket

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator

    from _typeshed.wsgi import StartResponse
    from _typeshed.wsgi import WSGIEnvironment

    from .closing import Reason
    from .engine import Engine
    from .protocols import Protocol

logger = logging.getLogger(__package__)

PROBE: t.Final = f"{packet.PING}probe"
"""The first packet of a WebSocket that replaces polling."""

EVENTS: t.Final = (str(EVENT), str(ACK))
"""The first characters of messages of clients that are connected to Socket.IO."""


Answer: t.TypeAlias = "dict[str, t.Any] | Iterable[bytes]"
"""An answer of Engine.IO, or the body of a response."""


class Session(Socket):  # type: ignore[misc]  # it has no hints
    """A client that polls or has a WebSocket. It may upgrade to a WebSocket later.

    :param protocol: The protocol that the client speaks.
    :param place: Its place among the connections of the server.
    """

    def __init__(
        self, server: Engine, sid: str, protocol: Protocol, place: Place
    ) -> None:
        super().__init__(server, sid)
        self.protocol = protocol
        """The protocol that the client speaks."""
        self.heartbeat = protocol.heartbeat(self, server)
        """Ends the session when the client is gone."""
        self._place = place
        self._close_reason = server.reason.TRANSPORT_CLOSE
        self._websocket: WebSocket | None = None
        self._queued_size = 0
        self._answer_size = 0
        self._is_late = False
        self._inbox = Inbox(self)
        self._is_waiting = False
        self._sending = threading.Lock()
        self._moved = threading.Condition(self._sending)
        self._polling = threading.Lock()
        self._posting = threading.Lock()
        self._upgrading = threading.Lock()
        # A receiver of the connection may close it.
        self._joining = threading.RLock()

    @property
    def has_joined(self) -> bool:
        """``True`` if the client is connected to Socket.IO."""
        return bool(self.server.has_joined(self.sid))

    @property
    def is_busy(self) -> bool:
        """``True`` while a packet of the client is being handled."""
        return self._inbox.is_busy and not self._is_waiting

    @property
    def has_room(self) -> bool:
        """``False`` if the client has to take its answers before its next calls."""
        limit: int = self.server.max_unsent
        return self.unsent <= limit or bool(self.closed)

    def wait_for_client(self) -> None:
        """Wait until the client has taken its answers."""
        self._is_waiting = True

        try:
            with self._moved:
                self._moved.wait_for(lambda: self._websocket or self.has_room)

            if self._websocket is not None and not self.has_room:
                self._websocket.flush()
        finally:
            self._is_waiting = False

    def end(self, reason: str) -> None:
        """Close the session without waiting for the receivers of the event."""
        self.heartbeat.stop()
        self._close_reason = reason

        if self._websocket is not None:
            # The thread that serves the WebSocket does the rest.
            self._websocket.hang_up()
        else:
            self.server.start_background_task(self.close, abort=True, reason=reason)

    def tell_and_end(self, reason: Reason) -> None:
        """Close the session once the client had time to read the reason."""
        if self._websocket is None:
            self.end(self.server.reason.TRANSPORT_ERROR)
        else:
            self._websocket.finish(reason)
            error = self.server.reason.TRANSPORT_ERROR
            self.heartbeat.end_after(LINGER, lambda: self.end(error))

    def ping(self) -> None:
        """Send a ping."""
        self.send(packet.Packet(packet.PING))

    def time_out(self) -> None:
        """End the session of a client that is gone."""
        self.end(self.server.reason.PING_TIMEOUT)

    @property
    def unsent(self) -> int:
        """The number of bytes that the client has not accepted."""
        websocket = self._websocket
        return self._queued_size if websocket is None else websocket.unsent

    def send(self, pkt: packet.Packet) -> None:
        """Send a packet, or keep it until the client polls."""
        if pkt.packet_type == packet.MESSAGE:
            pkt = self._adapted(pkt)

            if pkt.data.startswith(str(EVENT)):
                self._send_event(pkt)
                return

        with self._sending:
            before = self.unsent
            self._put(pkt)
            size = self.unsent - before
            self._answer_size = max(size, min(self._answer_size, before))

    def _send_event(self, pkt: packet.Packet) -> None:
        """Send an event, unless the client leaves too much unread, besides an answer
        that may be large.
        """
        with self._sending:
            if self._is_late:
                return

            self._is_late = self.unsent > self.server.max_unsent + self._answer_size

            if not self._is_late:
                self._put(pkt)
                return

        self.tell_and_end(LATE_READER)

    def _put(self, pkt: packet.Packet) -> None:
        if self._websocket is not None:
            self._websocket.send(_frame_of(pkt))
            return

        self._queued_size += len(pkt.encode())
        self.queue.put(pkt)
        self._moved.notify_all()

    def receive(self, pkt: packet.Packet) -> None:
        """Handle a packet.

        :raises EngineIOError: The packet ends the session.
        """
        if pkt.packet_type == packet.MESSAGE:
            self._receive_message(pkt.data)
        elif pkt.packet_type in (packet.PING, packet.PONG):
            self.heartbeat.take(pkt)
        elif pkt.packet_type == packet.CLOSE:
            self.close(abort=True, reason=self.server.reason.CLIENT_DISCONNECT)
        else:
            raise InvalidPacket("A client must not send packets of this type.")

    def start(self) -> None:
        """Handle the message that the protocol takes for sent as the session begins."""
        if self.protocol.first_message is not None:
            self._receive_message(self.protocol.first_message)

    def close(
        self, wait: bool = True, abort: bool = False, reason: str | None = None
    ) -> None:
        """Close the session without waiting for the client, which may be gone."""
        self._inbox.clear()

        # Only one of several threads closes it.
        if self.server.sockets.pop(self.sid, None) is not None:
            with self._joining:
                super().close(wait=False, abort=abort, reason=reason)

        self._tell_that_packets_are_taken()

        if self._websocket is not None:
            self._websocket.hang_up()
        else:
            self._place.leave()

    def poll(self) -> list[packet.Packet]:
        """Wait for packets.

        :raises EngineIOError: Another request waits for them, or none came in time.
        """
        with _exclusive(self._polling):
            if self.upgraded or (self.upgrading and not self._has_packets()):
                return [packet.Packet(packet.NOOP)]

            try:
                packets = super().poll()
            except QueueEmpty:
                if not self.upgraded:
                    raise

                return [packet.Packet(packet.NOOP)]

            size = sum(len(pkt.encode()) for pkt in packets)
            self._tell_that_packets_are_taken(size)
            return packets or [packet.Packet(packet.CLOSE)]

    def _has_packets(self) -> bool:
        """Return whether there are packets, or some come soon. The client stops polling
        once it gets the answer to its probe, and polls as before until then.
        """
        with self._moved:
            return self._moved.wait_for(lambda: not self.queue.empty(), UPGRADE_PAUSE)

    def take(self, environ: WSGIEnvironment) -> None:
        """Handle the packets of a request.

        :raises EngineIOError: The packets are invalid, or another request brings some.
        """
        with _exclusive(self._posting):
            limit = self.server.max_http_buffer_size
            body = body_of(environ, self.protocol.body_size * limit)
            packets = decode(body, self.protocol.split)
            check_sizes(packets, limit)
            self.heartbeat.hear()
            self._inbox.take(packets)

    def _receive_message(self, data: str) -> None:
        if not data:
            raise InvalidPacket("A packet must not be empty.")

        if data[0] in EVENTS and not self.has_joined:
            raise InvalidPacket("Connect to Socket.IO before you send events.")

        if data[0] in EVENTS:
            self._handle(data)
            return

        # Socket.IO would not notice the end of a session whose client is connecting.
        with self._joining:
            if not self.closing:
                self._handle(data)

    def _handle(self, data: str) -> None:
        try:
            self.server.handlers["message"](self.sid, data)
        except InvalidPacket:
            raise
        except Exception:
            logger.exception("A message of a client could not be handled.")

    def _tell_that_packets_are_taken(self, size: int = 0) -> None:
        with self._moved:
            self._queued_size -= size
            self._moved.notify_all()

    def _adapted(self, pkt: packet.Packet) -> packet.Packet:
        """Return a message as the client reads it, the same one if nothing differs."""
        message = adapted(pkt.data, self.protocol)
        return pkt if message is pkt.data else packet.Packet(packet.MESSAGE, message)

    def upgrade(
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
        if websocket.receive(JOIN_TIMEOUT) != PROBE:
            return False

        # A request that polls later is answered at once, too: the client waits for it.
        self.upgrading = True
        is_confirmed = False

        try:
            websocket.send(_frame_of(packet.Packet(packet.PONG, "probe")))
            # This ends the request that polls.
            self.queue.put(packet.Packet(packet.NOOP))
            is_confirmed = websocket.receive(UPGRADE_TIMEOUT) == str(packet.UPGRADE)
        finally:
            self.upgrading = is_confirmed

        return is_confirmed

    def _attach(self, websocket: WebSocket, place: Place) -> None:
        """Send the queued packets, and later ones, over a WebSocket."""
        with self._sending:
            # A request may take packets, too.
            with suppress(self.server.get_queue_empty_exception()):
                while True:
                    pkt = self.queue.get(block=False)

                    if pkt is not None:
                        websocket.send(_frame_of(pkt))

            self._websocket = websocket
            self.connected = self.upgraded = True
            self._moved.notify_all()

        if self._place is not place:
            self._place.leave()

    def _serve(self, websocket: WebSocket) -> None:
        """Handle the messages of the client, one after the other."""
        try:
            while not self.closed and (text := websocket.receive()) is not None:
                pkt = parse(text)
                self.heartbeat.hear()
                self._inbox.take([pkt])
                self.wait_for_client()
        except EngineIOError as error:
            websocket.close(invalid(error))
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


def _frame_of(pkt: packet.Packet) -> bytes:
    """Return the frame of a packet. All connections share it."""
    frame: bytes | None = getattr(pkt, "frame", None)

    if frame is None:
        frame = pkt.frame = encode_frame(Opcode.TEXT, pkt.encode().encode())

    return frame
