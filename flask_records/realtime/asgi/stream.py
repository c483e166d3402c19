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
from ...http.qs import parse
from ..connections import user_channel_of
from .admission import NO_SNIFFING, Refusal, respond
from .client import Client, FAREWELL, NO_PLACE_OF_USER
from .protocol import ClientEvent, Part
from .senders import (
    body_message,
    ResponseSender,
    ServerSender,
    socket_of,
    until_ended,
)

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

NOT_NOW: t.Final = Refusal.of(
    Unavailable("The connection can't be served now. Try again.")
)

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
        self._refusal: Refusal | None = None
        self._form = attrgetter("plain")
        self._deadline = math.inf

    async def serve(self, receive: Receive) -> None:
        """Serve the client until it leaves, or the stream ends."""
        self._receive = receive

        try:
            with until_ended() as self._stop:
                self._begin_connection()

                # Clients send nothing.
                while (await receive())["type"] != "http.disconnect":
                    pass
        finally:
            self.end()

        if self.sender is not None:
            await self.sender.finish()

    def send_event(self, event: ClientEvent) -> None:
        """Send an event. A client that leaves too much unread is disconnected."""
        self._offer(self._form(event.part))

    def check(self, now: float) -> None:
        """Send a comment if it is due.

        :param now: The time.
        """
        if now >= self._deadline:
            self._deadline = now + HEARTBEAT
            self._offer(self._form(COMMENT))

    def log_out(self, event: ClientEvent) -> None:
        """Tell the client that its login is over, and hang up."""
        super().log_out(event)
        asyncio.get_running_loop().call_later(FAREWELL, self.end)

    def disconnect(self, event: ClientEvent) -> None:
        """End the stream for the application, so that the client stays away.

        :param event: Has the reason.
        """
        self.send_event(event)

        if self.is_open and self.sender is not None:
            self._close()
            self.sender.close(LAST)
        else:
            self.end()

    def end(self, reason: Reason | None = None) -> None:
        """Break the stream, so that the client connects again. Nothing happens if it
        has ended.
        """
        # Nothing but a break lets clients come back.
        super().end()

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
        self._refusal = Refusal.of(error, body_of(error))

    async def _connect(self, id: str) -> None:
        await super()._connect(id)

        with suppress(OSError):
            if self.is_open and id in self._worker.joined:
                await self._open()
            else:
                await respond(self._send, self._refusal or NOT_NOW, self._headers)
                self.end()
                self._stop()

    async def _open(self) -> None:
        """Begin the response."""
        start = {"type": "http.response.start", "status": 200}
        await self._send(start | {"headers": [*HEADERS, *self._headers]})
        first = ClientEvent(self._server.settings.stream_name, CONNECTED, self._query)
        transport, is_chunked = socket_of(self._scope, self._receive)

        if transport is None:
            self.sender = ServerSender(self._send, self._stop, body_message)
            self.send_event(first)
        else:
            self._form = attrgetter("chunk" if is_chunked else "plain")

            if not transport.is_closing():
                _limit_silence(transport)

            # Some servers keep the headers until there is something behind them.
            await self._send(body_message(first.part.plain))
            self.sender = ResponseSender(transport, self._send, self._stop, is_chunked)

        self._deadline = time.monotonic() + HEARTBEAT

        # The stream may have ended in the meantime.
        if not self.is_open:
            self.sender.hang_up()


def _limit_silence(transport: asyncio.Transport) -> None:
    """Let the system end a connection whose client accepts nothing for a time."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    own = transport.get_extra_info("socket")

    # Sockets of files have no such option, nor have some systems.
    if option is not None and own is not None and own.family != socket.AF_UNIX:
        own.setsockopt(socket.IPPROTO_TCP, option, READ_TIMEOUT * 1000)
