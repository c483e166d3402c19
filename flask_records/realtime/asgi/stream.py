"""A stream: one client that gets events over plain HTTP, as Server-Sent Events."""

from __future__ import annotations

import asyncio
import math
import socket
import time
import typing as t
from contextlib import suppress
from operator import attrgetter

from flask import request

from ...errors import TooManyRequests, Unavailable
from ...http.error_handler import body_of
from ...http.formatter import dumps, JSON
from ...http.qs import parse
from ..connections import user_channel_of
from .admission import NO_SNIFFING
from .client import Client, NO_PLACE_OF_USER
from .protocol import ClientEvent, Part
from .senders import body_message, ResponseSender, ServerSender, socket_of

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed.wsgi import WSGIEnvironment

    from ...errors import RecordsError
    from ...service.context import Params
    from ...typing import Record
    from ..connections import Reason
    from .admission import Headers, Receive, Send, Slot
    from .worker import Worker

HEARTBEAT: t.Final = 20
"""The seconds between two comments, by which proxies and clients see that it lives."""

READ_TIMEOUT: t.Final = 45
"""The seconds after which a client is gone that accepts nothing."""

FAREWELL: t.Final = 1
"""The seconds that a client has to change its credentials after its login is over."""

CONNECTED: t.Final = "connected"
"""The first event of a stream. The client loads its data then."""

HEADERS: t.Final[Headers] = (
    # The client of version 6 compares the whole type.
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    # Without this, nothing arrives through a proxy that speaks HTTP/1.0.
    (b"x-accel-buffering", b"no"),
    NO_SNIFFING,
)

COMMENT: t.Final = Part(":\n\n")

NOT_NOW: t.Final = "The connection can't be served now. Try again."

LAST: t.Final = {"type": "http.response.body", "body": b""}


