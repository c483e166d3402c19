"""Requests of an ASGI server, as WSGI has them."""

from __future__ import annotations

import functools
import re
import sys
import typing as t
from urllib.parse import unquote_to_bytes

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed.wsgi import InputStream, WSGIEnvironment

SCHEMES: t.Final = {"ws": "http", "wss": "https"}

WITHOUT_PREFIX: t.Final = {b"content-type", b"content-length"}

SEPARATORS: t.Final = {"HTTP_COOKIE": "; "}
"""The separators of values of headers that are there several times. A comma by
default.
"""

REPLACEMENT: t.Final = "\N{REPLACEMENT CHARACTER}"

ORIGIN = re.compile(r"\A[a-z][a-z0-9+.-]*://[^/]*", re.IGNORECASE)
"""The beginning of a path that is a whole URL. Servers leave it in the path."""


def environ_of(scope: Mapping[str, t.Any], body: InputStream) -> WSGIEnvironment:
    """Return a request as WSGI has it.

    :param scope: The request, or the handshake of a WebSocket.
    """
    scheme = scope.get("scheme", "http")
    query = scope["query_string"].decode("latin-1")
    root, path = _paths(scope)
    host, port = scope.get("server") or ("localhost", None)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope.get("method", "GET"),
        "SCRIPT_NAME": root,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        # A socket file has no port.
        "SERVER_PORT": str(port if isinstance(port, int) else 80),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": SCHEMES.get(scheme, scheme),
        "wsgi.input": body,
        # The body ends by itself, whether or not its length is known.
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }

    if raw := scope.get("raw_path"):
        uri = raw.decode("latin-1")
        environ["REQUEST_URI"] = environ["RAW_URI"] = f"{uri}?{query}" if query else uri

    if client := scope.get("client"):
        environ["REMOTE_ADDR"] = client[0]
        environ["REMOTE_PORT"] = str(client[1])

    for name, value in scope["headers"]:
        key = _key(name)

        if key in environ:
            separator = SEPARATORS.get(key, ",")
            environ[key] += separator + value.decode("latin-1")
        elif key is not None:
            environ[key] = value.decode("latin-1")

    return environ


@functools.lru_cache(512)
def _key(name: bytes) -> str | None:
    """Return the key of a header, ``None`` if another header has it."""
    # Names with a dash and with an underscore have the same key. Clients could send
    # those that proxies set.
    if b"_" in name:
        return None

    key = name.decode("latin-1").upper().replace("-", "_")
    return key if name.lower() in WITHOUT_PREFIX else f"HTTP_{key}"


def _paths(scope: Mapping[str, t.Any]) -> tuple[str, str]:
    """Return the prefix of the application, and the path in it."""
    path: str = scope["path"]
    raw: bytes | None = scope.get("raw_path")
    root = scope.get("root_path", "").rstrip("/")

    # Servers replace bytes that are not UTF-8.
    is_replaced = REPLACEMENT in path and raw
    decoded = unquote_to_bytes(raw) if is_replaced and raw else path.encode()
    path = without_origin(decoded.decode("latin-1"))
    root = root.encode().decode("latin-1")

    # Some servers and applications leave out the prefix.
    if root and (path == root or path.startswith(f"{root}/")):
        path = path[len(root) :]

    return root, path


def without_origin(path: str) -> str:
    """Return the path of a request, for which clients of proxies send a whole URL."""
    return ORIGIN.sub("", path)
