"""A session: one client that polls or has a WebSocket."""

from __future__ import annotations

import asyncio
import logging
import secrets
import typing as t
from collections import deque
from contextlib import suppress
from functools import partial

from flask import request

from ...errors import RecordsError, TooManyRequests
from ...http.error_handler import body_of
from ..calls import answer_json
from ..closing import invalid, LATE_READER, NOT_TEXT, too_large
from ..disconnections import LINGER
from . import packet as packets
from .packet import InvalidPacket
from .protocol import EnginePacket, Message, NAMESPACE, size

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed.wsgi import WSGIEnvironment

    from ...typing import Record
    from .event_loop import EventLoop
    from .gate import Place
    from .outlet import Outlet
    from .packet import Packet
    from .protocol import Modern

    Function: t.TypeAlias = Callable[[], "Packet | None"]
    Done: t.TypeAlias = Callable[["Packet"], None]

logger = logging.getLogger(__name__)

MAX_WAITING: t.Final = 32
"""The number of messages that a client may send before its calls are answered."""

LARGE: t.Final = 64 * 1024
"""The length of messages that are not followed by others until their calls begin."""

UNREAD_PAUSE: t.Final = 0.05
"""The seconds between two looks whether a client has read its answers."""


class Job(t.NamedTuple):
    """A function that runs in a thread."""

    function: Function
    """Returns a packet, or ``None``."""

    done: Done
    """Gets the packet, in the event loop."""

    is_end: bool = False
    """``True`` if it ends the connection."""


