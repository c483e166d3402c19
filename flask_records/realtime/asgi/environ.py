"""Requests of an ASGI server, as WSGI has them."""

from __future__ import annotations

import functools
import sys
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed.wsgi import InputStream, WSGIEnvironment

WITHOUT_PREFIX: t.Final = ("CONTENT_TYPE", "CONTENT_LENGTH")


def environ_of(scope: Mapping[str, t.Any], body: InputStream) -> WSGIEnvironment:
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


def paths_of(scope: Mapping[str, t.Any]) -> tuple[str, str]:
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
