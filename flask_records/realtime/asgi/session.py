"""A session: one client that polls or has a WebSocket."""

from __future__ import annotations

import asyncio
import secrets
import time
import typing as t
from collections import deque
from functools import partial

from flask import request

from ...errors import Unavailable
from ...http.error_handler import body_of
from ..calls import answer_json
from ..closing import (
    JOINED_TWICE,
    LATE_READER,
    NO_PLACE,
    NO_PLACE_OF_USER,
    NOT_JOINED,
    NOT_TEXT,
    UNCHECKED,
)
from . import protocol as packets
from .protocol import (
    ClientMessage,
    InvalidPacket,
    NAMESPACE,
    Packet,
    size,
    split_packet,
)

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from _typeshed.wsgi import WSGIEnvironment

    from ...typing import Record
    from ..connections import Connection
    from .admission import Slot
    from .protocol import Modern
    from .senders import Sender
    from .worker import Worker

    T = t.TypeVar("T")
    Job: t.TypeAlias = Callable[[], Awaitable[None]]

JOIN_TIMEOUT: t.Final = 5
"""The seconds that a client has to connect to Socket.IO, to begin an upgrade, and to
log in where slots are scarce.
"""

MAX_WAITING: t.Final = 32
"""The number of messages that a client may send before its calls are answered."""

CALLS: t.Final = frozenset({packets.EVENT, packets.BINARY_EVENT})
"""The types of messages that are answered."""

MAX_NAMESPACE: t.Final = 100
"""The length of a namespace in its refusal."""

LARGE: t.Final = 64 * 1024
"""The length of messages that are not followed by others until their calls begin."""

FAREWELL: t.Final = 1
"""The seconds that a client has to hang up once the application disconnects it."""

UNREAD_PAUSE: t.Final = 0.05
"""The seconds between two looks whether a client has read its answers."""


