"""A session: one client of Socket.IO, which polls or has a WebSocket."""

from __future__ import annotations

import asyncio
import math
import time
import typing as t
from functools import partial

from ...errors import BadRequest, Unavailable
from .. import protocol as packets
from ..calls import answer_json
from ..connections import Reason
from ..protocol import ClientMessage, NAMESPACE, Packet, size
from .client import Client, FAREWELL

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed.wsgi import WSGIEnvironment

    from ...errors import RecordsError
    from ...typing import Record
    from ..connections import Connection
    from ..protocol import ClientEvent, Modern
    from .senders import PollQueue, Sender
    from .worker import Worker

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


class Session(Client):
    """A client of Socket.IO. It asks for a connection in time, which it has until it or
    the server ends it.
    """

    def __init__(
        self,
        worker: Worker,
        protocol: type[Modern],
        environ: WSGIEnvironment,
        leave_place: Callable[[], None],
        sender: Sender,
    ) -> None:
        super().__init__(worker, environ, leave_place, sender)
        self.protocol = protocol
        """The protocol that the client speaks."""
        self.deadline = time.monotonic() + JOIN_TIMEOUT
        """The time at which the client, or the next ping, is due."""
        self._is_awaited = False
        self._is_dropped = False

    @property
    def is_busy(self) -> bool:
        """``True`` while reading is paused because calls are pending and the client is
        draining its answers.
        """
        is_read = self._room is None or self._room.is_set()
        return not is_read and self.sender.unsent <= self._worker.max_unsent

    def begin(self, upgrades: list[str]) -> None:
        """Send the first packet, with the transports that the client may change to."""
        welcome = {
            "sid": self.id,
            "upgrades": upgrades,
            "pingTimeout": int(self._worker.ping_timeout * 1000),
            "pingInterval": int(self._worker.ping_interval * 1000),
            "maxPayload": self._server.settings.max_payload,
        }
        self._offer(packets.opening(welcome))

        if not self.protocol.is_modern:
            self._join()

    def receive(self, type: str, data: str) -> None:
        """Handle a packet of the client.

        :raises BadRequest: The packet ends the session.
        """
        if not self.is_open:
            return

        if type not in self.protocol.accepted:
            raise BadRequest("A client must not send packets of this type.")

        if self._is_awaited:
            self._expect_life()

        if type == packets.CLOSE.text:
            self.leave()
        elif type == packets.PING.text:
            self._offer(Packet(f"{packets.PONG.text}{data}"))
        elif type == packets.MESSAGE:
            self._receive_message(ClientMessage.parse(data))

    async def receive_text(self, text: str | None) -> None:
        """Handle a message of a WebSocket, and wait until there is room for the next.
        An invalid one ends the session.

        :param text: The message, ``None`` if it is binary.
        """
        limit = self._server.settings.max_payload

        if text is None:
            # A call may have attachments, which nothing reads.
            if self.connection is None and not self._is_dropped:
                self.end(NOT_TEXT)
        elif size(text) > limit:
            self.end(Reason(1009, f"Messages must not exceed {limit} bytes."))
        else:
            try:
                self.receive(*packets.split_packet(text))
            except BadRequest as error:
                self.end(Reason(1008, str(error)))
            else:
                await self.wait_for_room(is_large=len(text) > LARGE)

    def send_event(self, event: ClientEvent) -> None:
        self._offer(event.packet)

    def check(self, now: float) -> None:
        """Expect the client to connect, or to answer pings."""
        if now < self.deadline:
            return

        if self.connection is None:
            self.end(NOT_JOINED)
        elif self._is_awaited and not self.is_busy:
            self.end()
        else:
            # The pong may be behind the calls that are being answered.
            if not self._is_awaited:
                self._offer(packets.PING)

            self._is_awaited = True
            self.deadline = now + self._worker.ping_timeout

    def upgrade(
        self, queue: PollQueue, sender: Sender, leave_place: Callable[[], None]
    ) -> None:
        """Let a WebSocket replace polling."""
        self._leave_place()
        self._leave_place = leave_place
        self._change_sender(sender, queue.take())

    def dismiss(self, event: ClientEvent) -> None:
        """Disconnect the client from Socket.IO, and let it hang up."""
        self.send_event(event)
        self._offer(packets.DISCONNECTION)

        if self.is_open:
            self._is_dropped, self._is_awaited, self.deadline = True, False, math.inf
            self._end_connection()
            asyncio.get_running_loop().call_later(FAREWELL, self.end)

    def end(self, reason: Reason | None = None) -> None:
        """End the session, and drop the calls that wait. Nothing happens if it has
        ended.
        """
        self._is_dropped = self._is_dropped or self.is_open
        super().end(reason)

    def leave(self) -> None:
        """End the session of a client that has left. The calls that wait are made.
        Nothing happens if the session has ended.
        """
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

    def _receive_message(self, message: ClientMessage) -> None:
        connection = self.connection

        if self._is_dropped:
            return

        if message.namespace != NAMESPACE:
            if message.type == packets.CONNECT:
                self._offer(self.protocol.refuse(message.namespace[:MAX_NAMESPACE]))
        elif message.type == packets.CONNECT and connection is not None:
            self.end(JOINED_TWICE)
        elif message.type == packets.CONNECT:
            self._join()
        elif message.type == packets.DISCONNECT and connection is not None:
            self._part()
        elif (
            message.type in (packets.EVENT, packets.BINARY_EVENT)
            and connection is not None
            and message.data[0] in self._server.methods
        ):
            self._add(partial(self._answer, connection, message))

    def _join(self) -> None:
        self._expect_life()
        self._begin_connection()

    def _part(self) -> None:
        self._is_awaited = False
        self.deadline = time.monotonic() + JOIN_TIMEOUT
        self._end_connection()

    def _expect_life(self) -> None:
        """Give the client the time until its next sign of life, or until a ping."""
        self._is_awaited = not self.protocol.is_modern
        seconds = self._worker.ping_timeout if self._is_awaited else 0
        self.deadline = time.monotonic() + self._worker.ping_interval + seconds

    # The answers.

    def _accept(self, connection: Connection) -> None:
        super()._accept(connection)

        if connection is self.connection:
            self._offer(self.protocol.connect(connection.id))

    def _refuse(
        self, connection: Connection, error: RecordsError, body: Record
    ) -> None:
        if isinstance(error, Unavailable):
            self.end(UNCHECKED)
        elif connection is self.connection:
            self._offer(self.protocol.refuse(NAMESPACE, body))

            if self.is_open:
                self._part()

    async def _answer(self, connection: Connection, message: ClientMessage) -> None:
        """Make a call, once the client has read most of its answers."""
        while self.is_open and self.sender.unsent > self._worker.max_unsent:
            await asyncio.sleep(UNREAD_PAUSE)

        if connection not in self._server.connections:
            return

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
        if self._is_dropped or connection not in self._server.connections:
            return None

        name, *arguments = message.data
        records = self._server.records
        is_whole = message.type == packets.EVENT
        text = answer_json(
            records, connection, name, tuple(arguments), is_whole=is_whole
        )
        number = message.number
        return None if number is None else packets.answer(number, text)
