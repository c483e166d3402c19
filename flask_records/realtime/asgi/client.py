"""A client that stays connected: its slot, its connection, its jobs in threads."""

from __future__ import annotations

import asyncio
import secrets
import time
import typing as t
from abc import ABC, abstractmethod
from collections import deque
from functools import partial

from flask import request

from ..connections import Reason

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from _typeshed.wsgi import WSGIEnvironment

    from ...errors import RecordsError
    from ...service.context import Params
    from .admission import Slot
    from .protocol import ClientEvent, Packet
    from .senders import Sender
    from .worker import Worker

    T = t.TypeVar("T")
    Job: t.TypeAlias = Callable[[], Awaitable[None]]

LOGIN_TIMEOUT: t.Final = 5
"""The seconds that a client has to log in where places are scarce."""

FAREWELL: t.Final = 1
"""The seconds that a client has once its login, or its connection, is over: to change
its credentials, or to hang up.
"""

LATE_READER: t.Final = Reason(1013, "Too many events are unread. Connect again.")

NO_PLACE: t.Final = Reason(1013, "Too many connections. Log in, or connect later.")

NO_PLACE_OF_USER: t.Final = Reason(1013, "Too many connections of this user.")


class Client(ABC):
    """A client that stays connected. It is used in the event loop only, and lets its
    jobs run in threads, one after the other.

    :param environ: The first request, without a body.
    :param slot: The slot in the admission, which is free after the end.
    """

    sender: Sender | None = None
    """Sends packets to the client, once it has begun."""

    def __init__(self, worker: Worker, environ: WSGIEnvironment, slot: Slot) -> None:
        self.id = secrets.token_urlsafe(15)
        """The id of the client."""
        self.connection_id: str | None = None
        """The id of the connection, once the client asks for one."""
        self.is_open = True
        """``True`` until the client leaves, or the server ends the connection."""
        self.is_slow = False
        """``True`` if events have waited for the client in vain."""
        self._began = time.monotonic()
        self._worker = worker
        self._server = worker.server
        self._environ = environ
        self._slot = slot
        self._jobs: deque[Job] = deque()
        self._room: asyncio.Event | None = None
        self._is_working = False
        worker.clients[self.id] = self

    @property
    def unsent(self) -> int:
        """The number of bytes of events that the client has not accepted."""
        return 0 if self.sender is None else self.sender.unsent_events

    @abstractmethod
    def send_event(self, event: ClientEvent) -> None:
        """Send an event. A client that leaves too much unread is disconnected."""

    @abstractmethod
    def check(self, now: float) -> None:
        """Do what is due.

        :param now: The time.
        """

    @abstractmethod
    def disconnect(self, event: ClientEvent) -> None:
        """Disconnect the client for the application.

        :param event: Has the reason.
        """

    def log_out(self, event: ClientEvent) -> None:
        """Tell the client that its login is over.

        :param event: Has the reason.
        """
        self.send_event(event)

    def end(self, reason: Reason | None = None) -> None:
        """Hang up, so that the client connects again. Nothing happens if it is done.

        :param reason: The reason that the client gets, if any.
        """
        if not self.is_open:
            return

        self._close()

        if self.sender is not None and reason is not None:
            self.sender.close({"type": "websocket.close", **reason._asdict()})
        elif self.sender is not None:
            self.sender.hang_up()

    @abstractmethod
    def _accept(self, id: str) -> None:
        """Tell the client that it is connected."""

    @abstractmethod
    def _refuse(self, id: str, error: RecordsError) -> None:
        """Tell the client that it is not connected. This runs in a thread."""

    def _check_login(self, login: Params) -> None:
        """Refuse a client that may not connect with a login. This runs in a thread.

        :raises RecordsError: The client may not.
        """
        return

    def _offer(self, packet: Packet) -> None:
        """Send a packet that answers no call, unless the client leaves too much unread,
        which ends the connection.
        """
        sender, limit = self.sender, self._worker.max_unsent

        if self.is_open and sender is not None and not sender.offer(packet, limit):
            self.end(LATE_READER)

    def end_after_calls(self, reason: Reason) -> None:
        """Hang up once the calls that have come are answered.

        :param reason: The reason that the client gets.
        """
        if not self._is_working:
            self.end(reason)
            return

        async def end() -> None:
            self.end(reason)

        self._add(end)

    def make_room(self, now: float) -> bool:
        """End the connection if the client has had the time to log in, and has not, and
        return whether it has ended.

        :param now: The time.
        """
        connection = self._server.connections.get(self.connection_id)
        is_logged_in = connection is not None and connection.is_logged_in

        if is_logged_in or now < self._began + LOGIN_TIMEOUT:
            return False

        self.end(NO_PLACE)
        return True

    def _begin_connection(self) -> None:
        """Connect the client, or refuse it, in a thread."""
        id = self.connection_id = secrets.token_urlsafe(15)
        self._add(partial(self._connect, id))

    def _end_connection(self) -> None:
        """Disconnect the client if it is connected. It gets no more events."""
        id, self.connection_id = self.connection_id, None

        if id is not None:
            self._worker.joined.pop(id, None)
            self._add(partial(self._run, partial(self._server.disconnect, id)))

    def _close(self) -> None:
        """Forget the client, whose slot is free after its last job."""
        self.is_open = False
        self._worker.clients.pop(self.id, None)
        self._end_connection()
        self._note_room()

        if not self._is_working:
            self._slot.free()

    def _add(self, job: Job) -> None:
        """Do a job after those before."""
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
            self._slot.free()

    def _note_room(self) -> None:
        """Let those go on who wait for room among the jobs."""
        if self._room is not None:
            self._room.set()

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
        """Connect the client, or refuse it."""
        accept = partial(self._worker.post, self._accept, id)

        try:
            self._server.connect(id, request.headers, accept, self._check_login)
        except Exception as error:
            failure = "A client can't connect."
            self._refuse(id, self._server.records.errors.report(error, failure))

    def _check_user(self) -> None:
        """End the connection if its user has too many."""
        connections, settings = self._server.connections, self._server.settings
        connection = connections.get(self.connection_id)
        channel = None if connection is None else connection.user_channel

        if channel and len(connections.members(channel)) > settings.max_of_user:
            self.end(NO_PLACE_OF_USER)
