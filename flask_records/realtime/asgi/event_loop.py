"""The transport in an event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import typing as t
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from ..bus import LOCK_TIMEOUT
from ..closing import STOPPED
from ..disconnections import EVENT as DISCONNECTED
from . import packet as packets
from .gate import Gate
from .share import MAX_WAITING, Share, share_of
from .threads import Threads

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...typing import Record
    from ..closing import Reason
    from ..connection import Connection
    from ..server import Server
    from .packet import Packet
    from .session import Session

logger = logging.getLogger(__name__)

CHECK_INTERVAL: t.Final = 1
"""The seconds between two checks of the sessions."""

TURN: t.Final = 50
"""The number of events that are written before other things get their turn."""

WRITE_PAUSE: t.Final = 0.01
"""The seconds between two looks whether all events are written."""

PAUSE: t.Final = 20e-6
"""The seconds that let a call go on in its thread, before the next events."""

STOP_TIMEOUT: t.Final = 5
"""The seconds that the end waits for calls and for receivers of the disconnections."""


class EventLoop:
    """Holds the sessions of one worker, and sends them events. Calls run in a pool of
    threads, and events are prepared in a thread of their own.

    :param threads: The maximum number of threads for calls.
    """

    def __init__(self, server: Server, threads: int) -> None:
        self.server = server
        """The server whose connections these are."""
        self.app = server.app
        """The application."""
        self.settings = server.settings
        """The settings of the application."""
        self.max_unsent = self.settings.max_unsent
        """The bytes that a client may leave unread."""
        self.methods = server.methods
        """The names of the methods that clients can call."""
        self.ping_interval: float = 25
        """The seconds between an answer to a ping and the next ping."""
        self.ping_timeout: float = 20
        """The seconds that a client has to answer a ping."""
        self.pool = Threads(threads)
        """The threads of calls and requests."""
        limit = share_of(threads)
        self.requests = Share(self._run, self.post, limit, MAX_WAITING)
        """The threads that requests may take."""
        self._calls = Share(self._run, self.post, limit)
        self.sessions: dict[str, Session] = {}
        """The sessions, by id."""
        limit = self.settings.max_connections
        self.gate = Gate(limit, self.settings.max_connections_per_address or limit)
        """Counts the connections."""
        self._joined: dict[str, Session] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._order = ThreadPoolExecutor(1, "records-events")
        self._order_thread: int | None = None
        self._posted: deque[tuple[Callable[..., None], tuple[t.Any, ...]]] = deque()
        self._is_scheduled = False
        self._posting = threading.Lock()
        self._events: deque[tuple[Packet, Sequence[Connection]]] = deque()
        self._position = 0

    def start(self) -> None:
        """Run what is posted in the event loop that is running."""
        self._loop = asyncio.get_running_loop()

    def send_event(
        self,
        name: str,
        record: t.Any,
        connections: Sequence[Connection],
        offset: str | None = None,
    ) -> None:
        """Send an event to connections of this worker."""
        self.post(self._send_event, packets.event(name, record, offset), connections)

    def has_room(self, connection: Connection) -> bool:
        """Return whether the client has accepted most of what it was sent."""
        session = self._joined.get(connection.id)
        return session is None or session.outlet.unsent <= self.max_unsent // 2

    def hang_up(self, connections: Sequence[Connection], reason: Reason) -> None:
        """Close connections after all that was sent. Clients connect again."""
        self.post(self._hang_up, connections, reason)

    def disconnect(self, connections: Sequence[Connection], data: Record) -> None:
        """Disconnect connections of this worker. Their clients are told why."""
        ids = [connection.id for connection in connections]
        self.post(self._disconnect, ids, packets.event(DISCONNECTED, data))

    def run_in_order(self, function: Callable[[], None]) -> None:
        """Run a function soon, in the thread of all others that were given before."""
        self._submit(self._order, self._run_logged, function)

    def run_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Run a function in order after some seconds, and once the events before are on
        their way.
        """
        self.post(self._run_later, seconds, function)

    def wait_for_order(self) -> None:
        """Wait until the functions that were given before have run."""
        # One of them may write records.
        if threading.get_ident() != self._order_thread:
            done = threading.Event()
            is_submitted = self._submit(self._order, done.set)

            if is_submitted and not done.wait(LOCK_TIMEOUT):
                logger.warning("A write waited too long for earlier events.")

    def start_task(self, function: Callable[[], None]) -> None:
        """Run a function in the background."""
        threading.Thread(target=function, daemon=True).start()

    def run(self, function: Callable[..., None], *args: t.Any) -> None:
        """Run a function in one of the threads that calls may take."""
        self._calls.run(function, *args)

    def post(self, function: Callable[..., None], *args: t.Any) -> None:
        """Run a function in the event loop, after all others that were posted before.
        Any thread may call this.
        """
        with self._posting:
            self._posted.append((function, args))
            is_first, self._is_scheduled = not self._is_scheduled, True

        if is_first and self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._run_posted)
            except RuntimeError:
                # The loop has ended, and all sessions with it.
                pass

    def add(self, session: Session) -> None:
        """Add a session that begins."""
        self.sessions[session.id] = session

        if self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(CHECK_INTERVAL, self._check)

    def join(self, session: Session) -> None:
        """Let a session get the events of its connection."""
        self._joined[t.cast(str, session.connection_id)] = session

    def leave(self, id: str) -> None:
        """Let a connection get no more events."""
        self._joined.pop(id, None)

    def remove(self, session: Session) -> None:
        """Remove a session that ends."""
        self.sessions.pop(session.id, None)

    async def stop(self) -> None:
        """End all sessions, and wait for their receivers and for calls."""
        for session in list(self.sessions.values()):
            session.end(*STOPPED)

        end = time.monotonic() + STOP_TIMEOUT

        while self.server.connections and time.monotonic() < end:
            await asyncio.sleep(0.01)

        self.pool.shutdown()
        self._order.shutdown(wait=False)

        if self._timer is not None:
            self._timer.cancel()

    def _run(self, function: Callable[..., None], *args: t.Any) -> None:
        # Once the server stops, there are no connections any more.
        with suppress(RuntimeError):
            self.pool.run(function, *args)

    def _submit(
        self, pool: ThreadPoolExecutor, function: Callable[..., t.Any], *args: t.Any
    ) -> bool:
        """Run a function in a thread, and return whether the server still runs."""
        try:
            pool.submit(function, *args)
        except RuntimeError:
            # There are no connections any more. A write may still be under way.
            return False

        return True

    def _run_logged(self, function: Callable[[], None]) -> None:
        self._order_thread = threading.get_ident()

        try:
            function()
        except Exception:
            # The events of other calls can be sent.
            logger.exception("Events could not be sent.")

    def _run_posted(self) -> None:
        with self._posting:
            posted, self._posted = self._posted, deque()
            self._is_scheduled = False

        for function, args in posted:
            function(*args)

    def _disconnect(self, ids: Sequence[str], packet: Packet) -> None:
        for id in ids:
            session = self._joined.get(id)

            if session is not None:
                session.disconnect(packet)

    def _run_later(self, seconds: float, function: Callable[[], None]) -> None:
        def run() -> None:
            if self._events:
                self._run_later(WRITE_PAUSE, function)
            else:
                self.run_in_order(function)

        asyncio.get_running_loop().call_later(seconds, run)

    def _hang_up(self, connections: Sequence[Connection], reason: Reason) -> None:
        if self._events:
            self._run_later(0, partial(self.hang_up, connections, reason))
            return

        for connection in connections:
            session = self._joined.get(connection.id)

            if session is not None:
                session.end(*reason)

    def _send_event(self, packet: Packet, connections: Sequence[Connection]) -> None:
        self._events.append((packet, connections))

        if len(self._events) == 1:
            self._send_some()

    def _send_some(self) -> None:
        """Write the next events, in their order."""
        number = 0

        while self._events:
            packet, connections = self._events[0]
            part = connections[self._position : self._position + TURN - number]

            for connection in part:
                session = self._joined.get(connection.id)

                if session is not None:
                    session.send_event(packet)

            number += len(part)
            self._position += len(part)

            if self._position == len(connections):
                self._events.popleft()
                self._position = 0

            if number >= TURN and self._loop is not None:
                if self.pool.is_used:
                    # Only a thread that sleeps leaves Python's lock to those that wait.
                    # Calls would take as long as all events.
                    time.sleep(PAUSE)

                self._loop.call_soon(self._send_some)
                return

    def _check(self) -> None:
        """Let each session do what is due."""
        now = time.monotonic()

        for session in list(self.sessions.values()):
            try:
                session.check(now)
            except Exception:
                # The other sessions must not wait.
                logger.exception("The check of a session failed.")

        is_needed = self.sessions and self._loop is not None
        self._timer = (
            self._loop.call_later(CHECK_INTERVAL, self._check)
            if is_needed and self._loop
            else None
        )
