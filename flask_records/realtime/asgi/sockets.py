"""Sessions of clients that have a WebSocket."""

from __future__ import annotations

import asyncio
import logging
import typing as t

from ...http.formatter import dumps
from . import packet as packets
from .handshake import query_of, Refusal
from .heartbeat import JOIN_TIMEOUT
from .outlet import outlet_for, Queue
from .protocol import PROTOCOLS
from .server_options import compresses, limit_messages
from .session import Session

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .event_loop import EventLoop
    from .gate import Place
    from .handshake import Handshakes
    from .outlet import Outlet
    from .polling import Receive, Send

logger = logging.getLogger(__name__)

UPGRADE_TIMEOUT: t.Final = 45
"""The seconds that a client has to stop polling. It waits for its request to be
answered.
"""

UPGRADE_PAUSE: t.Final = 0.1
"""The seconds that a request waits for packets while the client stops polling."""


class Sockets:
    """Serves WebSockets of the server."""

    def __init__(self, loop: EventLoop, handshakes: Handshakes) -> None:
        self._loop = loop
        self._handshakes = handshakes
        self._has_warned = False

    async def __call__(
        self, scope: Mapping[str, t.Any], receive: Receive, send: Send
    ) -> None:
        """Serve a WebSocket until it is closed."""
        environ, query = self._handshakes.environ(scope), query_of(scope)
        handshakes = self._handshakes
        await receive()
        refusal = handshakes.check_origin(environ) or handshakes.check(
            query, "websocket"
        )
        previous = self._loop.sessions.get(query.get("sid", ""))

        if refusal is None and "sid" in query and not _polls(previous):
            refusal = Refusal(400, "Invalid session. Connect again.")

        place = refusal or handshakes.enter(environ)

        if isinstance(place, Refusal):
            await refuse(scope, send, place)
            return

        limit_messages(send, self._loop.settings.max_payload)
        self._warn_about_compression(send)

        def begin(outlet: Outlet) -> Session:
            protocol = PROTOCOLS[query["EIO"]]
            session = Session(self._loop, protocol, environ, place, outlet)
            session.begin(handshakes.welcome(may_upgrade=False))
            return session

        await self._serve(scope, receive, send, begin, place, previous)

    async def _serve(
        self,
        scope: Mapping[str, t.Any],
        receive: Receive,
        send: Send,
        begin: Callable[[Outlet], Session],
        place: Place,
        previous: Session | None,
    ) -> None:
        task = t.cast("asyncio.Task[None]", asyncio.current_task())
        is_ended = False

        def end() -> None:
            nonlocal is_ended
            is_ended = True
            task.cancel()

        session = None

        try:
            await send({"type": "websocket.accept"})
            outlet = outlet_for(scope, send, end)
            session = (
                begin(outlet)
                if previous is None
                else await _upgraded(previous, receive, outlet, place)
            )

            while session is not None and (message := await receive())["type"] == (
                "websocket.receive"
            ):
                await session.receive_text(message.get("text"))
        except asyncio.CancelledError:
            # The server may cancel it, too.
            if not is_ended:
                raise
        finally:
            if session is None:
                place.leave()
            else:
                session.leave()

    def _warn_about_compression(self, send: Send) -> None:
        if not self._has_warned and compresses(send):
            self._has_warned = True
            logger.warning(
                "The server compresses WebSockets, which takes memory and time for each"
                " connection. Start uvicorn with '--ws-per-message-deflate false'."
            )


def _polls(session: Session | None) -> bool:
    return session is not None and isinstance(session.outlet, Queue)


async def _upgraded(
    session: Session, receive: Receive, outlet: Outlet, place: Place
) -> Session | None:
    """Return a session whose client has confirmed that a WebSocket replaces polling,
    or ``None``.
    """
    is_probe = await _next_text(receive, JOIN_TIMEOUT) == packets.PROBE.text
    queue = session.outlet

    # Another one may have replaced it, or be about to.
    if not is_probe or not isinstance(queue, Queue) or queue.patience is not None:
        return None

    # The client waits for the request that polls. This ends it, and it may send another
    # before it gets the answer to its probe.
    queue.send(packets.NOOP)
    queue.patience = UPGRADE_PAUSE
    outlet.send(packets.PROBE_ANSWER)

    try:
        text = await _next_text(receive, UPGRADE_TIMEOUT)
    finally:
        queue.patience = None

    if text != packets.UPGRADE.text or not session.is_open:
        return None

    session.attach(outlet, place)

    for packet in queue.take():
        outlet.send(packet)

    return session


async def _next_text(receive: Receive, timeout: float) -> str | None:
    try:
        async with asyncio.timeout(timeout):
            message = await receive()
    except TimeoutError:
        return None

    return t.cast("str | None", message.get("text"))


async def refuse(scope: Mapping[str, t.Any], send: Send, refusal: Refusal) -> None:
    """Refuse a WebSocket, in words where the server can."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close"})
        return

    start = {
        "type": "websocket.http.response.start",
        "status": refusal.status,
        "headers": [(b"content-type", b"text/plain"), *refusal.headers],
    }
    await send(start)
    await send({"type": "websocket.http.response.body", "body": dumps(refusal.text)})
