"""One worker process: its clients, its event loop, and its threads."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from operator import methodcaller

from ..connections import Reason
from .admission import Admission

if t.TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from types import FrameType

    from ..connections import Connection
    from ..server import Server
    from .client import Client

T = t.TypeVar("T")

logger = logging.getLogger(__package__)

CHECK_INTERVAL: t.Final = 1
"""The seconds between two checks of the clients."""

MAX_BATCH: t.Final = 50
"""The number of events that are written before other things get their turn."""

MAX_WAITING_EVENTS: t.Final = 1000
"""The number of events that wait to be written."""

PAUSE: t.Final = 20e-6
"""The seconds that let a call go on in its thread, before the next events."""

READ_PAUSE: t.Final = 0.02
"""The seconds between two looks at how much clients have read."""

MAX_READ_PAUSE: t.Final = 0.5
"""The seconds that events wait for clients that have much unread."""

STOP_TIMEOUT: t.Final = 5
"""The seconds that the end waits for calls and for receivers of the disconnections."""

SIGNALS: t.Final = (signal.SIGTERM, signal.SIGINT)
"""The signals that stop a server."""

STOPPED: t.Final = Reason(1001, "The server stops.")


class Worker:
    """Holds the clients of one worker, and sends them events. Calls run in a pool of
    threads.
    """

    def __init__(self, server: Server, threads: int) -> None:
        self.server = server
        """The server whose connections these are."""
        self.max_unsent = server.settings.max_unsent
        """The bytes that a client may leave unread."""
        self.ping_interval: float = 25
        """The seconds between an answer to a ping and the next ping."""
        self.ping_timeout: float = 20
        """The seconds that a client has to answer a ping."""
        self.running = 0
        """The number of calls and requests that run or wait for a thread."""
        self.uploaded = 0
        """The bytes of large bodies that are held for requests."""
        self._answered = threading.Event()
        self.clients: dict[str, Client] = {}
        """The clients by id, the oldest first."""
        self.admission = Admission(server.app, server.settings)
        """Counts the connections."""
        self._loop: asyncio.AbstractEventLoop
        # The event loop itself does not keep them.
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls = ThreadPoolExecutor(threads, "records-call")
        self._posted: asyncio.Queue[
            tuple[Sequence[Connection], Callable[[t.Any], None]]
        ] = asyncio.Queue()
        self._room = threading.Semaphore(MAX_WAITING_EVENTS)
        self.waiting = 0
        """The number of times that an event waits to be sent to a connection."""

    # Any thread may call these methods.

    def wait_for_answers(self, timeout: float) -> None:
        """Wait until the calls and requests in progress are answered, for a time."""
        self._answered.clear()

        if self.running:
            self._answered.wait(timeout)

    def tell(
        self, connections: Sequence[Connection], method: str, *arguments: t.Any
    ) -> None:
        """Call a method of each connection's client, after the events before. This
        waits while too many others wait.
        """
        self._room.acquire()
        self.post(self._put, connections, methodcaller(method, *arguments))

    def post(self, function: Callable[..., None], *args: t.Any) -> None:
        """Run a function in the event loop, after all that were posted before."""
        # All connections end with the loop.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *args)

    # The event loop calls these methods.

    def _put(
        self, connections: Sequence[Connection], send: Callable[[t.Any], None]
    ) -> None:
        self.waiting += len(connections)
        self._posted.put_nowait((connections, send))

    def begin(self) -> None:
        """Run what is posted in the event loop that is running."""
        self._loop = asyncio.get_running_loop()
        self.server.worker = self
        self.start(self._check())
        self.start(self._send_all())

        # Servers end the lifespan of an application after all of its connections, or
        # close them without their answers.
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._close_before(number)

    def close(self, go_on: Callable[[], object]) -> None:
        """Admit no more connections, and end those that there are after the calls that
        have come.

        :param go_on: Lets the server stop. It is called after the end of all, or if
            this is called again.
        """
        if self.admission.is_closed:
            go_on()
            return

        self.admission.is_closed = True

        for client in list(self.clients.values()):
            client.end_after_calls(STOPPED)

        self.start(self._wait_for_end(go_on))

    def _close_before(self, number: int) -> None:
        """Close once a signal asks the server of this process to stop, before the
        server handles it. Nothing happens if the server does not, or in its loop.
        """
        handler = signal.getsignal(number)

        if not callable(handler):
            return

        def handle(number: int, frame: FrameType | None) -> None:
            go_on = partial(handler, number, frame)

            try:
                self._loop.call_soon_threadsafe(self.close, go_on)
            except RuntimeError:
                # The loop is closed.
                go_on()

        signal.signal(number, handle)
        # An event loop sets this for its own handlers.
        signal.siginterrupt(number, False)

    def finish(self) -> None:
        """Note that a call or a request has been answered."""
        self.running -= 1

        if not self.running:
            self._answered.set()

    def start(self, coroutine: Coroutine[t.Any, t.Any, None]) -> None:
        """Run a coroutine in a task."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def call(self, function: Callable[[], T]) -> T | None:
        """Return the result of a function, which runs in one of the threads of calls.
        Its errors are logged, and ``None`` is returned.
        """
        if self.server.is_stopped:
            return None

        self.running += 1

        try:
            return await self._loop.run_in_executor(self._calls, _run_logged, function)
        finally:
            self.finish()

    async def stop(self) -> None:
        """End all connections, and wait for their receivers and for calls."""
        for client in list(self.clients.values()):
            client.end(STOPPED)

        await self._wait_for_end(lambda: None)
        self.server.is_stopped = True
        self._calls.shutdown(wait=False, cancel_futures=True)

        for task in self._tasks:
            task.cancel()

    async def _wait_for_end(self, go_on: Callable[[], object]) -> None:
        """Wait until there are no connections, for a time, and go on."""
        end = time.monotonic() + STOP_TIMEOUT

        while self.server.connections and time.monotonic() < end:
            await asyncio.sleep(0.01)

        go_on()

    async def _send_all(self) -> None:
        """Let clients send what is posted for them, in its order."""
        number = 0

        while True:
            connections, send = await self._posted.get()
            behind = set()

            for connection in connections:
                self.waiting -= 1
                number += 1
                client = t.cast("Client | None", connection.client)

                if client is not None:
                    try:
                        send(client)
                    except Exception:
                        # The other clients must get theirs.
                        logger.exception("An event could not be sent to a client.")

                    if client.sender.unsent_events <= self.max_unsent // 2:
                        client.is_slow = False
                    elif not client.is_slow:
                        behind.add(client)

                if number % MAX_BATCH == 0:
                    if self.running:
                        # Only a thread that sleeps leaves Python's lock to those that
                        # wait. Calls would take as long as all events.
                        time.sleep(PAUSE)

                    await asyncio.sleep(0)

            self._room.release()
            await self._wait_for(behind)

    async def _wait_for(self, behind: set[Client]) -> None:
        """Wait until clients with much unread have read half of it, for a time."""
        end = time.monotonic() + MAX_READ_PAUSE

        while behind and time.monotonic() < end:
            await asyncio.sleep(READ_PAUSE)
            limit = self.max_unsent // 2
            behind = {each for each in behind if each.sender.unsent_events > limit}

        for client in behind:
            client.is_slow = True

    async def _check(self) -> None:
        """Let each client do what is due."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            now = time.monotonic()

            for client in list(self.clients.values()):
                try:
                    client.check(now)
                except Exception:
                    # The other clients must not wait.
                    logger.exception("The check of a connection failed.")


def _run_logged(function: Callable[[], T]) -> T | None:
    try:
        return function()
    except Exception:
        logger.exception("A message of a client could not be handled.")
        return None
