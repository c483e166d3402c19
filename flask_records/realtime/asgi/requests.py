"""Requests of an ASGI server, read and refused."""

from __future__ import annotations

import asyncio
import functools
import sys
import typing as t
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from werkzeug.exceptions import HTTPException

from ...errors import BadRequest, Timeout, to_records_error
from ...http.formatter import dumps, JSON

if t.TYPE_CHECKING:
    from _typeshed.wsgi import InputStream, WSGIEnvironment

    from ...errors import RecordsError
    from ...typing import Record

Receive: t.TypeAlias = Callable[[], Awaitable[t.Any]]
Send: t.TypeAlias = Callable[[t.Any], Awaitable[None]]
Scope: t.TypeAlias = Mapping[str, t.Any]
Headers: t.TypeAlias = Sequence[tuple[bytes, bytes]]

WITHOUT_PREFIX: t.Final = ("CONTENT_TYPE", "CONTENT_LENGTH")

TEXT: t.Final = (b"content-type", b"text/plain; charset=UTF-8")

NO_SNIFFING: t.Final = (b"x-content-type-options", b"nosniff")

REFUSED_SOCKET: t.Final = "websocket.http.response"
"""The extension of servers that can refuse a WebSocket in words."""

BODY_TIMEOUT: t.Final = 15
"""The seconds in which the client sends the next :data:`STEP` of a body."""

STEP: t.Final = 10_000
"""The bytes of a body that a client sends in each second, but for the first seconds."""


def environ_of(scope: Scope, body: InputStream) -> WSGIEnvironment:
    """Return a request as WSGI has it.

    :param scope: The request, or the handshake of a WebSocket.
    """
    root, path = paths_of(scope)
    host, port = scope.get("server") or ("localhost", None)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope.get("method", "GET"),
        "SCRIPT_NAME": root,
        "PATH_INFO": path,
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        # A socket file has no port.
        "SERVER_PORT": str(port if isinstance(port, int) else 80),
        "wsgi.version": (1, 0),
        # The schemes of WebSockets are "ws" and "wss".
        "wsgi.url_scheme": scope.get("scheme", "http").replace("ws", "http"),
        "wsgi.input": body,
        # The body ends by itself, whether or not its length is known.
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }

    if client := scope.get("client"):
        environ["REMOTE_ADDR"] = client[0]
        environ["REMOTE_PORT"] = str(client[1])

    for name, value in scope["headers"]:
        key = _key(name)

        if key in environ:
            separator = "; " if key == "HTTP_COOKIE" else ","
            environ[key] += separator + value.decode("latin-1")
        elif key is not None:
            environ[key] = value.decode("latin-1")

    return environ


def paths_of(scope: Scope) -> tuple[str, str]:
    """Return the prefix of the application, and the path in it."""
    path = scope["path"].encode().decode("latin-1")
    root = scope.get("root_path", "").rstrip("/").encode().decode("latin-1")

    # Some servers and applications leave out the prefix.
    if path == root or path.startswith(f"{root}/"):
        path = path[len(root) :]

    return root, path


@functools.lru_cache(512)
def _key(name: bytes) -> str | None:
    """Return the key of a header, ``None`` if another header has it."""
    # Names with a dash and with an underscore have the same key. Clients could send
    # those that proxies set.
    if b"_" in name:
        return None

    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in WITHOUT_PREFIX else f"HTTP_{key}"


async def parts_of(receive: Receive) -> AsyncIterator[bytes]:
    """Yield the parts of a request's body as they arrive.

    :raises BadRequest: The body is cut off.
    :raises Timeout: The client is too slow.
    """
    now = asyncio.get_running_loop().time
    began, size, step, has_more = now(), 0, 0, True
    deadline = began + BODY_TIMEOUT

    while has_more:
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            error = Timeout("The body did not arrive in time.")
            error.headers["Connection"] = "close"
            raise error from None

        if message["type"] == "http.disconnect":
            raise BadRequest("The body could not be read. Send the request again.")

        part = message.get("body", b"")
        has_more = message.get("more_body", False)
        size += len(part)
        yield part

        # What came before gives no credit.
        if size // STEP > step:
            step = size // STEP
            deadline = min(began + 2 * BODY_TIMEOUT + step, now() + BODY_TIMEOUT)


def ask_to_retry(seconds: int, error: RecordsError) -> RecordsError:
    """Return an error that asks the client to try again after some seconds."""
    error.headers["Retry-After"] = str(seconds)
    return error


async def respond(
    send: Send,
    body: bytes,
    status: int = 200,
    headers: Headers = (TEXT,),
    kind: str = "http.response",
) -> None:
    """Send a short response, plain text by default."""
    length = (b"content-length", str(len(body)).encode())
    headers = [*headers, NO_SNIFFING, length]
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})


async def refuse(
    scope: Scope, send: Send, error: HTTPException, body: Record | None = None
) -> None:
    """Refuse a request, or a WebSocket, in words where the server can.

    :param body: The body of the error, by its class by default.
    """
    kind, refusal = "http.response", to_records_error(error)

    if scope["type"] == "websocket":
        if REFUSED_SOCKET not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close"})
            return

        kind = REFUSED_SOCKET

    lines = {"Content-Type": JSON, **refusal.headers}

    if refusal.code == 401:
        lines["WWW-Authenticate"] = "Bearer"

    headers = [(name.lower().encode(), lines[name].encode()) for name in lines]
    text = dumps(body or refusal.to_dict())
    await respond(send, text, refusal.code or 500, headers, kind)
