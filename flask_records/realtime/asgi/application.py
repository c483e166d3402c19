"""The ASGI application: requests of the Flask application, and connections."""

from __future__ import annotations

import typing as t

from .environ import without_origin
from .handshake import Handshakes, Refusal
from .polling import Polling
from .requests import Requests
from .server_options import turn_off_compression
from .sockets import refuse, Sockets

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .event_loop import EventLoop
    from .polling import Receive, Send

NO_SOCKET: t.Final = Refusal(404, "There is no WebSocket at this path.")


class Application:
    """Serves a Flask application and its connections in one event loop.

    :param loop: Holds the connections.
    """

    def __init__(self, loop: EventLoop) -> None:
        self.loop = loop
        """Holds the connections."""
        self._is_used = False
        handshakes = Handshakes(loop)
        self._path = loop.settings.url_path
        self._polling = Polling(loop, handshakes)
        self._sockets = Sockets(loop, handshakes)
        self._requests = Requests(loop)

    async def __call__(
        self, scope: Mapping[str, t.Any], receive: Receive, send: Send
    ) -> None:
        """Serve a request, a connection, or the life of the server."""
        if not self._is_used:
            # The module may have the application for WSGI servers as well.
            self._is_used = True
            self.loop.start()
            self.loop.server.transport = self.loop

        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return

        is_ours = self._is_ours(scope)

        if scope["type"] == "websocket":
            if is_ours:
                await self._sockets(scope, receive, send)
            else:
                await receive()
                await refuse(scope, send, NO_SOCKET)
        elif is_ours:
            await self._polling(scope, receive, send)
        else:
            await self._requests(scope, receive, send)

    def _is_ours(self, scope: Mapping[str, t.Any]) -> bool:
        path = without_origin(scope["path"]).removeprefix(scope.get("root_path", ""))
        return f"{path.rstrip('/')}/" == self._path

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        turn_off_compression(send)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.loop.stop()
        await send({"type": "lifespan.shutdown.complete"})
