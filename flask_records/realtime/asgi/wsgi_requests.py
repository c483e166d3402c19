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

from werkzeug.wsgi import LimitedStream

from ...http.blueprint import max_body_size
from ...http.pieces import STREAMS
from ...query.bounds import bounds_of
from .admission import Refusal, respond
from .environ import environ_of

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType

    from _typeshed.wsgi import InputStream, WSGIApplication, WSGIEnvironment

    from .admission import Receive, Send
    from .worker import Worker

    Headers: t.TypeAlias = "list[tuple[str, str]]"
    ErrorInfo: t.TypeAlias = "tuple[type, BaseException, TracebackType | None]"

MAX_WAITING: t.Final = 1000
"""The number of requests that may wait for a thread."""

MAX_IN_MEMORY: t.Final = 64 * 1024
"""The bytes of a body that are kept in memory. A temporary file has larger ones."""

MAX_UNLIMITED: t.Final = 100 * 1024 * 1024
"""The maximum size of a body if the application sets no limit."""

MAX_UNCHECKED: t.Final = 1024 * 1024
"""The bytes of a body that are received before its caller is checked."""

BODY_TIMEOUT: t.Final = 15
"""The seconds in which the client sends the next :data:`STEP` of a body."""

STEP: t.Final = 10_000
"""The bytes of a body that a client sends in each second, but for the first seconds."""

MAX_UNSENT: t.Final = 1024 * 1024
"""The bytes of a response after which its thread waits until they are sent."""

SEND_TIMEOUT: t.Final = 30
"""The seconds in which the client accepts a part of a response."""

BUSY: t.Final = Refusal(
    503, "Too many requests are waiting. Try again.", ((b"retry-after", b"1"),)
)
FULL: t.Final = Refusal(
    503, "Too many uploads are in progress. Try again.", ((b"retry-after", b"5"),)
)
CUT_OFF: t.Final = Refusal(
    400,
    "The body could not be read. Send the request again.",
    ((b"connection", b"close"),),
)
TOO_LARGE: t.Final = Refusal(413, "The body is too large.")
TOO_SLOW: t.Final = Refusal(
    408, "The body did not arrive in time.", ((b"connection", b"close"),)
)


class ClientGone(ConnectionError):
    """The client has left, or reads nothing, before the end of the response."""


async def read_body(
    receive: Receive,
    file: t.IO[bytes],
    check: Callable[[int], Awaitable[Refusal | None]],
) -> Refusal | None:
    """Write the body of a request to a file. Return a refusal if it is cut off, late or
    refused.

    :param check: Returns the refusal of a body of so many bytes, if it is one.
    """
    now = asyncio.get_running_loop().time
    began, size, step, has_more = now(), 0, 0, True

    try:
        async with asyncio.timeout(BODY_TIMEOUT) as timeout:
            while has_more:
                message = await receive()

                if message["type"] == "http.disconnect":
                    return CUT_OFF

                data = message.get("body", b"")
                has_more = message.get("more_body", False)
                size += len(data)

                if refusal := await check(size):
                    return refusal

                file.write(data)

                # What came before gives no credit.
                if size // STEP > step:
                    step = size // STEP
                    slowest = began + 2 * BODY_TIMEOUT + step
                    timeout.reschedule(min(slowest, now() + BODY_TIMEOUT))
    except TimeoutError:
        return TOO_SLOW

    return None


class Upload:
    """The size of one body, bounded by what its caller may send.

    :param length: The size in bytes that the request announces, 0 if it does not.
    """

    def __init__(
        self, requests: Requests, scope: Mapping[str, t.Any], length: int
    ) -> None:
        self.size = 0
        """The number of bytes that count for the bound of all bodies."""
        self._requests = requests
        self._scope = scope
        self._length = length
        self._limit: int | None = None

    async def check(self, size: int) -> Refusal | None:
        """Return the refusal of a body of so many bytes, if it is one."""
        requests, total = self._requests, max(size, self._length)

        if total <= MAX_UNCHECKED:
            return TOO_LARGE if total > requests.max_size else None

        if self._limit is None:
            self._limit = await requests.max_size_of(self._scope)

        if total > self._limit:
            return TOO_LARGE

        requests.worker.uploaded += size - self.size
        self.size = size
        is_full = (
            requests.worker.uploaded > bounds_of(requests.worker.server.app).uploads
        )
        return FULL if is_full else None

    def __enter__(self) -> None:
        """Count the body from here on."""

    def __exit__(self, *error: t.Any) -> None:
        self._requests.worker.uploaded -= self.size


