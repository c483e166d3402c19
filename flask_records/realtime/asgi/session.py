"""A session of Socket.IO: a table of states, and what each does with what comes."""

from __future__ import annotations

import asyncio
import enum
import time
import typing as t
from functools import partial

from ...errors import Unavailable
from ...http.error_handler import body_of
from ..calls import answer_json
from ..connections import Reason
from . import protocol as packets
from .client import Client, FAREWELL
from .protocol import ClientMessage, InvalidPacket, NAMESPACE, Packet, size

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _typeshed.wsgi import WSGIEnvironment

    from ...errors import RecordsError
    from ...typing import Record
    from ..connections import Connection
    from .admission import Slot
    from .protocol import ClientEvent, Modern
    from .senders import Sender
    from .worker import Worker

    Reaction: t.TypeAlias = Callable[["Session", t.Any], None]

JOIN_TIMEOUT: t.Final = 5
"""The seconds that a client has to connect to Socket.IO, and to begin an upgrade."""

MAX_WAITING: t.Final = 32
"""The number of messages that a client may send before its calls are answered."""

MAX_NAMESPACE: t.Final = 100
"""The length of a namespace in its refusal."""

LARGE: t.Final = 64 * 1024
"""Messages longer than this are read one at a time: the next is read when their call
has begun.
"""

UNREAD_PAUSE: t.Final = 0.05
"""The seconds between two looks whether a client has read its answers."""

NOT_TEXT: t.Final = Reason(1003, "Messages must be text.")

NOT_JOINED: t.Final = Reason(1008, "Connect to Socket.IO in time.")

JOINED_TWICE: t.Final = Reason(1008, "Connect to Socket.IO once.")

UNCHECKED: t.Final = Reason(1013, "The login can't be checked now. Connect again.")

BINARY, DUE, LIFE = "binary", "due", "life"
"""The occasions besides packets: a binary message, the deadline, and a sign of life."""


class State(enum.Enum):
    """A state of a session. What happens in each is in :data:`STATES`."""

    OPENED = "The client may connect to Socket.IO, and has a time for it."
    JOINED = "The client is connected. The next ping has its time."
    AWAITED = "The client is connected, and has to send something in time."
    LEAVING = "The application has disconnected the client, which may hang up."
    LEFT = "The client has hung up. Its calls that wait are made."
    ENDED = "The server has hung up. The calls that wait are dropped."


