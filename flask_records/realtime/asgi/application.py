"""The ASGI application: WebSockets, polling, and requests of the Flask application."""

from __future__ import annotations

import asyncio
import io
import logging
import typing as t
from dataclasses import replace
from operator import attrgetter
from urllib.parse import parse_qs

from ...errors import Forbidden, MethodNotAllowed, Unavailable
from ..connections import BURST
from ..settings import stream_path_of
from .admission import INVALID_SESSION, Refusal, refuse, respond
from .environ import paths_of
from .protocol import (
    CLOSE,
    decode,
    InvalidPacket,
    NOOP,
    PROBE,
    PROBE_ANSWER,
    PROTOCOLS,
    UPGRADE,
)
from .senders import PollQueue, sender_for, until_ended
from .session import JOIN_TIMEOUT, LARGE, Session
from .stream import Stream
from .worker import Worker
from .wsgi_requests import read_body, Requests, TOO_LARGE

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed.wsgi import WSGIEnvironment

    from ..server import Server
    from .admission import Headers, Receive, Send, Slot
    from .senders import Sender

    Scope: t.TypeAlias = Mapping[str, t.Any]

logger = logging.getLogger(__package__)

NO_SOCKET: t.Final = Refusal(404, "There is no WebSocket at this path.")

NO_VERB: t.Final = "A stream of events is read by GET."

ALONE: t.Final = (
    "There are several workers without RECORDS_REALTIME['message_queue']: clients miss"
    " the events of other workers, and can't poll. Start one worker, or use Redis."
)

WORKERS: t.Final = ("__self__.config.workers", "__self__.logger.cfg.workers")
"""The number of workers of uvicorn and of gunicorn, from the function of their life."""

UPGRADE_TIMEOUT: t.Final = 45
"""The seconds that a client has to stop polling. It waits for its request to be
answered.
"""

UPGRADE_PAUSE: t.Final = 0.1
"""The seconds that a request waits for packets while the client stops polling."""


class Application:
    """Serves a Flask application and its connections in one event loop.

    :param threads: The maximum number of threads for calls, and of those for requests.
    """

    def __init__(self, server: Server, threads: int) -> None:
        self.worker = Worker(server, threads)
        """Holds the connections."""
        self._admission = self.worker.admission
        self._settings = server.settings
        self._stream_path = stream_path_of(server.app, server.settings)
        self._requests = Requests(self.worker, threads)
        self._is_used = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, a connection, or the life of the server."""
        if not self._is_used:
            # The module may have the application for WSGI servers as well.
            self._is_used = True
            self.worker.begin()

        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return

        path = f"{paths_of(scope)[1].rstrip('/')}/"
        is_ours = path == self._settings.url_path

        if scope["type"] == "websocket":
            await receive()

            if is_ours:
                await self._serve_socket(scope, receive, send)
            else:
                await refuse(scope, send, NO_SOCKET)
        elif is_ours or path == self._stream_path:
            await self._serve_events(scope, receive, send, is_stream=not is_ours)
        else:
            await self._requests(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()

        if self._settings.message_queue is None and _workers_of(send) > 1:
            logger.warning(ALONE)

        try:
            await asyncio.to_thread(self.worker.server.log.check)
        except RuntimeError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        except ConnectionError as error:
            logger.warning("%s", error)

        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.worker.stop()
        self._requests.shutdown()
        await send({"type": "lifespan.shutdown.complete"})

    def _welcome(self, *, may_upgrade: bool) -> dict[str, t.Any]:
        """Return the data of the first packet of a session, without its id."""
        allowed = self._settings.transports
        has_websockets = allowed is None or "websocket" in allowed
        return {
            "upgrades": ["websocket"] if may_upgrade and has_websockets else [],
            "pingTimeout": int(self.worker.ping_timeout * 1000),
            "pingInterval": int(self.worker.ping_interval * 1000),
            "maxPayload": self._settings.max_payload,
        }

    # WebSockets

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a WebSocket until it is closed."""
        environ, query, admission = (
            self._admission.environ(scope),
            _query_of(scope),
            self._admission,
        )
        refusal = admission.check_origin(environ) or admission.check(query, "websocket")
        previous = self._session_of(query)

        if (
            refusal is None
            and "sid" in query
            and (previous is None or not isinstance(previous.sender, PollQueue))
        ):
            refusal = INVALID_SESSION

        slot = refusal or admission.admit(environ)

        if isinstance(slot, Refusal):
            await refuse(scope, send, slot)
            return

        session = sender = None

        try:
            with until_ended() as end:
                await send({"type": "websocket.accept"})
                sender = sender_for(scope, send, end)

                if previous is None:
                    session = self._begin(environ, query, slot, sender)
                else:
                    session = await _upgraded(previous, receive, sender, slot)

                while session is not None and (message := await receive())["type"] == (
                    "websocket.receive"
                ):
                    await session.receive_text(message.get("text"))
        finally:
            if session is None:
                slot.free()
            else:
                session.leave()

        if sender is not None:
            await sender.finish()

    def _session_of(self, query: Mapping[str, str]) -> Session | None:
        """Return the session that a request names, if there is one."""
        client = self.worker.clients.get(query.get("sid", ""))
        return client if isinstance(client, Session) else None

    def _begin(
        self,
        environ: WSGIEnvironment,
        query: Mapping[str, str],
        slot: Slot,
        sender: Sender,
    ) -> Session:
        session = Session(self.worker, PROTOCOLS[query["EIO"]], environ, slot, sender)
        session.begin(self._welcome(may_upgrade=isinstance(sender, PollQueue)))
        return session

    # HTTP

    async def _serve_events(
        self, scope: Scope, receive: Receive, send: Send, *, is_stream: bool
    ) -> None:
        """Answer a request of a client that polls, or serve a stream until it ends."""
        environ, method = self._admission.environ(scope), scope["method"]
        refusal = self._admission.check_origin(environ)
        headers = () if refusal else _cors_headers(environ, method)

        if refusal is None and method == "OPTIONS":
            await respond(send, b"OK", headers)
        elif not is_stream:
            body = refusal or await self._polled(environ, scope, receive)
            await respond(send, body, headers)
        elif refusal is None and method != "GET":
            await respond(send, Refusal.of(MethodNotAllowed(NO_VERB)), headers)
        elif isinstance(slot := refusal or self._admission.admit(environ), Refusal):
            kind = Unavailable if slot.status == 503 else Forbidden
            refusal = Refusal.of(kind(slot.text))
            lines = (*refusal.headers, *slot.headers)
            await respond(send, replace(refusal, headers=lines), headers)
        else:
            stream = Stream(self.worker, environ, slot, scope, send, headers)
            await stream.serve(receive)

    async def _polled(
        self, environ: WSGIEnvironment, scope: Scope, receive: Receive
    ) -> bytes | Refusal:
        """Return the answer to a request of a client that polls."""
        query, method = _query_of(scope), scope["method"]

        if refusal := self._admission.check(query, "polling"):
            return refusal

        if method == "GET" and "sid" not in query:
            return self._begin_polling(environ, query)

        if method in ("GET", "POST"):
            return await self._go_on(self._session_of(query), method, receive)

        return Refusal(405, "Method not allowed.")

    def _begin_polling(
        self, environ: WSGIEnvironment, query: Mapping[str, str]
    ) -> bytes | Refusal:
        """Begin a session, and return its first packet."""
        slot = self._admission.admit(environ)

        if isinstance(slot, Refusal):
            return slot

        queue = PollQueue()
        session = self._begin(environ, query, slot, queue)
        return session.protocol.join(queue.take())

    async def _go_on(
        self, session: Session | None, method: str, receive: Receive
    ) -> bytes | Refusal:
        """Answer a later request of a session."""
        if session is None:
            return INVALID_SESSION

        queue = session.sender

        if not isinstance(queue, PollQueue):
            return Refusal(400, "The session has a WebSocket.")

        if queue.is_posted_to if method == "POST" else queue.is_polled:
            session.end()
            return Refusal(400, "Another request of the session is under way.")

        if method == "POST":
            queue.is_posted_to = True

            try:
                return await self._take(session, receive)
            finally:
                queue.is_posted_to = False

        ready = await queue.poll()

        if not ready:
            ready = [NOOP if session.is_open else CLOSE]

        return session.protocol.join(ready)

    async def _take(self, session: Session, receive: Receive) -> bytes | Refusal:
        """Handle the packets of a body."""
        settings, protocol = self._settings, session.protocol
        limit = settings.max_payload
        file = io.BytesIO()

        async def check(size: int) -> Refusal | None:
            return TOO_LARGE if size > protocol.body_size * limit else None

        refusal = await read_body(receive, file, check)

        if refusal is not None:
            session.end()
            return refusal

        body = file.getvalue()

        # Further ones would wait for longer than their clients.
        max_calls = settings.calls_per_second * BURST * 2

        try:
            for packet in decode(body, protocol, limit, max_calls):
                session.receive(*packet)
        except InvalidPacket as error:
            session.end()
            return Refusal(400, str(error))

        await session.wait_for_room(is_large=len(body) > LARGE)
        return b"ok"


