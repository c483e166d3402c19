"""Requests of the Flask application."""

from __future__ import annotations

import contextvars
import io
import typing as t

from .body import Body, read_first
from .environ import environ_of
from .exchange import Exchange
from .handshake import Refusal
from .polling import respond

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .event_loop import EventLoop
    from .polling import Receive, Send


BUSY: t.Final = Refusal(
    503, "Too many requests are waiting. Try again.", ((b"retry-after", b"1"),)
)


class Requests:
    """Answers requests of the application, each in one thread of the pool."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop

    async def __call__(
        self, scope: Mapping[str, t.Any], receive: Receive, send: Send
    ) -> None:
        """Answer a request.

        :raises Exception: The application has raised it.
        """
        data, is_whole = await read_first(scope, receive)
        exchange = Exchange(self._loop.post, receive, send, is_received=is_whole)
        body: t.Any = io.BytesIO(data)

        if not is_whole:
            body = io.BufferedReader(Body(data, exchange.receive))

        environ = environ_of(scope, body)
        # Middleware around the application may have set variables.
        run = contextvars.copy_context().run
        app = self._loop.app

        if self._loop.requests.run(run, exchange.answer, app, environ):
            await exchange.finish()
        else:
            await respond(send, BUSY, [])
