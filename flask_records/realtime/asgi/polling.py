"""Sessions of clients that poll."""

from __future__ import annotations

import typing as t

from ...http.formatter import dumps
from . import packet as packets
from .handshake import query_of, Refusal
from .outlet import Queue
from .packet import InvalidPacket
from .protocol import decode, PROTOCOLS
from .session import LARGE, Session

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from _typeshed.wsgi import WSGIEnvironment

    from .event_loop import EventLoop
    from .handshake import Handshakes

    Receive: t.TypeAlias = Callable[[], Awaitable[t.Any]]
    Send: t.TypeAlias = Callable[[t.Any], Awaitable[None]]
    Headers: t.TypeAlias = "list[tuple[bytes, bytes]]"

TEXT: t.Final = (b"content-type", b"text/plain; charset=UTF-8")


class Polling:
    """Answers the requests of clients that poll."""

    def __init__(self, loop: EventLoop, handshakes: Handshakes) -> None:
        self._loop = loop
        self._handshakes = handshakes

    async def __call__(
        self, scope: Mapping[str, t.Any], receive: Receive, send: Send
    ) -> None:
        """Answer a request."""
        environ, query = self._handshakes.environ(scope), query_of(scope)
        refusal = self._handshakes.check_origin(environ)
        headers = [] if refusal else self._headers(environ, scope["method"])

        if refusal is None and scope["method"] != "OPTIONS":
            refusal = self._handshakes.check(query, "polling")

        body: bytes | Refusal

        if refusal is not None:
            body = refusal
        elif scope["method"] == "OPTIONS":
            body = b"OK"
        elif scope["method"] == "GET" and "sid" not in query:
            body = self._begin(environ, query)
        elif scope["method"] in ("GET", "POST"):
            session = self._loop.sessions.get(query.get("sid", ""))
            body = await self._go_on(session, scope["method"], receive)
        else:
            body = Refusal(405, "Method not allowed.")

        await respond(send, body, headers)

    def _begin(
        self, environ: WSGIEnvironment, query: Mapping[str, str]
    ) -> bytes | Refusal:
        """Begin a session, and return its first packet."""
        place = self._handshakes.enter(environ)

        if isinstance(place, Refusal):
            return place

        queue, protocol = Queue(), PROTOCOLS[query["EIO"]]
        session = Session(self._loop, protocol, environ, place, queue)
        session.begin(self._handshakes.welcome(may_upgrade=True))
        return protocol.join(queue.take())

    async def _go_on(
        self, session: Session | None, method: str, receive: Receive
    ) -> bytes | Refusal:
        """Answer a later request of a session."""
        if session is None:
            return Refusal(400, "Invalid session. Connect again.")

        queue = session.outlet

        if not isinstance(queue, Queue):
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
            ready = [packets.NOOP if session.is_open else packets.CLOSE]

        return session.protocol.join(ready)

    async def _take(self, session: Session, receive: Receive) -> bytes | Refusal:
        """Handle the packets of a body."""
        limit, protocol = self._loop.settings.max_payload, session.protocol
        body = await read(receive, protocol.body_size * limit)

        if body is None:
            session.end()
            return Refusal(400, "The body is too large.")

        try:
            for packet in decode(body, protocol, limit):
                session.receive(packet)
        except InvalidPacket as error:
            session.end()
            return Refusal(400, str(error))

        await session.wait_for_room(is_large=len(body) > LARGE)
        return b"ok"

    def _headers(self, environ: WSGIEnvironment, method: str) -> Headers:
        """Return the headers that let pages of other origins read the response."""
        origin = self._handshakes.origin(environ)

        if origin is None:
            return []

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

        return headers


async def read(receive: Receive, limit: int) -> bytes | None:
    """Return the body of a request, or ``None`` if it is too large or cut off."""
    body = bytearray()

    while True:
        message = await receive()

        if message["type"] == "http.disconnect":
            return None

        body += message.get("body", b"")

        if len(body) > limit:
            return None

        if not message.get("more_body"):
            return bytes(body)


async def respond(send: Send, body: bytes | Refusal, headers: Headers) -> None:
    """Send a response."""
    status = 200

    if isinstance(body, Refusal):
        status, headers = body.status, [*headers, *body.headers]
        body = dumps(body.text)

    lines = [TEXT, (b"x-content-type-options", b"nosniff"), *headers]
    lines.append((b"content-length", str(len(body)).encode()))
    start = {"type": "http.response.start", "status": status, "headers": lines}
    await send(start)
    await send({"type": "http.response.body", "body": body})
