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

from .errors import Unreachable
from .socket_login import LOGGER
from .socket_login import SECONDS
from .socket_login import SocketLogin

LONGEST_PAUSE: t.Final = 30
"""The maximum number of seconds between two attempts to connect again."""

ENDED: t.Final = "server disconnect"
"""The reason of connections that the application has ended."""

MISSING: t.Final = "Events need two packages: pip install 'python-socketio' aiohttp"

Function: t.TypeAlias = Callable[..., object]

Receiver: t.TypeAlias = "tuple[Function, Callable[[t.Any], t.Any]]"
"""A function, and another that makes its argument of JSON."""


class Listener:
    """Receives events, in a thread of its own. It connects again after a loss, and has
    the login of the client each time.

    :param url: The address of the application.
    :param path: The path of its Socket.IO server.
    :param login: The login of connections.
    :param deliver: Calls functions of the program, one after the other.
    """

    def __init__(
        self,
        url: str,
        path: str,
        login: SocketLogin,
        deliver: Callable[..., None],
    ) -> None:
        self._url = url
        self._path = f"{urlsplit(url).path}/{path}".strip("/")
        self._login = login
        self._deliver = deliver
        self._receivers: dict[str, list[Receiver]] = {}
        self._on_connect: list[Function] = []
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: Future[None] = Future()
        self._socket: t.Any = None
        self._tasks: set[asyncio.Task[None]] = set()

    def on(
        self, name: str, function: Function, read: Callable[[t.Any], t.Any]
    ) -> Callable[[], None]:
        """Call a function at an event.

        :param name: The name of the event on the wire.
        :param read: Makes the argument of the function of JSON.
        :returns: Ends it.
        """
        receiver = (function, read)
        receivers = self._receivers.setdefault(name, [])
        receivers.append(receiver)

        def end() -> None:
            with suppress(ValueError):
                receivers.remove(receiver)

        return end

    def on_connect(self, function: Function) -> None:
        """Call a function after each connection, with its login."""
        self._on_connect.append(function)

    def connect(self) -> Future[None]:
        """Connect, and return what is done once there is a login."""
        if self._thread is None or not self._thread.is_alive():
            self._ready = Future()
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
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._is_lost = asyncio.Event()
        self._attempts = 0

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

    async def _stay_connected(self) -> None:
        """Connect, and return once the connection is lost."""
        try:
            importlib.import_module("aiohttp")
            socketio = importlib.import_module("socketio")
        except ImportError as error:
            raise RuntimeError(MISSING) from error

        self._is_lost.clear()
        self._socket = socketio.AsyncClient(reconnection=False, handle_sigint=False)
        self._socket.on("connect", self._enter)
        self._socket.on("disconnect", self._leave)
        self._socket.on("*", self._receive)

        try:
            # With polling, all requests would have to reach the same worker.
            await self._socket.connect(
                self._url,
                transports=["websocket"],
                socketio_path=self._path,
                wait_timeout=SECONDS,
            )
            await self._is_lost.wait()
        except socketio.exceptions.ConnectionError as error:
            raise Unreachable(f"There is no connection: {error}") from error
        finally:
            await self._socket.disconnect()

    def _enter(self) -> None:
        self._attempts = 0
        self._start_login(is_new=True)

    def _leave(self, reason: str = "") -> None:
        self._is_lost.set()

        if reason == ENDED and not self._end.is_set():
            LOGGER.warning("The application has ended the connection.")
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
        try:
            # The next connection has a login of its own.
            while socket is self._socket and not self._is_lost.is_set():
                if await self._login.send(socket):
                    break
        except Exception as error:
            if not self._is_lost.is_set():
                self._fail(error)

            return

        if not self._ready.done():
            self._ready.set_result(None)

        for function in self._on_connect if is_new else ():
            self._deliver(function)

    def _receive(self, name: str, *values: t.Any) -> None:
        for function, read in tuple(self._receivers.get(name, ())):
            # An offset may follow the record.
            self._deliver(function, read(values[0]) if values else None)

    def _fail(self, error: Exception) -> None:
        if self._ready.done():
            LOGGER.error("There is no login, or no connection: %s", error)
        else:
            self._ready.set_exception(error)
            self._finish()