class Session:
    """A client that polls or has a WebSocket. It is used in the event loop only, and
    lets its calls run in threads, one after the other.

    :param protocol: The protocol that the client speaks.
    :param environ: The first request, without a body.
    :param slot: The slot in the admission, which is free after the end.
    """

    def __init__(
        self,
        worker: Worker,
        protocol: type[Modern],
        environ: WSGIEnvironment,
        slot: Slot,
        sender: Sender,
    ) -> None:
        self.id = secrets.token_urlsafe(15)
        """The id that the client shows."""
        self.connection_id: str | None = None
        """The id of the connection, once the client asks for one."""
        self.sender = sender
        """The way of packets to the client."""
        self.protocol = protocol
        """The protocol that the client speaks."""
        self.is_open = True
        """``True`` until the session ends."""
        self._began = time.monotonic()
        self.deadline = self._began + JOIN_TIMEOUT
        """The time of the next check."""
        self._worker = worker
        self._server = worker.server
        self._environ = environ
        self._slot = slot
        self._jobs: deque[Job] = deque()
        self._room: asyncio.Event | None = None
        self._drops_calls = self._is_working = self._is_pinged = False

    @property
    def is_busy(self) -> bool:
        """``True`` while nothing is read from the client until its calls are answered,
        the answers to which it takes.
        """
        is_read = self._room is None or self._room.is_set()
        return not is_read and self.sender.unsent <= self._worker.max_unsent

    def begin(self, welcome: Record) -> None:
        """Send the first packet.

        :param welcome: Its data.
        """
        self._worker.sessions[self.id] = self
        self._offer(packets.opening({"sid": self.id, **welcome}))

        if self.protocol.is_joined_at_once:
            self._join(NAMESPACE)

    def send_event(self, packet: Packet) -> None:
        """Send an event. A client that leaves too much unread is disconnected."""
        if not self.sender.offer(packet, self._worker.max_unsent):
            self.end(*LATE_READER)

    def receive(self, type: str, data: str) -> None:
        """Handle a packet of the client.

        :raises InvalidPacket: The packet ends the session.
        """
        if not self.is_open:
            return

        is_expected = self._is_pinged is self.protocol.is_pinged

        if is_expected and self.connection_id is not None:
            self._expect_life()

        if type == packets.MESSAGE:
            self._receive_message(ClientMessage.parse(data))
        elif type == packets.CLOSE.text:
            self.leave()
        elif type == packets.PING.text and not self.protocol.is_pinged:
            self._offer(Packet(f"{packets.PONG.text}{data}"))
        elif type != packets.PONG.text or not self.protocol.is_pinged:
            raise InvalidPacket("A client must not send packets of this type.")

    async def receive_text(self, text: str | None) -> None:
        """Handle a message of a WebSocket, and wait until there is room for the next.
        An invalid one ends the session.

        :param text: The message, ``None`` if it is binary.
        """
        limit = self._server.settings.max_payload

        if text is None:
            # An attachment belongs to a call that has its answer.
            if self.connection_id is None:
                self.end(*NOT_TEXT)
        elif size(text) > limit:
            self.end(1009, f"Messages must not exceed {limit} bytes.")
        else:
            try:
                self.receive(*split_packet(text))
            except InvalidPacket as error:
                self.end(1008, str(error))
            else:
                await self.wait_for_room(is_large=len(text) > LARGE)

    def check(self, now: float) -> None:
        """End the session of a client that has not connected to Socket.IO in time, or
        is gone. Send a ping if it is due.

        :param now: The time.
        """
        if now < self.deadline or not self.is_open:
            return

        is_pinged = self.protocol.is_pinged

        if self.connection_id is None:
            self.end(*NOT_JOINED)
        elif is_pinged and not self._is_pinged:
            self._is_pinged = True
            self.deadline = now + self._worker.ping_timeout
            self._offer(packets.PING)
        elif is_pinged and self.is_busy:
            # The pong may be behind the calls that are being answered.
            self._is_pinged = False
            pause = self._worker.ping_interval - self._worker.ping_timeout
            self.deadline = now + max(0, pause)
        else:
            self.end()

    def make_room(self, now: float) -> bool:
        """End the session if its client has had the time to log in, and has not, and
        return whether it has ended.

        :param now: The time.
        """
        connection = self._server.connections.get(self.connection_id)
        is_logged_in = connection is not None and connection.is_logged_in

        if is_logged_in or now < self._began + JOIN_TIMEOUT:
            return False

        self.end(*NO_PLACE)
        return True

    def attach(self, sender: Sender, slot: Slot) -> None:
        """Let a WebSocket replace polling."""
        self._slot.free()
        self.sender, self._slot = sender, slot

    def disconnect(self, packet: Packet) -> None:
        """Disconnect the client from Socket.IO, and let it hang up.

        :param packet: The event that tells the reason.
        """
        self._offer(packet)
        self._offer(packets.LEFT)
        self._drops_calls = True
        self._leave()
        asyncio.get_running_loop().call_later(FAREWELL, self.end)

    def end(self, code: int | None = None, reason: str = "") -> None:
        """End the session, and drop the calls that wait. Nothing happens if it has
        ended.

        :param code: The code of the reason that the client is told, if any.
        """
        if not self.is_open:
            return

        self._drops_calls = True

        if code is None:
            self.sender.hang_up()
        else:
            self.sender.close(code, reason)

        self._close()

    def leave(self) -> None:
        """End the session of a client that has left. The calls that wait are made.
        Nothing happens if the session has ended.
        """
        if self.is_open:
            self.sender.hang_up()
            self._close()

    async def wait_for_room(self, *, is_large: bool = False) -> None:
        """Wait while the client has too many calls under way.

        :param is_large: Wait until the last one has begun, too.
        """
        most = 1 if is_large else MAX_WAITING

        while self.is_open and len(self._jobs) >= most:
            # A request may wait besides a WebSocket.
            self._room = self._room or asyncio.Event()
            self._room.clear()
            await self._room.wait()

    def _close(self) -> None:
        self.is_open = False
        self._worker.sessions.pop(self.id, None)
        self._leave()
        self._make_room()

        if not self._is_working:
            self._slot.free()

    def _offer(self, packet: Packet) -> None:
        """Send a packet that answers no call, unless the client leaves too much unread,
        which ends the session.
        """
        if self.is_open and not self.sender.offer(packet, self._worker.max_unsent):
            self.end(*LATE_READER)

    def _expect_life(self) -> None:
        """Give a client that has joined the time until its next sign of life."""
        seconds = self._worker.ping_interval

        if not self.protocol.is_pinged:
            seconds += self._worker.ping_timeout

        self._is_pinged = False
        self.deadline = time.monotonic() + seconds

    def _receive_message(self, message: ClientMessage) -> None:
        if message.type == packets.CONNECT:
            self._join(message.namespace)
        elif message.namespace != NAMESPACE or self.connection_id is None:
            return
        elif message.type == packets.DISCONNECT:
            self._leave()
        elif message.type in CALLS and message.data[0] in self._server.methods:
            self._add(partial(self._answer, self.connection_id, message))

    def _join(self, namespace: str) -> None:
        """Connect the client to Socket.IO, but not twice, and to one namespace."""
        if namespace != NAMESPACE:
            self._offer(self.protocol.refused(namespace[:MAX_NAMESPACE]))
            return

        if self.connection_id is not None:
            self.end(*JOINED_TWICE)
            return

        id = self.connection_id = secrets.token_urlsafe(15)
        self._expect_life()
        self._add(partial(self._connect, id))

    def _leave(self) -> None:
        """Disconnect the client from Socket.IO."""
        id, self.connection_id = self.connection_id, None

        if id is not None:
            self.deadline = time.monotonic() + JOIN_TIMEOUT
            self._worker.joined.pop(id, None)
            self._add(partial(self._disconnect, id))

    def _add(self, job: Job) -> None:
        """Do a job after those before."""
        self._jobs.append(job)

        if not self._is_working:
            self._is_working = True
            self._worker.start(self._work())

    def _make_room(self) -> None:
        if self._room is not None:
            self._room.set()

    async def _work(self) -> None:
        """Do the jobs one after the other, until there are none."""
        while self._jobs:
            await self._jobs.popleft()()
            self._make_room()

        self._is_working = False

        if not self.is_open:
            self._slot.free()

    async def _run(self, function: Callable[[], T]) -> T | None:
        """Run a function in a thread, as in the first request. ``None`` if it fails."""

        def run() -> T:
            with self._server.app.request_context({**self._environ}):
                return function()

        return await self._worker.call(run)

    async def _connect(self, id: str) -> None:
        await self._run(partial(self._admit, id))
        self._check_user()

    def _admit(self, id: str) -> None:
        """Connect the client, or let it try again with other credentials."""
        post = self._worker.post

        try:
            self._server.connect(id, request.headers, partial(post, self._accept, id))
        except Exception as error:
            visible = self._server.records.errors.report(
                error, "A client can't connect."
            )

            if isinstance(visible, Unavailable):
                post(self.end, *UNCHECKED)
            else:
                post(self._refuse, id, body_of(visible))

    def _accept(self, id: str) -> None:
        """Tell the client that it is connected. It gets the events from here on."""
        # It may have disconnected, and asked for another connection.
        if id == self.connection_id:
            self._offer(self.protocol.joined(id))
            self._worker.joined[id] = self

    def _refuse(self, id: str, error: Record) -> None:
        if id == self.connection_id:
            self._offer(self.protocol.refused(NAMESPACE, error))
            self._leave()

    async def _disconnect(self, id: str) -> None:
        await self._run(partial(self._server.disconnect, id))

    async def _answer(self, id: str, message: ClientMessage) -> None:
        """Make a call, once the client has read most of its answers."""
        while self.is_open and self.sender.unsent > self._worker.max_unsent:
            await asyncio.sleep(UNREAD_PAUSE)

        connection = self._server.connections.get(id)

        if connection is None:
            return

        if pause := connection.count_call():
            await asyncio.sleep(pause)

        packet = await self._run(partial(self._call, connection, message))

        if packet is not None and self.is_open:
            self.sender.send(packet)

        # It may have been a login.
        if message.data[0] == "create":
            self._check_user()

    def _check_user(self) -> None:
        """End the session if its user has too many."""
        connections, settings = self._server.connections, self._server.settings
        connection = connections.get(self.connection_id)
        channel = None if connection is None else connection.user_channel

        if channel and len(connections.members(channel)) > settings.max_of_user:
            self.end(*NO_PLACE_OF_USER)

    def _call(self, connection: Connection, message: ClientMessage) -> Packet | None:
        """Return the answer to a call, if there is one."""
        if self._drops_calls or not self._server.connections.get(connection.id):
            return None

        name, *arguments = message.data
        records = self._server.records
        is_whole = message.type == packets.EVENT
        text = answer_json(
            records, connection, name, tuple(arguments), is_whole=is_whole
        )
        number = message.number
        return None if number is None else packets.answered(number, text)
