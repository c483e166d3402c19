"""A server for the programs and browsers of this machine."""

from __future__ import annotations

import hmac
import typing as t
from urllib.parse import parse_qs

from gunicorn.app.base import BaseApplication
from werkzeug.datastructures import Headers
from werkzeug.http import dump_cookie
from werkzeug.sansio.http import parse_cookie

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Scope: t.TypeAlias = Mapping[str, t.Any]
    Receive: t.TypeAlias = Callable[[], Awaitable[t.Any]]
    Send: t.TypeAlias = Callable[[t.Any], Awaitable[None]]
    Application: t.TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HOST: t.Final = "127.0.0.1"
COOKIE: t.Final = "records_token"


class LocalServer(BaseApplication):  # type: ignore[misc]
    """Serves an ASGI application at a port of 127.0.0.1, in one process of gunicorn.

    :param token: The token that each request needs: a bearer token, or the cookie that
        the address ``/?token=...`` sets. None by default.
    """

    def __init__(
        self, application: Application, port: int, token: str | None = None
    ) -> None:
        self._application = application
        self._port = port
        self._token = token
        super().__init__()

    def load_config(self) -> None:
        """Set the options of gunicorn."""
        self.cfg.set("bind", f"{HOST}:{self._port}")
        self.cfg.set("worker_class", "asgi")
        self.cfg.set("loglevel", "warning")
        self.cfg.set("control_socket_disable", True)

    def load(self) -> Application:
        """Return the application, behind its checks."""
        return self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None if scope["type"] == "lifespan" else self._refusal(scope)

        if refusal is None:
            await self._application(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        else:
            status, headers = refusal
            start = {"type": "http.response.start", "status": status}
            await send({**start, "headers": headers})
            await send({"type": "http.response.body"})

    def _refusal(self, scope: Scope) -> tuple[int, list[tuple[bytes, bytes]]] | None:
        """Return the status and headers of a request that is refused, or ``None``."""
        lines = [(n.decode(), v.decode("latin-1")) for n, v in scope["headers"]]
        headers = Headers(lines)

        # The name of another site may lead here, too: its pages could read all.
        if headers.get("Host", "").partition(":")[0] not in (HOST, "localhost"):
            return 403, []

        typed = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        cookie = parse_cookie(headers.get("Cookie")).get(COOKIE, "")
        bearer = headers.get("Authorization", "").removeprefix("Bearer ")

        if self._token is None or self._is_token(cookie) or self._is_token(bearer):
            return None

        if not self._is_token(typed):
            return 401, [(b"www-authenticate", b"Bearer")]

        cookie = dump_cookie(COOKIE, typed, httponly=True, samesite="Strict")
        return 303, [(b"location", b"/"), (b"set-cookie", cookie.encode())]

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), (self._token or "").encode())