class Requests:
    """Answers requests of the application, each in one thread, once their bodies have
    arrived.

    :param threads: The maximum number of threads.
    """

    def __init__(self, worker: Worker, threads: int) -> None:
        self.number = 0
        """The number of requests that run or wait for a thread."""
        self.worker = worker
        """Counts the requests, and the bytes of large bodies."""
        self._limit = threads + MAX_WAITING
        self._pool = futures.ThreadPoolExecutor(threads, "records-request")
        # Results that come piece by piece leave threads for others.
        self._streams = threading.BoundedSemaphore(max(1, threads // 2))

    async def __call__(
        self, scope: Mapping[str, t.Any], receive: Receive, send: Send
    ) -> None:
        """Answer a request.

        :raises Exception: The application has raised it.
        """
        length = dict(scope["headers"]).get(b"content-length", b"")
        upload = Upload(self, scope, int(length) if length.isdigit() else 0)

        with SpooledTemporaryFile(MAX_IN_MEMORY) as file, upload:
            body = await self._read(upload, receive, file)

            if not isinstance(body, Refusal) and self.number >= self._limit:
                body = BUSY

            if isinstance(body, Refusal):
                await respond(send, body)
                return

            self.number += 1
            self.worker.running += 1

            try:
                await self._answer(environ_of(scope, body), receive, send)
            finally:
                self.number -= 1
                self.worker.finish()

    def shutdown(self) -> None:
        """Answer no more requests."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def max_size_of(self, scope: Mapping[str, t.Any]) -> int:
        """Return the maximum size of the body of a request, 0 if its caller may not
        call.
        """
        environ = environ_of(scope, io.BytesIO())
        app = self.worker.server.app
        check = partial(max_body_size, app, environ, default=self.max_size)
        # An error of the application is logged, and refuses the body.
        return await self.worker.call(check) or 0

    @property
    def max_size(self) -> int:
        """The maximum size of a body for any view."""
        limit: int | None = self.worker.server.app.config["MAX_CONTENT_LENGTH"]

        if limit is None:
            return MAX_UNLIMITED

        return max(limit, self.worker.server.records.max_form_size)

    async def _read(
        self, upload: Upload, receive: Receive, file: t.IO[bytes]
    ) -> InputStream | Refusal:
        """Return the body of a request.

        :param file: An empty file that takes the body.
        """
        refusal = await upload.check(0)
        refusal = refusal or await read_body(receive, file, upload.check)

        if refusal is TOO_LARGE:
            # The application refuses it in its own form, once it is read.
            return LimitedStream(io.BytesIO(), 0, is_max=True)

        file.seek(0)
        return refusal or t.cast("InputStream", file)

    async def _answer(
        self, environ: WSGIEnvironment, receive: Receive, send: Send
    ) -> None:
        loop = asyncio.get_running_loop()
        exchange = Exchange(loop, receive, send)
        environ[STREAMS] = self._streams
        # Middleware around the application may have set variables.
        run = contextvars.copy_context().run

        try:
            await loop.run_in_executor(
                self._pool, run, exchange.answer, self.worker.server.app, environ
            )
            await exchange.finish()
        finally:
            exchange.leave()


class Exchange:
    """One response: a thread makes it, and the event loop sends it.

    :param loop: The event loop.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, receive: Receive, send: Send
    ) -> None:
        self._loop = loop
        self._receive = receive
        self._send = send
        self._start: dict[str, t.Any] | None = None
        self._length: int | None = None
        self._parts: list[bytes] = []
        self._unsent = self._written = 0
        self._is_bodiless = self._is_started = self._is_gone = False
        self._watcher: asyncio.Task[None] | None = None

    # These methods run in the thread.

    def answer(self, app: WSGIApplication, environ: WSGIEnvironment) -> None:
        """Let the application answer the request.

        :raises Exception: The application has raised it.
        """
        self._is_bodiless = environ["REQUEST_METHOD"] == "HEAD"

        try:
            iterable = app(environ, t.cast(t.Any, self.start_response))

            try:
                for data in iterable:
                    self.write(data)
            finally:
                if hasattr(iterable, "close"):
                    iterable.close()
        except ClientGone:
            pass
        except (KeyboardInterrupt, StopIteration, SystemExit) as error:
            # These exceptions would end the event loop.
            raise RuntimeError(f"The application has raised {error!r}.") from error

        if self._start is None:
            raise AssertionError("start_response() was not called.")

    def start_response(
        self, status: str, headers: Headers, exc_info: ErrorInfo | None = None
    ) -> Callable[[bytes], None]:
        """Take the status and the headers of the response, as WSGI has it."""
        if exc_info is not None and self._written:
            raise exc_info[1].with_traceback(exc_info[2])

        if exc_info is None and self._start is not None:
            raise AssertionError("start_response() was called before.")

        code = int(status[:3])
        self._is_bodiless = self._is_bodiless or code < 200 or code in (204, 304)
        self._length = None
        pairs = []

        for name, value in headers:
            lower = name.lower()

            if lower == "content-length" and value.isdecimal():
                self._length = int(value)

            # Servers set these. "Connection: close" is a wish of the application.
            if lower == "connection" or not is_hop_by_hop(lower):
                pairs.append((lower.encode("latin-1"), value.encode("latin-1")))

        message = {"type": "http.response.start", "status": code, "headers": pairs}
        self._start = message
        return self.write

    def write(self, data: bytes) -> None:
        """Take a part of the response. Parts of a stream are sent at once, others
        together.

        :raises ClientGone: The client has left, or is too slow.
        """
        if self._length is not None:
            # More would be the beginning of the next response.
            data = data[: self._length - self._written]

        if not data or self._is_bodiless:
            return

        self._parts.append(data)
        self._written += len(data)
        self._unsent += len(data)

        if self._length is None or (
            self._unsent >= MAX_UNSENT and self._written < self._length
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

        if not self._is_started:
            self._is_started = True
            await self._send(self._start)

        body = {"type": "http.response.body", "body": data, "more_body": not is_last}
        await self._send(body)

        if not is_last and self._watcher is None:
            self._watcher = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        """Notice that the client leaves."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

        self._is_gone = True