async def _upgraded(
    session: Session, receive: Receive, sender: Sender, slot: Slot
) -> Session | None:
    """Return a session whose client has confirmed that a WebSocket replaces polling,
    or ``None``.
    """
    is_probe = await _next_text(receive, JOIN_TIMEOUT) == PROBE.text
    queue = session.sender

    # Another one may have replaced it, or be about to.
    if not is_probe or not isinstance(queue, PollQueue) or queue.patience is not None:
        return None

    # The client waits for the request that polls. This ends it, and it may send another
    # before it gets the answer to its probe.
    queue.send(NOOP)
    queue.patience = UPGRADE_PAUSE
    sender.send(PROBE_ANSWER)

    try:
        text = await _next_text(receive, UPGRADE_TIMEOUT)
    finally:
        queue.patience = None

    if text != UPGRADE.text or not session.is_open:
        return None

    session.attach(sender, slot)

    for packet in queue.take():
        sender.send(packet)

    return session


async def _next_text(receive: Receive, timeout: float) -> str | None:
    try:
        async with asyncio.timeout(timeout):
            message = await receive()
    except TimeoutError:
        return None

    return t.cast("str | None", message.get("text"))


def _cors_headers(environ: WSGIEnvironment, method: str) -> Headers:
    """Return the headers that let pages of other origins read the response."""
    origin = environ.get("HTTP_ORIGIN")

    if not origin:
        return ()

    headers = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-credentials", b"true"),
        (b"vary", b"Origin"),
    ]
    wanted = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS")

    if method == "OPTIONS":
        headers.append((b"access-control-allow-methods", b"OPTIONS, GET, POST"))

        if wanted:
            headers.append((b"access-control-allow-headers", wanted.encode()))

    return tuple(headers)


def _workers_of(send: Send) -> int:
    """Return the number of workers of a server, 1 if unknown.

    :param send: The function of the server's life.
    """
    for path in WORKERS:
        try:
            return int(attrgetter(path)(send))
        except (AttributeError, TypeError):
            continue

    return 1


def _query_of(scope: Scope) -> dict[str, str]:
    """Return the query of a request, the first value of each name."""
    query = parse_qs(scope["query_string"].decode("latin-1"))
    return {name: values[0] for name, values in query.items()}