class Session:
    """A client that polls or has a WebSocket. It is used in the event loop only, and
    lets its calls run in threads, one after the other.

    :param protocol: The protocol that the client speaks.
    :param environ: The first request, without a body.
    :param place: The place in the gate, which is free after the end.
    """

    __slots__ = (
        "__weakref__",
        "_drops_calls",
        "_environ",
        "_is_joined",
        "_is_open",
        "_is_working",
        "_jobs",
        "_loop",
        "_pause",
        "_place",
        "_room",
        "_waiting",
        "connection_id",
        "heartbeat",
        "id",
        "outlet",
        "protocol",
    )

    def __init__(
        self,
        loop: EventLoop,
        protocol: type[Modern],
        environ: WSGIEnvironment,
        place: Place,
        outlet: Outlet,
    ) -> None:
        self.id = secrets.token_urlsafe(15)
        """The id that the client shows."""
        self.connection_id: str | None = None
        """The id of the connection, once the client asks for one."""
        self.outlet = outlet
        """The way of packets to the client."""
        self.protocol = protocol
        """The protocol that the client speaks."""
        self.heartbeat = protocol.heartbeat(self, loop)
        """Ends the session when the client is gone."""
        self._loop = loop
        self._environ = environ
        self._place = place
        self._jobs: deque[Job] = deque()
        self._drops_calls = False
        self._is_working = False
        self._pause = 0.0
        self._is_open = True
        self._is_joined = False
        self._waiting: list[Packet] = []
        self._room: asyncio.Event | None = None

    @property
    def is_open(self) -> bool:
        """``True`` until the session ends."""
        return self._is_open

    @property
    def has_joined(self) -> bool:
        """``True`` if the client has asked for a connection to Socket.IO."""
        return self.connection_id is not None

    @property
    def is_busy(self) -> bool:
        """``True`` while nothing is read from the client until its calls are answered,
        the answers to which it takes.
        """
        is_read = self._room is None or self._room.is_set()
        return not is_read and self.outlet.unsent <= self._loop.max_unsent

    def begin(self, welcome: Record) -> None:
        """Send the first packet.

        :param welcome: Its data.
        """
        self._loop.add(self)
        self.send(packets.opening({"sid": self.id, **welcome}))

        if self.protocol.is_joined_at_once:
            self._join(NAMESPACE, None)

    def send(self, packet: Packet) -> None:
        """Send a packet of any size."""
        if self._is_open:
            self.outlet.send(packet)

    def send_event(self, packet: Packet) -> None:
        """Send an event, after the packet that lets the client expect events. A client
        that leaves too much unread is disconnected.
        """
        if self._is_joined:
            if not self.outlet.offer(packet, self._loop.max_unsent):
                self.end(*LATE_READER)
        elif self._is_open:
            self._waiting.append(packet)

    def receive(self, packet: EnginePacket) -> None:
        """Handle a packet of the client.

        :raises InvalidPacket: The packet ends the session.
        """
        if not self._is_open:
            return

        self.heartbeat.hear()

        if packet.type in (packets.PING.text, packets.PONG.text):
            self.heartbeat.take(packet)
        elif packet.type == packets.CLOSE.text:
            self.leave()
        elif packet.type == packets.MESSAGE:
            self._receive_message(Message.parse(packet.data))
        else:
            raise InvalidPacket("A client must not send packets of this type.")

    async def receive_text(self, text: str | None) -> None:
        """Handle a message of a WebSocket, and wait until there is room for the next.
        An invalid one ends the session.

        :param text: The message, ``None`` if it is binary.
        """
        limit = self._loop.settings.max_payload

        if text is None:
            self.end(*NOT_TEXT)
        elif size(text) > limit:
            self.end(*too_large(limit))
        else:
            try:
                self.receive(EnginePacket.parse(text))
            except InvalidPacket as error:
                self.end(*invalid(error))
            else:
                await self.wait_for_room(is_large=len(text) > LARGE)

    def check(self, now: float) -> None:
        """Do what is due.

        :param now: The time.
        """
        if self._is_open:
            self.heartbeat.check(now)

    def attach(self, outlet: Outlet, place: Place) -> None:
        """Let a WebSocket replace polling."""
        self._place.leave()
        self.outlet, self._place = outlet, place

    def disconnect(self, packet: Packet) -> None:
        """Disconnect the client from Socket.IO, and let it hang up.

        :param packet: The event that tells the reason.
        """
        if not self._is_joined:
            # It would take the answer to its connection for the later packet.
            self.end()
            return

        self.send(packet)
        self.send(packets.LEFT)
        self._drop_calls()
        self._leave()
        asyncio.get_running_loop().call_later(LINGER, self.end)

    def end(self, code: int | None = None, reason: str = "") -> None:
        """End the session, and drop the calls that wait. Nothing happens if it has
        ended.

        :param code: The code of the reason that the client is told, if any.
        """
        if not self._is_open:
            return

        self._drop_calls()

        if code is None:
            self.outlet.hang_up()
        else:
            self.outlet.close(code, reason)

        self._close()

    def leave(self) -> None:
        """End the session of a client that has left. The calls that wait are made.
        Nothing happens if the session has ended.
        """
        if self._is_open:
            self.outlet.hang_up()
            self._close()

    def _close(self) -> None:
        self._is_open = False
        self._loop.remove(self)
        self._leave()
        self._make_room()

        if not self._is_working:
            self._place.leave()

    def _drop_calls(self) -> None:
        """Make no more calls."""
        self._drops_calls = True
        # A thread may add a call meanwhile, but not while the tuple is made.
        self._jobs = deque(job for job in tuple(self._jobs) if job.is_end)

    def _receive_message(self, message: Message) -> None:
        if message.type == packets.CONNECT:
            self._join(message.namespace, message.data)
        elif message.namespace != NAMESPACE or self.connection_id is None:
            return
        elif message.type == packets.DISCONNECT:
            self._leave()
        elif message.type == packets.EVENT and message.data[0] in self._loop.methods:
            id = self.connection_id
            self._add(Job(lambda: self._answer(id, message), self.send))

    def _join(self, namespace: str, authentication: t.Any) -> None:
        """Connect the client to Socket.IO, as often as it asks, but at one place."""
        if namespace != NAMESPACE or self.connection_id is not None:
            self.send(self.protocol.refused(namespace))
            return

        id = self.connection_id = secrets.token_urlsafe(15)
        self._loop.join(self)
        connect = partial(self._connect, id, authentication)
        self._add(Job(connect, partial(self._confirm, id)))

    def _connect(self, id: str, authentication: t.Any) -> Packet:
        try:
            pid = self._loop.server.connect(id, request.headers, authentication)
        except RecordsError as error:
            return self.protocol.refused(NAMESPACE, body_of(error))

        return self.protocol.joined(id, pid)

    def _leave(self) -> None:
        """Disconnect the client from Socket.IO."""
        id, self.connection_id, self._is_joined = self.connection_id, None, False
        self._waiting.clear()

        if id is not None:
            self._loop.leave(id)
            disconnect = partial(self._loop.server.disconnect, id)
            self._add(Job(disconnect, self.send, is_end=True))

    def _answer(
        self, id: str, message: Message, *, is_counted: bool = False
    ) -> Packet | None:
        name, *arguments = message.data
        server = self._loop.server
        connection = server.connections.get(id)

        if connection is None or self._drops_calls:
            return None

        if not is_counted:
            # Those that would wait too long are refused by the answer.
            with suppress(TooManyRequests):
                self._pause = connection.count_call()
                is_counted = True

        if self._pause:
            # Threads are for others meanwhile.
            again = partial(self._answer, id, message, is_counted=True)
            self._jobs.appendleft(Job(again, self.send))
            return None

        text = answer_json(
            server.records, connection, name, tuple(arguments), is_counted=is_counted
        )
        number = message.number
        return None if number is None else packets.answered(number, text)

    def _confirm(self, id: str, packet: Packet) -> None:
        """Tell the client that it is connected, and send the events that came since. Or
        let it try again with other credentials.
        """
        # It may have disconnected, and asked for another connection.
        if id != self.connection_id:
            return

        self.send(packet)

        if id not in self._loop.server.connections:
            self._leave()
            return

        self._is_joined = True
        events, self._waiting = self._waiting, []

        for event in events:
            self.send_event(event)

    def _add(self, job: Job) -> None:
        """Run a job in a thread, after those before."""
        self._jobs.append(job)

        if not self._is_working:
            self._start_next()

    def _work(self, job: Job) -> None:
        """Run a job, in a thread."""
        packet = None

        try:
            with self._loop.app.request_context({**self._environ}):
                packet = job.function()
        except Exception:
            logger.exception("A message of a client could not be handled.")

        self._loop.post(self._go_on, packet, job.done)

    def _go_on(self, packet: Packet | None, done: Done) -> None:
        """Use the packet of a function, and let the next one run."""
        if packet is not None and self._is_open:
            done(packet)

        self._start_next()
        self._make_room()

    def _start_next(self) -> None:
        """Run the next function, once the client has read most of its answers."""
        self._is_working = bool(self._jobs)

        if not self._is_working:
            if not self._is_open:
                self._place.leave()

            return

        pause, self._pause = self._pause, 0.0

        if pause and not self._drops_calls:
            asyncio.get_running_loop().call_later(pause, self._start_next)
        elif self._is_open and self.outlet.unsent > self._loop.max_unsent:
            asyncio.get_running_loop().call_later(UNREAD_PAUSE, self._start_next)
        else:
            self._loop.run(self._work, self._jobs.popleft())

    async def wait_for_room(self, *, is_large: bool = False) -> None:
        """Wait while the client has too many calls under way.

        :param is_large: Wait until the last one has begun, too.
        """
        most = 1 if is_large else MAX_WAITING

        while self._is_open and len(self._jobs) >= most:
            # A request may wait besides a WebSocket.
            self._room = self._room or asyncio.Event()
            self._room.clear()
            await self._room.wait()

    def _make_room(self) -> None:
        if self._room is not None:
            self._room.set()