class Stream(Client):
    """A client that gets events over HTTP. The connection breaks so that the client
    connects again and loads anew, or is over if the application disconnects it.

    :param headers: More headers of the response.
    """

    def __init__(
        self,
        worker: Worker,
        environ: WSGIEnvironment,
        slot: Slot,
        scope: Mapping[str, t.Any],
        send: Send,
        headers: Headers,
    ) -> None:
        super().__init__(worker, environ, slot)
        self._scope = scope
        self._send = send
        self._headers = headers
        self._query: Record = {}
        self._refusal: tuple[RecordsError, Record] | None = None
        self._sender: ResponseSender | ServerSender | None = None
        self._task = t.cast("asyncio.Task[None]", asyncio.current_task())
        self._form = attrgetter("plain")
        self._deadline = math.inf
        self._is_open, self._is_done = True, False

    @property
    def is_open(self) -> bool:
        """``True`` until the client leaves, or the stream ends."""
        return self._is_open

    async def serve(self, receive: Receive) -> None:
        """Serve the client until it leaves, or the stream ends."""
        self._receive = receive
        self._begin_connection()

        try:
            # Clients send nothing.
            while (await receive())["type"] != "http.disconnect":
                pass
        except asyncio.CancelledError:
            # The server may cancel it, too.
            if not self._is_done:
                raise

            if self._sender is not None:
                await self._sender.finish()
        finally:
            self._is_done = True
            self.end()

    @property
    def unsent(self) -> int:
        """The number of bytes of events that the client has not accepted."""
        return 0 if self._sender is None else self._sender.unsent_events

    def send_event(self, event: ClientEvent) -> None:
        """Send an event. A client that leaves too much unread is disconnected."""
        self._offer(event.part)

    def check(self, now: float) -> None:
        """Send a comment if it is due.

        :param now: The time.
        """
        if now >= self._deadline:
            self._deadline = now + HEARTBEAT
            self._offer(COMMENT)

    def log_out(self, event: ClientEvent) -> None:
        """Tell the client that its login is over, and hang up."""
        self.send_event(self._own(event))
        asyncio.get_running_loop().call_later(FAREWELL, self.end)

    def disconnect(self, event: ClientEvent) -> None:
        """End the stream for the application, so that the client stays away.

        :param event: Tells the reason.
        """
        self.send_event(self._own(event))

        if self._is_open and self._sender is not None:
            self._is_open = False
            self._sender.close(LAST)
            self._close()
        else:
            self.end()

    def end(self, reason: Reason | None = None) -> None:
        """Break the stream, so that the client connects again. Nothing happens if it
        has ended.
        """
        if self._is_open:
            self._is_open = False
            self._close()

            if self._sender is not None:
                self._sender.hang_up()

    def _offer(self, part: Part) -> None:
        # The client loads its data after the first event.
        if self._sender is not None and not self._sender.offer(
            self._form(part), self._worker.max_unsent
        ):
            self.end()

    def _own(self, event: ClientEvent) -> ClientEvent:
        """Return an event of the connection as one of the stream's own path."""
        path = self._server.settings.stream_name
        return ClientEvent(path, event.name, event.record)

    def _stop(self) -> None:
        """Let the task of the client end."""
        if not self._is_done:
            self._is_done = True
            self._task.cancel()

    def _check_login(self, login: Params) -> None:
        self._query = parse(request.query_string.decode("utf-8", "replace"))
        channel, server = user_channel_of(login), self._server

        if channel and (
            len(server.connections.members(channel)) >= server.settings.max_of_user
        ):
            error = TooManyRequests(NO_PLACE_OF_USER.reason)
            error.headers["Retry-After"] = "10"
            raise error

    def _accept(self, id: str) -> None:
        if id == self.connection_id:
            self._worker.joined[id] = self

    def _refuse(self, id: str, error: RecordsError) -> None:
        self._refusal = error, body_of(error)

    async def _connect(self, id: str) -> None:
        await super()._connect(id)

        with suppress(OSError):
            if self._is_open and id in self._worker.joined:
                await self._open()
            else:
                error, body = self._refusal or (Unavailable(NOT_NOW), None)
                await answer(self._send, error, self._headers, body)
                self.end()
                self._stop()

    async def _open(self) -> None:
        """Begin the response."""
        start = {"type": "http.response.start", "status": 200}
        await self._send(start | {"headers": [*HEADERS, *self._headers]})
        first = ClientEvent(self._server.settings.stream_name, CONNECTED, self._query)
        transport, is_chunked = socket_of(self._scope, self._receive)

        if transport is None:
            self._sender = ServerSender(self._send, self._stop, body_message)
            self._offer(first.part)
        else:
            self._form = attrgetter("chunk" if is_chunked else "plain")

            if not transport.is_closing():
                _limit_silence(transport)

            # Some servers keep the headers until there is something behind them.
            await self._send(body_message(first.part.plain))
            self._sender = ResponseSender(transport, self._send, self._stop, is_chunked)

        self._deadline = time.monotonic() + HEARTBEAT

        # The stream may have ended in the meantime.
        if not self._is_open:
            self._sender.hang_up()


async def answer(
    send: Send, error: RecordsError, headers: Headers, body: Record | None = None
) -> None:
    """Send an error in place of a stream.

    :param headers: More headers of the response.
    :param body: The body of the error, made of its class by default.
    """
    text = dumps(body or error.to_dict())
    own = {"Content-Type": JSON, "Content-Length": str(len(text)), **error.headers}

    if error.code == 401:
        own["WWW-Authenticate"] = "Bearer"

    pairs = {name.lower().encode(): own[name].encode("latin-1") for name in own}
    lines = [NO_SNIFFING, *(pairs | dict(headers)).items()]
    start = {"type": "http.response.start", "status": error.code or 500}
    await send(start | {"headers": lines})
    await send({"type": "http.response.body", "body": text})


def _limit_silence(transport: asyncio.Transport) -> None:
    """Let the system end a connection whose client accepts nothing for a time."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    own = transport.get_extra_info("socket")

    # Sockets of files have no such option, nor have some systems.
    if option is not None and own is not None and own.family != socket.AF_UNIX:
        own.setsockopt(socket.IPPROTO_TCP, option, READ_TIMEOUT * 1000)
