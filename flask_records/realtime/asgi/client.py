"""A client that stays connected: its place, its connection, its jobs in threads."""

from __future__ import annotations

import asyncio
import secrets
import typing as t
from abc import ABC, abstractmethod
from collections import deque
from functools import partial

from werkzeug.datastructures import EnvironHeaders

from ...http.error_handler import body_of
from ..connections import Reason

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from _typeshed.wsgi import WSGIEnvironment

    from ...errors import RecordsError
    from ...typing import Record
    from ..connections import Connection
    from ..protocol import ClientEvent, Packet
    from .senders import Sender
    from .worker import Worker

    T = t.TypeVar("T")
    Job: t.TypeAlias = Callable[[], Awaitable[None]]

FAREWELL: t.Final = 1
"""The seconds that a client has once its login, or its connection, is over: to change
its credentials, or to hang up.
"""

LATE_READER: t.Final = Reason(1013, "Too many events are unread. Connect again.")

NO_PLACE_OF_USER: t.Final = Reason(1013, "Too many connections of this user.")


class Client(ABC):
    """A client that stays connected. It is used in the event loop only, and lets its
    jobs run in threads, one after the other.

    :param environ: The first request, without a body.
    :param leave_place: Frees the place of the client among all connections.
    :param sender: Sends packets to the client, or keeps them.
    """

    def __init__(
        self,
        worker: Worker,
        environ: WSGIEnvironment,
        leave_place: Callable[[], None],
        sender: Sender,
    ) -> None:
        self.id = secrets.token_urlsafe(15)
        """The id of the client."""
        self.connection: Connection | None = None
        """The connection, once the client asks for one."""
        self.is_open = True
        """``True`` until the client leaves, or the server ends the connection."""
        self.is_slow = False
        """``True`` if events have waited for the client in vain."""
        self.sender = sender
        """Sends packets to the client."""
        self._worker = worker
        self._server = worker.server
        self._environ = environ
        self._leave_place = leave_place
        self._jobs: deque[Job] = deque()
        self._room: asyncio.Event | None = None
        self._is_working = False
        worker.clients[self.id] = self

    @abstractmethod
    def send_event(self, event: ClientEvent) -> None:
        """Send an event. A client that leaves too much unread is disconnected."""

    @abstractmethod
    def check(self, now: float) -> None:
        """Do what is due now."""

    @abstractmethod
    def dismiss(self, event: ClientEvent) -> None:
        """Disconnect the client for the application, with the reason."""

    def log_out(self, event: ClientEvent) -> None:
        """Inform the client that its login is over, with the reason."""
        self.send_event(event)

    def end(self, reason: Reason | None = None) -> None:
        """Hang up, so that the client connects again. Nothing happens if it is done."""
        if not self.is_open:
            return

        self._close()

        if reason is None:
            self.sender.hang_up()
        else:
            self.sender.close({"type": "websocket.close", **reason._asdict()})

    def end_after_calls(self, reason: Reason) -> None:
        """Hang up once the calls that have come are answered."""

        async def end() -> None:
            self.end(reason)

        self._add(end)

    def _offer(self, packet: Packet) -> None:
        """Send a packet that answers no call, unless the client leaves too much unread,
        which ends the connection.
        """
        if self.is_open and not self.sender.offer(packet, self._worker.max_unsent):
            self.end(LATE_READER)

    def _change_sender(self, sender: Sender, waiting: list[Packet]) -> None:
        """Let another sender send all packets, after those that wait."""
        self.sender = sender

        for packet in waiting:
            sender.send(packet)

    def _begin_connection(self) -> None:
        """Connect the client, or refuse it, in a thread."""
        headers = EnvironHeaders(self._environ)
        self.connection = self._server.new_connection(headers)
        self._add(partial(self._connect, self.connection))

    async def _connect(self, connection: Connection) -> None:
        await self._run(partial(self._admit, connection))
        self._check_user()

    def _admit(self, connection: Connection) -> None:
        """Connect the client, or refuse it."""
        post = self._worker.post

        try:
            self._server.connect(connection, partial(post, self._accept, connection))
        except Exception as error:
            failure = "A client can't connect."
            visible = self._server.records.errors.report(error, failure)
            post(self._refuse, connection, visible, body_of(visible))

    def _accept(self, connection: Connection) -> None:
        """Let the client have events."""
        # The client may have disconnected, and asked for another connection.
        if connection is self.connection:
            connection.client = self

    @abstractmethod
    def _refuse(
        self, connection: Connection, error: RecordsError, body: Record
    ) -> None:
        """Inform the client that it is not connected."""

    def _check_user(self) -> None:
        """End the connection if its user has too many."""
        limit = self._server.settings.max_connections_per_user
        channel = self.connection and self.connection.user_channel

        if channel and len(self._server.connections.members(channel)) > limit:
            self.end(NO_PLACE_OF_USER)

    def _end_connection(self) -> None:
        """Disconnect the client if it is connected. It gets no more events."""
        connection, self.connection = self.connection, None

        if connection is not None:
            connection.client = None
            disconnect = partial(self._server.disconnect, connection)
            self._add(partial(self._run, disconnect))

    def _close(self) -> None:
        """Forget the client, whose place is free after its last job."""
        self.is_open = False
        self._worker.clients.pop(self.id, None)
        self._end_connection()
        self._note_room()

        if not self._is_working:
            self._leave_place()

    def _add(self, job: Job) -> None:
        self._jobs.append(job)

        if not self._is_working:
            self._is_working = True
            self._worker.start(self._work())

    async def _work(self) -> None:
        """Do the jobs one after the other, until there are none."""
        while self._jobs:
            await self._jobs.popleft()()
            self._note_room()

        self._is_working = False

        if not self.is_open:
            self._leave_place()

    def _note_room(self) -> None:
        if self._room is not None:
            self._room.set()

    async def _run(self, function: Callable[[], T]) -> T | None:
        """Run a function in a thread, as in the first request. ``None`` if it fails."""

        def run() -> T:
            with self._server.app.request_context({**self._environ}):
                return function()

        return await self._worker.call(run)
