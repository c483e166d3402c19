"""Events over Socket.IO."""

from __future__ import annotations

import asyncio
import importlib
import random
import threading
import typing as t
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from urllib.parse import urlsplit

from .errors import RecordsError
from .errors import Unreachable
from .place import Place
from .receivers import Receivers
from .socket_login import LOGGER
from .socket_login import SECONDS
from .socket_login import SocketLogin

LONGEST_PAUSE: t.Final = 30
"""The maximum number of seconds between two attempts to connect again."""

ENDED: t.Final = "server disconnect"
"""The reason of connections that the application has ended."""

DISCONNECTED: t.Final = "disconnected"
"""The event that tells why the application ends a connection."""

LOGGED_OUT: t.Final = "loggedOut"
"""The event that tells that the login of a connection is over."""

REFUSALS: t.Final = frozenset(range(400, 500)) - {408, 429}
"""The statuses of logins that fail the next time, too."""

BY_APPLICATION: t.Final = "The application has ended the connection."

NO_CONNECTION: t.Final = "There is no connection: {}"

CLOSED: t.Final = "The client is closed."

MISSING: t.Final = "Events need two packages: pip install 'python-socketio' aiohttp"


class Listener:
    """Receives events, in a thread of its own. It connects again after a loss, and has
    the login of the client each time.

    :param url: The address of the application.
    :param path: The path of its Socket.IO server.
    :param login: The login of connections.
    :param receivers: The functions of the program.
    """

    def __init__(
        self, url: str, path: str, login: SocketLogin, receivers: Receivers
    ) -> None:
        self._url = url
        self._path = f"{urlsplit(url).path}/{path}".strip("/")
        self._login = login
        self._receivers = receivers
        self._place = Place()
        self._is_over = True
        self._is_ended = False
        self._reason = BY_APPLICATION
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: Future[None] = Future()
        self._socket: t.Any = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connect(self) -> Future[None]:
        """Connect, and return what is done once there is a login."""
        if self._is_over:
            self._is_over, self._is_ended, self._ready = False, False, Future()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._run()), name="events", daemon=True
            )
            self._thread.start()

        return self._ready

    def refresh(self) -> None:
        """Give the connection the token of the client."""
        self._call_soon(self._start_login)

    def close(self) -> None:
        """Disconnect."""
        thread, self._thread = self._thread, None

        if thread is not None:
            self._call_soon(self._finish)
            thread.join(SECONDS)

    def _call_soon(self, function: Callable[[], None]) -> None:
        # The loop is closed once the connection has ended.
        with suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function)

    async def _run(self) -> None:
        self._end = asyncio.Event()
        self._is_lost = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._attempts = 0

        # The client may be closed before there is a loop to tell so.
        if self._thread is None:
            self._finish()

        while not self._end.is_set():
            try:
                await self._stay_connected()
            except Exception as error:
                self._fail(error)

            self._attempts += 1
            pause = random.uniform(0.25, 0.5) * min(2**self._attempts, LONGEST_PAUSE)

            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._end.wait(), pause)

        self._login.stop()
        self._is_over = True

        if not self._ready.done():
            reason = self._reason if self._is_ended else CLOSED
            self._ready.set_exception(Unreachable(NO_CONNECTION.format(reason)))
        elif self._is_ended:
            self._tell_end(self._reason)

    async def _stay_connected(self) -> None:
        """Connect, and return once the connection is lost."""
        try:
            importlib.import_module("aiohttp")
            socketio = importlib.import_module("socketio")
        except ImportError as error:
            raise RuntimeError(MISSING) from error

        self._is_lost.clear()
        self._socket = socketio.AsyncClient(
            reconnection=False,
            handle_sigint=False,
            serializer=self._place.packets(socketio.packet.Packet),
        )
        self._socket.on("connect", self._enter)
        self._socket.on("disconnect", self._leave)
        self._socket.on("*", self._receive)

        try:
            # With polling, all requests would have to reach the same worker.
            await self._socket.connect(
                self._url,
                auth=self._place.shown(),
                transports=["websocket"],
                socketio_path=self._path,
                wait_timeout=SECONDS,
            )
            await self._is_lost.wait()
        except socketio.exceptions.ConnectionError as error:
            raise Unreachable(NO_CONNECTION.format(error)) from error
        finally:
            await self._socket.disconnect()

    def _enter(self) -> None:
        self._reason = BY_APPLICATION
        self._start_login(is_new=True)

    def _leave(self, reason: str = "") -> None:
        self._is_lost.set()

        if reason == ENDED and not self._end.is_set():
            self._is_ended = True
            self._end.set()

    def _finish(self) -> None:
        self._end.set()
        self._is_lost.set()

    def _start_login(self, *, is_new: bool = False) -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._log_in(self._socket, is_new))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _log_in(self, socket: t.Any, is_new: bool) -> None:
        """Log a connection in or out, as the client is.

        :param is_new: It has just begun.
        """
        is_done = False

        try:
            # The next connection has a login of its own.
            while not is_done and self._is_current(socket):
                is_done = await self._login.send(socket)
        except Exception as error:
            if self._is_current(socket):
                self._fail_to_log_in(error)

        if not is_done:
            return

        self._attempts = 0

        if not self._ready.done():
            self._ready.set_result(None)

        if is_new:
            self._receivers.begin(is_complete=not self._place.take_gap())

    def _is_current(self, socket: t.Any) -> bool:
        """Return ``True`` for the last connection, from its begin to its loss."""
        is_last = socket is self._socket and not self._is_lost.is_set()
        return is_last and socket.get_sid() is not None

    def _fail_to_log_in(self, error: Exception) -> None:
        if not isinstance(error, RecordsError):
            # The packages of events have errors of their own.
            reason = f"The login got no answer ({type(error).__name__})."
            cause, error = error, Unreachable(NO_CONNECTION.format(reason))
            error.__cause__ = cause

        if not self._ready.done():
            self._fail(error)
        elif error.code in REFUSALS:
            self._tell_end(str(error))
        else:
            # The next connection tries it again.
            LOGGER.error("There is no login: %s", error)
            self._is_lost.set()

    def _tell_end(self, reason: str) -> None:
        LOGGER.warning("Events have ended: %s", reason)
        self._receivers.end(reason)

    def _receive(self, name: str, *values: t.Any) -> None:
        self._place.take(values)

        if name == LOGGED_OUT:
            self._start_login()
        elif name == DISCONNECTED:
            self._reason = str(values[0].get("message"))

        self._receivers.send(name, values)

    def _fail(self, error: Exception) -> None:
        if self._ready.done():
            LOGGER.error("There is no connection: %s", error)
        else:
            self._ready.set_exception(error)
            self._finish()
