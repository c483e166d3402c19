"""The ASGI application: WebSockets, polling, and requests of the Flask application."""

from __future__ import annotations

import asyncio
import logging
import typing as t
from operator import attrgetter
from urllib.parse import parse_qsl

from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from ...errors import BadRequest, MethodNotAllowed, NotFound
from ...http.formatter import OLD_HTTP, OLD_PROTOCOLS
from ..protocol import (
    CLOSE,
    decode,
    NOOP,
    PROBE,
    PROBE_ANSWER,
    PROTOCOLS,
    UPGRADE,
)
from ..settings import stream_path_of, URL_PATH
from .requests import parts_of, paths_of, refuse, respond
from .senders import LINGER, PollQueue, socket_sender, until_ended
from .session import JOIN_TIMEOUT, LARGE, Session
from .stream import query_of, Stream
from .worker import Worker
from .wsgi_requests import Requests

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed.wsgi import WSGIEnvironment

    from ..server import Server
    from .requests import Receive, Scope, Send
    from .senders import Sender

logger = logging.getLogger(__package__)

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
        self._requests = Requests(self.worker, threads)
        self._endpoints = {
            ("websocket", URL_PATH): self._serve_socket,
            ("http", URL_PATH): self._serve_polling,
            ("http", stream_path_of(server.app, self._settings)): self._serve_stream,
        }
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
        serve = self._endpoints.get((scope["type"], path))

        if scope["type"] == "websocket":
            await receive()
        elif serve is None:
            await self._requests(scope, receive, send)
            return

        environ = self._admission.environ(scope)

        try:
            self._admission.check_origin(environ)

            if serve is None:
                raise NotFound("There is no WebSocket at this path.")

            if scope["type"] == "http":
                send = _with_cors(environ, send)

            if environ["REQUEST_METHOD"] == "OPTIONS":
                await respond(send, b"OK")
            else:
                await serve(environ, scope, receive, send)
        except HTTPException as error:
            await refuse(scope, send, error)

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

    def _begin(
        self,
        environ: WSGIEnvironment,
        query: dict[str, str],
        leave_place: Callable[[], None],
        sender: Sender,
    ) -> Session:
        protocol, allowed = PROTOCOLS[query["EIO"]], self._settings.transports
        session = Session(self.worker, protocol, environ, leave_place, sender)
        may_upgrade = allowed is None or "websocket" in allowed
        is_polling = isinstance(sender, PollQueue)
        session.begin(["websocket"] if is_polling and may_upgrade else [])
        return session

    def _polling(self, query: dict[str, str]) -> tuple[Session, PollQueue]:
        """Return the session that a request names, with its packets."""
        client = self.worker.clients.get(query.get("sid", ""))

        if isinstance(client, Session) and isinstance(client.sender, PollQueue):
            return client, client.sender

        raise BadRequest("Invalid session. Connect again.")

    # WebSockets

    async def _serve_socket(
        self, environ: WSGIEnvironment, scope: Scope, receive: Receive, send: Send
    ) -> None:
        query = dict(parse_qsl(environ["QUERY_STRING"]))
        self._admission.check(query, "websocket")
        previous = self._polling(query) if "sid" in query else None
        leave_place = self._admission.admit(environ)
        session = sender = None

        try:
            async with until_ended() as end:
                await send({"type": "websocket.accept"})
                sender = socket_sender(scope, send, end)

                if previous is None:
                    session = self._begin(environ, query, leave_place, sender)
                else:
                    session = await _upgrade(*previous, receive, sender, leave_place)

                while session is not None and (message := await receive())["type"] == (
                    "websocket.receive"
                ):
                    await session.receive_text(message.get("text"))
        finally:
            if session is None:
                leave_place()
            else:
                session.leave()

        if sender is not None:
            await sender.finish()
            # The client may not read.
            asyncio.get_running_loop().call_later(LINGER, sender.hang_up)

    # HTTP

    async def _serve_stream(
        self, environ: WSGIEnvironment, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if scope["method"] != "GET":
            raise MethodNotAllowed("A stream of events is read by GET.")

        # Its client could not see whether the stream breaks or is over.
        if f"HTTP/{scope['http_version']}" in OLD_PROTOCOLS:
            raise BadRequest(OLD_HTTP)

        query = query_of(environ)
        stream = Stream(self.worker, environ, self._admission.admit(environ), query)
        await stream.serve(scope, receive, send)

    async def _serve_polling(
        self, environ: WSGIEnvironment, scope: Scope, receive: Receive, send: Send
    ) -> None:
        query, method = dict(parse_qsl(environ["QUERY_STRING"])), scope["method"]
        self._admission.check(query, "polling")

        if method not in ("GET", "POST"):
            raise MethodNotAllowed("Method not allowed.")

        if method == "GET" and "sid" not in query:
            queue = PollQueue()
            leave_place = self._admission.admit(environ)
            session = self._begin(environ, query, leave_place, queue)
            body = session.protocol.join(queue.take())
        else:
            body = await self._go_on(*self._polling(query), method, receive)

        await respond(send, body)

    async def _go_on(
        self, session: Session, queue: PollQueue, method: str, receive: Receive
    ) -> bytes:
        """Return the answer to a later request of a session."""
        if queue.is_posted_to if method == "POST" else queue.is_polled:
            session.end()
            raise BadRequest("Another request of the session is under way.")

        if method == "GET":
            ready = await queue.poll()
            return session.protocol.join(ready or [NOOP if session.is_open else CLOSE])

        queue.is_posted_to = True

        try:
            await self._take(session, receive)
        except HTTPException:
            session.end()
            raise
        finally:
            queue.is_posted_to = False

        return b"ok"

    async def _take(self, session: Session, receive: Receive) -> None:
        limit, protocol = self._settings.max_payload, session.protocol
        body = bytearray()

        async for part in parts_of(receive):
            body += part

            if len(body) > protocol.body_size * limit:
                raise RequestEntityTooLarge("The body is too large.")

        for packet in decode(bytes(body), protocol, limit):
            session.receive(*packet)

        await session.wait_for_room(is_large=len(body) > LARGE)


async def _upgrade(
    session: Session,
    queue: PollQueue,
    receive: Receive,
    sender: Sender,
    leave_place: Callable[[], None],
) -> Session | None:
    """Return a session whose client has confirmed that a WebSocket replaces polling,
    or ``None``.
    """
    is_probe = await _next_text(receive, JOIN_TIMEOUT) == PROBE.text

    # Another one may have replaced it, or be about to.
    if not is_probe or session.sender is not queue or queue.patience is not None:
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

    session.upgrade(queue, sender, leave_place)
    return session


async def _next_text(receive: Receive, timeout: float) -> str | None:
    try:
        async with asyncio.timeout(timeout):
            message = await receive()
    except TimeoutError:
        return None

    return t.cast("str | None", message.get("text"))


def _with_cors(environ: WSGIEnvironment, send: Send) -> Send:
    """Return a function that sends a response which the page that asks may read."""
    if not (origin := environ.get("HTTP_ORIGIN")):
        return send

    headers = {
        "access-control-allow-origin": origin,
        "access-control-allow-credentials": "true",
        "vary": "Origin",
    }

    if environ["REQUEST_METHOD"] == "OPTIONS":
        names = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
        headers["access-control-allow-methods"] = "OPTIONS, GET, POST"
        headers["access-control-allow-headers"] = names

    lines = [(name.encode(), headers[name].encode("latin-1")) for name in headers]

    async def send_with_headers(message: dict[str, t.Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *lines]

        await send(message)

    return send_with_headers


def _workers_of(send: Send) -> int:
    """Return the number of workers of a server, 1 if unknown."""
    for path in WORKERS:
        try:
            return int(attrgetter(path)(send))
        except (AttributeError, TypeError):
            continue

    return 1
