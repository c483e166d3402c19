"""Requests of the Flask application, answered in threads."""

from __future__ import annotations

import asyncio
import contextvars
import io
import threading
import typing as t
from concurrent import futures
from contextlib import suppress
from functools import partial
from tempfile import SpooledTemporaryFile
from wsgiref.util import is_hop_by_hop

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wsgi import LimitedStream

from ...errors import RecordsError, Unavailable
from ...http.blueprint import max_body_size
from ...http.formatter import STREAMS
from ...query.bounds import bounds_of
from .requests import ask_to_retry, environ_of, parts_of, refuse

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed.wsgi import InputStream, WSGIApplication, WSGIEnvironment

    from .requests import Receive, Scope, Send
    from .worker import Worker

MAX_WAITING: t.Final = 1000
"""The number of requests that may wait for a thread."""

MAX_IN_MEMORY: t.Final = 64 * 1024
"""The bytes of a body that are kept in memory. A temporary file has larger ones."""

MAX_UNLIMITED: t.Final = 100 * 1024 * 1024
"""The maximum size of a body if the application sets no limit."""

MAX_UNCHECKED: t.Final = 1024 * 1024
"""The bytes of a body that are received before its caller is checked."""

MAX_UNSENT: t.Final = 1024 * 1024
"""The bytes of a response after which its thread waits until they are sent."""

SEND_TIMEOUT: t.Final = 30
"""The seconds in which the client accepts a part of a response."""


class ClientGone(ConnectionError):
    """The client has left, or reads nothing, before the end of the response."""


class Upload:
    """The body of one request, in a file as long as the request is answered."""

    def __init__(self, worker: Worker, scope: Scope) -> None:
        self._worker = worker
        self._app = worker.server.app
        self._scope = scope
        length = dict(scope["headers"]).get(b"content-length", b"")
        self._announced = int(length) if length.isdigit() else 0
        self._file = SpooledTemporaryFile(MAX_IN_MEMORY)
        self._limit: int | None = None
        self._size = 0

    def __enter__(self) -> Upload:
        return self

    def __exit__(self, *error: t.Any) -> None:
        self._file.close()
        self._worker.uploaded -= self._size

    async def read(self, receive: Receive) -> InputStream:
        """Return the body, once it has arrived.

        :raises RecordsError: The body is cut off, late, or one too many.
        """
        size = 0

        try:
            await self._check(size)

            async for part in parts_of(receive):
                size += len(part)
                await self._check(size)
                self._file.write(part)
        except RequestEntityTooLarge:
            # The application refuses it in its own form, once it is read.
            return LimitedStream(io.BytesIO(), 0, is_max=True)

        self._file.seek(0)
        return t.cast("InputStream", self._file)

    async def _check(self, size: int) -> None:
        """Refuse a body of so many bytes if it has too many."""
        total = max(size, self._announced)

        if total > MAX_UNCHECKED and self._limit is None:
            environ = environ_of(self._scope, io.BytesIO())
            check = partial(max_body_size, self._app, environ, default=self._max_size)
            # An error of the application is logged, and refuses the body.
            self._limit = await self._worker.call(check) or 0

        if total > (self._max_size if self._limit is None else self._limit):
            raise RequestEntityTooLarge

        if total > MAX_UNCHECKED:
            self._worker.uploaded += size - self._size
            self._size = size

            if self._worker.uploaded > bounds_of(self._app).uploads:
                words = "Too many uploads are in progress. Try again."
                raise ask_to_retry(5, Unavailable(words))

    @property
    def _max_size(self) -> int:
        """The maximum size of a body for any view."""
        limit: int | None = self._app.config["MAX_CONTENT_LENGTH"]
        forms = self._worker.server.records.max_form_size
        return MAX_UNLIMITED if limit is None else max(limit, forms)


