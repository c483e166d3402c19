"""One request and its response: a thread answers, the event loop sends."""

from __future__ import annotations

import asyncio
import logging
import queue
import typing as t
from collections import deque

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

    from .body import Message
    from .polling import Receive, Send

    Headers: t.TypeAlias = "list[tuple[str, str]]"
    ErrorInfo: t.TypeAlias = "tuple[type, BaseException, TracebackType | None]"
    Answer: t.TypeAlias = "Message | None"
    Part: t.TypeAlias = "bytes | Callable[[], Awaitable[Message]]"

logger = logging.getLogger(__name__)

MAX_UNSENT: t.Final = 64 * 1024
"""The bytes of a response after which its thread waits until they are sent."""

BODY: t.Final = "http.response.body"

LEFT_TO_SERVERS: t.Final = {
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailers",
    "transfer-encoding",
    "upgrade",
}
"""The headers that concern the connection."""


class ClientGone(ConnectionError):
    """The client has left before the end of the response."""


class Exchange:
    """One request and its response. A thread hands over the parts of the response, and
    the event loop sends them in their order.

    :param post: Runs a function in the event loop.
    :param is_received: The body of the request has arrived.
    """

    __slots__ = (
        "_answers",
        "_error",
        "_is_bodiless",
        "_is_complete",
        "_is_ended",
        "_is_gone",
        "_is_received",
        "_is_started",
        "_length",
        "_news",
        "_parts",
        "_post",
        "_receive",
        "_send",
        "_start",
        "_unsent",
        "_watcher",
        "_written",
    )

    def __init__(
        self,
        post: Callable[..., None],
        receive: Receive,
        send: Send,
        *,
        is_received: bool,
    ) -> None:
        self._post = post
        self._receive = receive
        self._send = send
        self._is_received = is_received
        self._parts: deque[Part] = deque()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._news: asyncio.Future[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._start: dict[str, t.Any] | None = None
        self._error: BaseException | None = None
        self._length: int | None = None
        self._written = 0
        self._unsent = 0
        self._is_bodiless = False
        self._is_started = False
        self._is_complete = False
        self._is_ended = False
        self._is_gone = False

    # These methods run in the thread.

    def answer(self, app: WSGIApplication, environ: WSGIEnvironment) -> None:
        """Let the application answer the request, in a thread."""
        if self._is_gone:
            return

        self._is_bodiless = environ["REQUEST_METHOD"] == "HEAD"

        try:
            iterable = app(environ, t.cast(t.Any, self.start_response))

            try:
                for data in iterable:
                    self.write(data)

                self._end()
            finally:
                if hasattr(iterable, "close"):
                    iterable.close()
        except ClientGone:
            self._end()
        except BaseException as error:
            self._end(error)

    def start_response(
        self, status: str, headers: Headers, exc_info: ErrorInfo | None = None
    ) -> Callable[[bytes], None]:
        """Take the status and the headers of the response, as WSGI has it."""
        if exc_info is not None:
            try:
                if self._written:
                    raise exc_info[1].with_traceback(exc_info[2])
            finally:
                # It refers to this frame.
                exc_info = None
        elif self._start is not None:
            raise AssertionError("start_response() was called before.")

        code = int(status[:3])
        self._is_bodiless = self._is_bodiless or code < 200 or code in (204, 304)
        self._length = None
        pairs = []

        for name, value in headers:
            lower = name.lower()

            if "\n" in value or "\r" in value:
                raise ValueError(f"The header {name!r} must not have line breaks.")

            if lower == "content-length" and value.isdecimal():
                self._length = int(value)

            if lower not in LEFT_TO_SERVERS:
                pairs.append((lower.encode("latin-1"), value.encode("latin-1")))

        message = {"type": "http.response.start", "status": code, "headers": pairs}
        self._start = message
        return self.write

    def write(self, data: bytes) -> None:
        """Hand over a part of the response, and wait if the client is slow.

        :raises ClientGone: The client has left.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"The parts of a response must be bytes, not {data!r:.20}.")

        if self._start is None:
            raise AssertionError("start_response() must be called before.")

        if self._is_gone:
            raise ClientGone("The client has disconnected.")

        if not data or self._is_bodiless or self._is_ended:
            return

        if self._length is not None:
            # More would be the beginning of the next response.
            data = data[: self._length - self._written]

        self._parts.append(data)
        self._written += len(data)
        self._unsent += len(data)

        if self._written == self._length:
            self._end()
        elif self._unsent >= MAX_UNSENT:
            self._ask(self._confirm)
            self._unsent = 0
        else:
            self._post(self._tell)

    def receive(self) -> Answer:
        """Return the next message of the server, ``None`` if the client has left."""
        return self._ask(self._receive_more)

    def _ask(self, answer: Callable[[], Awaitable[Message]]) -> Answer:
        """Wait for the answer of the event loop, after all parts are sent."""
        if self._is_gone:
            return None

        self._parts.append(answer)
        self._post(self._tell)
        return self._answers.get()

    def _end(self, error: BaseException | None = None) -> None:
        """End the response, which may have ended before."""
        if error is not None and (self._is_ended or self._is_gone):
            # Nobody else would notice.
            logger.error("A request could not be finished.", exc_info=error)
            error = None

        if not self._is_ended:
            self._error, self._is_ended = error, True
            self._post(self._tell)

    # These methods run in the event loop.

    async def finish(self) -> None:
        """Send the response.

        :raises Exception: The application has raised it.
        """
        try:
            while self._parts or not self._is_ended:
                await self._wait()
                await self._take()

            if self._error is not None:
                raise self._error

            if not self._is_complete:
                await self._send_body(b"", is_last=True)
        finally:
            self._is_gone = True
            self._answers.put(None)

            if self._watcher is not None:
                self._watcher.cancel()

    async def _wait(self) -> None:
        """Wait for parts, or for the end."""
        while not self._parts and not self._is_ended:
            self._news = asyncio.get_running_loop().create_future()
            await self._news

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _take(self) -> None:
        """Send the parts until the thread asks for something, and answer it."""
        data: list[bytes] = []
        question = None

        while self._parts and question is None:
            part = self._parts.popleft()

            if isinstance(part, bytes):
                data.append(part)
            else:
                question = part

        if data:
            # The end comes after all parts.
            is_last = self._is_ended and not self._parts and question is None
            is_last = is_last and self._error is None
            await self._send_body(b"".join(data), is_last=is_last)

        if question is not None:
            self._answers.put(await question())

    async def _send_body(self, data: bytes, *, is_last: bool) -> None:
        if self._start is None:
            raise AssertionError("start_response() was not called.")

        try:
            if not self._is_started:
                self._is_started = True
                await self._send(self._start)

            message = {"type": BODY, "body": data, "more_body": not is_last}
            await self._send(message)
        except OSError:
            # Some servers tell by this that the client has left.
            self._is_gone = True

        self._is_complete = is_last

        if not is_last and self._is_received and self._watcher is None:
            self._watcher = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """Notice that the client leaves."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

        self._is_gone = True

    async def _receive_more(self) -> Message:
        message: Message = await self._receive()
        self._is_received = not message.get("more_body")
        return message

    async def _confirm(self) -> Message:
        """Tell the thread that all before is sent."""
        return {}
