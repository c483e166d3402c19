"""A stream: one client that gets events over plain HTTP, as Server-Sent Events."""

from __future__ import annotations

import asyncio
import math
import time
import typing as t
from contextlib import suppress

from ...errors import TooManyRequests, Unavailable
from ...http.qs import parse
from ..protocol import ClientEvent, Packet
from .client import Client, FAREWELL, NO_PLACE_OF_USER
from .requests import ask_to_retry, NO_SNIFFING, refuse
from .senders import body_message, PollQueue, response_sender, until_ended

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed.wsgi import WSGIEnvironment

    from ...errors import RecordsError
    from ...typing import Record
    from ..connections import Connection, Reason
    from .requests import Receive, Scope, Send
    from .worker import Worker

HEARTBEAT: t.Final = 20
"""The seconds between two comments, by which proxies and clients see that it lives."""

CONNECTED: t.Final = "connected"
"""The first event of a stream. The client loads its data then."""

START: t.Final = {
    "type": "http.response.start",
    "status": 200,
    "headers": (
        # The client of version 6 compares the whole type.
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-cache"),
        # A proxy such as nginx sends each event as it comes.
        (b"x-accel-buffering", b"no"),
        NO_SNIFFING,
    ),
}

COMMENT: t.Final = Packet(":\n\n")

LAST: t.Final = {"type": "http.response.body", "body": b""}


def query_of(environ: WSGIEnvironment) -> Record:
    """Return the query of a request.

    :raises BadRequest: It is not valid.
    """
    text = environ["QUERY_STRING"].encode("latin-1")
    return parse(text.decode("utf-8", "replace"))


class Stream(Client):
    """A client that gets events over HTTP. The connection breaks so that the client
    connects again and loads anew, or is over if the application disconnects it.
    """

    def __init__(
        self,
        worker: Worker,
        environ: WSGIEnvironment,
        leave_place: Callable[[], None],
        query: Record,
    ) -> None:
        # The queue keeps what comes before the response has begun.
        self._queue = PollQueue()
        super().__init__(worker, environ, leave_place, self._queue)
        self._query = query
        error = Unavailable("The connection can't be served now. Try again.")
        self._refusal: tuple[RecordsError, Record] = error, error.to_dict()
        self._deadline = math.inf

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the client until it leaves, or the stream ends."""
        self._scope, self._receive, self._send = scope, receive, send

        try:
            async with until_ended() as self._stop:
                self._begin_connection()

                # Clients send nothing.
                while (await receive())["type"] != "http.disconnect":
                    pass
        finally:
            self.end()

        await self.sender.finish()

    def send_event(self, event: ClientEvent) -> None:
        self._offer(event.part)

    def check(self, now: float) -> None:
        """Send a comment if it is due."""
        if now >= self._deadline:
            self._deadline = now + HEARTBEAT
            self._offer(COMMENT)

    def log_out(self, event: ClientEvent) -> None:
        """Inform the client that its login is over, and hang up."""
        super().log_out(event)
        asyncio.get_running_loop().call_later(FAREWELL, self.end)

    def dismiss(self, event: ClientEvent) -> None:
        """End the stream for the application, so that the client stays away."""
        self.send_event(event)

        if self.is_open and self.sender is not self._queue:
            self._close()
            self.sender.close(LAST)
        else:
            self.end()

    def end(self, reason: Reason | None = None) -> None:
        """Break the stream, so that the client connects again. Nothing happens if it
        has ended.
        """
        if reason is NO_PLACE_OF_USER:
            error = ask_to_retry(10, TooManyRequests(reason.reason))
            self._refusal = error, error.to_dict()

        # Nothing but a break lets clients come back.
        super().end()

    def _refuse(
        self, connection: Connection, error: RecordsError, body: Record
    ) -> None:
        self._refusal = error, body

    async def _connect(self, connection: Connection) -> None:
        await super()._connect(connection)

        with suppress(OSError):
            if self.is_open and connection.client is self:
                await self._open()
            else:
                await refuse(self._scope, self._send, *self._refusal)
                self.end()
                self._stop()

    async def _open(self) -> None:
        path = self._server.settings.stream_name
        first = ClientEvent(path, CONNECTED, self._query)
        await self._send({**START})
        # Some servers keep the headers until there is something behind them.
        await self._send(body_message(first.part))
        sender = response_sender(self._scope, self._receive, self._send, self._stop)
        self._change_sender(sender, self._queue.take())
        self._deadline = time.monotonic() + HEARTBEAT

        # The stream may have ended in the meantime.
        if not self.is_open:
            sender.hang_up()