class Requests:
    """Answers requests of the application, each in one thread, once their bodies have
    arrived.
    """

    def __init__(self, worker: Worker, threads: int) -> None:
        self._worker = worker
        self._number = 0
        self._limit = threads + MAX_WAITING
        self._pool = futures.ThreadPoolExecutor(threads, "records-request")
        # Results that come piece by piece leave threads for others.
        self._streams = threading.BoundedSemaphore(max(1, threads // 2))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        :raises Exception: The application has raised it.
        """
        with Upload(self._worker, scope) as upload:
            try:
                body = await upload.read(receive)

                if self._number >= self._limit:
                    raise Unavailable("Too many requests are waiting. Try again.")
            except RecordsError as error:
                await refuse(scope, send, error)
                return

            environ = environ_of(scope, body) | {STREAMS: self._streams}
            loop, app = asyncio.get_running_loop(), self._worker.server.app
            exchange = Exchange(loop, receive, send)
            # Middleware around the application may have set variables.
            run = contextvars.copy_context().run
            self._number += 1
            self._worker.running += 1

            try:
                answer = exchange.answer
                await loop.run_in_executor(self._pool, run, answer, app, environ)
                await exchange.finish()
            finally:
                exchange.leave()
                self._number -= 1
                self._worker.finish()

    def shutdown(self) -> None:
        """Answer no more requests."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Exchange:
    """One response: a thread makes it, and the event loop sends it."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, receive: Receive, send: Send
    ) -> None:
        self._loop = loop
        self._receive = receive
        self._send = send
        self._start: dict[str, t.Any] | None = None
        self._length: int | None = None
        self._parts: list[bytes] = []
        self._unsent = self._total = 0
        self._is_gone = False
        self._watcher: asyncio.Task[None] | None = None

    # These methods run in the thread.

    def answer(self, app: WSGIApplication, environ: WSGIEnvironment) -> None:
        """Let the application answer the request.

        :raises Exception: The application has raised it.
        """
        try:
            iterable = app(environ, t.cast(t.Any, self._take_start))

            try:
                for data in iterable:
                    self._write(data)
            finally:
                if hasattr(iterable, "close"):
                    iterable.close()
        except ClientGone:
            pass
        except (KeyboardInterrupt, StopIteration, SystemExit) as error:
            # These exceptions would end the event loop.
            raise RuntimeError(f"The application has raised {error!r}.") from error

    def _take_start(
        self, status: str, headers: list[tuple[str, str]], exc_info: t.Any = None
    ) -> Callable[[bytes], None]:
        """Take the status and the headers of the response, as WSGI has it."""
        if exc_info is not None and self._total:
            raise exc_info[1].with_traceback(exc_info[2])

        pairs = []

        for name, value in headers:
            lower = name.lower()

            if lower == "content-length" and value.isdecimal():
                self._length = int(value)

            # Servers set these. "Connection: close" is a wish of the application.
            if lower == "connection" or not is_hop_by_hop(lower):
                pairs.append((lower.encode("latin-1"), value.encode("latin-1")))

        start = {"type": "http.response.start", "status": int(status[:3])}
        self._start = start | {"headers": pairs}
        return self._write

    def _write(self, data: bytes) -> None:
        """Take a part of the response. Parts of a stream are sent at once, others
        together.

        :raises ClientGone: The client has left, or is too slow.
        """
        if not data:
            return

        self._parts.append(data)
        self._total += len(data)
        self._unsent += len(data)

        if self._length is None or (
            self._unsent >= MAX_UNSENT and self._total < self._length
        ):
            self._wait_until_sent()

    def _wait_until_sent(self) -> None:
        if self._is_gone:
            raise ClientGone("The client has disconnected.")

        future = asyncio.run_coroutine_threadsafe(self._send_parts(), self._loop)

        try:
            future.result(SEND_TIMEOUT)
        except (OSError, futures.CancelledError) as error:
            self._is_gone = True
            future.cancel()
            raise ClientGone("The client does not read the response.") from error

    # These methods run in the event loop.

    async def finish(self) -> None:
        """Send what is left of the response."""
        if not self._is_gone:
            # Some servers raise an error when the client has left.
            with suppress(OSError):
                await self._send_parts(is_last=True)

    def leave(self) -> None:
        """Let the thread know that nothing can be sent any more."""
        self._is_gone = True

        if self._watcher is not None:
            self._watcher.cancel()

    async def _send_parts(self, *, is_last: bool = False) -> None:
        data = b"".join(self._parts)
        self._parts.clear()
        self._unsent = 0

        if self._start is not None:
            start, self._start = self._start, None
            await self._send(start)

        body = {"type": "http.response.body", "body": data, "more_body": not is_last}
        await self._send(body)

        if not is_last and self._watcher is None:
            self._watcher = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        """Notice that the client leaves."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

        self._is_gone = True