class Session(Client):
    """A client of Socket.IO that polls or has a WebSocket.

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
        super().__init__(worker, environ, slot)
        self.sender: Sender = sender
        """The way of packets to the client."""
        self.protocol = protocol
        """The protocol that the client speaks."""
        self.state = State.OPENED
        """The state of the session."""
        self.deadline = self._began + JOIN_TIMEOUT
        """The time at which something is due."""

    @property
    def is_busy(self) -> bool:
        """``True`` while reading is paused because calls are pending and the client is
        draining its answers.
        """
        is_read = self._room is None or self._room.is_set()
        return not is_read and self.sender.unsent <= self._worker.max_unsent

    def begin(self, welcome: Record) -> None:
        """Send the first packet.

        :param welcome: Its data.
        """
        self._offer(packets.opening({"sid": self.id, **welcome}))

        if self.protocol.is_joined_at_once:
            self._join()

    def receive(self, type: str, data: str) -> None:
        """Handle a packet of the client.

        :raises InvalidPacket: The packet ends the session.
        """
        if not self.is_open:
            return

        if type not in self.protocol.accepted:
            raise InvalidPacket("A client must not send packets of this type.")

        self._meet(LIFE)

        if type == packets.MESSAGE:
            self._receive_message(ClientMessage.parse(data))
        else:
            self._meet(type, data)

    async def receive_text(self, text: str | None) -> None:
        """Handle a message of a WebSocket, and wait until there is room for the next.
        An invalid one ends the session.

        :param text: The message, ``None`` if it is binary.
        """
        limit = self._server.settings.max_payload

        if text is None:
            self._meet(BINARY)
        elif size(text) > limit:
            self.end(Reason(1009, f"Messages must not exceed {limit} bytes."))
        else:
            try:
                self.receive(*packets.split_packet(text))
            except InvalidPacket as error:
                self.end(Reason(1008, str(error)))
            else:
                await self.wait_for_room(is_large=len(text) > LARGE)

    def send_event(self, event: ClientEvent) -> None:
        """Send an event. A client that leaves too much unread is disconnected."""
        self._offer(event.packet)

    def check(self, now: float) -> None:
        """Do what is due.

        :param now: The time.
        """
        if now >= self.deadline:
            self._meet(DUE, now)

    def attach(self, sender: Sender, slot: Slot) -> None:
        """Let a WebSocket replace polling."""
        self._slot.free()
        self.sender, self._slot = sender, slot

    def disconnect(self, event: ClientEvent) -> None:
        """Disconnect the client from Socket.IO, and let it hang up.

        :param event: The event with the reason.
        """
        self._offer(event.packet)
        self._offer(packets.LEFT)

        if self.is_open:
            self.state = State.LEAVING
            self._end_connection()
            asyncio.get_running_loop().call_later(FAREWELL, self.end)

    def end(self, reason: Reason | None = None) -> None:
        """End the session, and drop the calls that wait. Nothing happens if it has
        ended.

        :param reason: The reason that the client gets, if any.
        """
        if self.is_open:
            self.state = State.ENDED
            super().end(reason)

    def leave(self, data: object = None) -> None:
        """End the session of a client that has left. The calls that wait are made.
        Nothing happens if the session has ended.
        """
        if self.is_open:
            self.state = State.LEFT
            super().end()

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

    def _meet(self, occasion: str, value: t.Any = None) -> None:
        """Do what the state has for an occasion, or else nothing."""
        if reaction := STATES[self.state].get(occasion):
            reaction(self, value)

    def _receive_message(self, message: ClientMessage) -> None:
        if message.namespace == NAMESPACE:
            self._meet(f"{packets.MESSAGE}{message.type}", message)
        elif message.type == packets.CONNECT:
            self._offer(self.protocol.refused(message.namespace[:MAX_NAMESPACE]))

    # The reactions of the table.

    def _join(self, message: ClientMessage | None = None) -> None:
        self._expect_life()
        self._begin_connection()

    def _part(self, message: ClientMessage | None = None) -> None:
        self.state = State.OPENED
        self.deadline = time.monotonic() + JOIN_TIMEOUT
        self._end_connection()

    def _call(self, message: ClientMessage) -> None:
        if message.data[0] in self._server.methods:
            id = t.cast(str, self.connection_id)
            self._add(partial(self._answer, id, message))

    def _pong(self, data: str) -> None:
        self._offer(Packet(f"{packets.PONG.text}{data}"))

    def _expect_life(self, data: object = None) -> None:
        """Give the client the time until its next sign of life."""
        self.state, seconds = State.JOINED, self._worker.ping_interval

        if not self.protocol.is_pinged:
            self.state = State.AWAITED
            seconds += self._worker.ping_timeout

        self.deadline = time.monotonic() + seconds

    def _ping(self, now: float) -> None:
        self.state = State.AWAITED
        self.deadline = now + self._worker.ping_timeout
        self._offer(packets.PING)

    def _give_up(self, now: float) -> None:
        if self.is_busy:
            # The pong may be behind the calls that are being answered.
            self.deadline = now + self._worker.ping_timeout
        else:
            self.end()

    # The answers.

    def _accept(self, id: str) -> None:
        # The client may have disconnected, and asked for another connection.
        if id == self.connection_id:
            self._offer(self.protocol.joined(id))
            self._worker.joined[id] = self

    def _refuse(self, id: str, error: RecordsError) -> None:
        if isinstance(error, Unavailable):
            self._worker.post(self.end, UNCHECKED)
        else:
            self._worker.post(self._tell_refusal, id, body_of(error))

    def _tell_refusal(self, id: str, body: Record) -> None:
        if id == self.connection_id:
            self._offer(self.protocol.refused(NAMESPACE, body))

            if self.is_open:
                self._part()

    async def _answer(self, id: str, message: ClientMessage) -> None:
        """Make a call, once the client has read most of its answers."""
        while self.is_open and self.sender.unsent > self._worker.max_unsent:
            await asyncio.sleep(UNREAD_PAUSE)

        connection = self._server.connections.get(id)

        if connection is None:
            return

        if pause := connection.count_call():
            await asyncio.sleep(pause)

        packet = await self._run(partial(self._result_of, connection, message))

        if packet is not None and self.is_open:
            self.sender.send(packet)

        # The call may have been a login.
        if message.data[0] == "create":
            self._check_user()

    def _result_of(
        self, connection: Connection, message: ClientMessage
    ) -> Packet | None:
        """Return the answer to a call, if there is one."""
        is_dropped = self.state in (State.LEAVING, State.ENDED)

        if is_dropped or not self._server.connections.get(connection.id):
            return None

        name, *arguments = message.data
        records = self._server.records
        is_whole = message.type == packets.EVENT
        text = answer_json(
            records, connection, name, tuple(arguments), is_whole=is_whole
        )
        number = message.number
        return None if number is None else packets.answered(number, text)


OPEN: t.Final[Mapping[str, Reaction]] = {
    packets.CLOSE.text: Session.leave,
    packets.PING.text: Session._pong,
}

CONNECTED: t.Final[Mapping[str, Reaction]] = {
    **OPEN,
    packets.JOIN: lambda session, message: session.end(JOINED_TWICE),
    packets.PART: Session._part,
    packets.CALL: Session._call,
    packets.BINARY_CALL: Session._call,
}

STATES: t.Final[Mapping[State, Mapping[str, Reaction]]] = {
    State.OPENED: {
        **OPEN,
        packets.JOIN: Session._join,
        BINARY: lambda session, data: session.end(NOT_TEXT),
        DUE: lambda session, now: session.end(NOT_JOINED),
    },
    State.JOINED: {**CONNECTED, DUE: Session._ping},
    State.AWAITED: {
        **CONNECTED,
        LIFE: Session._expect_life,
        DUE: Session._give_up,
    },
    State.LEAVING: OPEN,
    State.LEFT: {},
    State.ENDED: {},
}
"""The functions of a session by its state, and by the packet that comes or the time
that is due. Nothing else does anything.
"""
