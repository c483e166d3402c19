"""The handshake of a WebSocket."""

from __future__ import annotations

import base64
import binascii
import typing as t
from contextlib import suppress

from wsproto.utilities import generate_accept_token

if t.TYPE_CHECKING:
    import socket

    from _typeshed.wsgi import WSGIEnvironment


def accept(environ: WSGIEnvironment, connection: socket.socket) -> bool:
    """Answer a handshake, without extensions, and return whether it is valid."""
    key = environ.get("HTTP_SEC_WEBSOCKET_KEY", "")

    if (
        environ.get("HTTP_SEC_WEBSOCKET_VERSION") != "13"
        or "upgrade" not in environ.get("HTTP_CONNECTION", "").lower()
        or environ.get("HTTP_UPGRADE", "").lower() != "websocket"
        or not _is_key(key)
    ):
        return False

    lines = [
        b"HTTP/1.1 101 Switching Protocols",
        b"Upgrade: websocket",
        b"Connection: Upgrade",
        b"Sec-WebSocket-Accept: " + generate_accept_token(key.encode()),
    ]
    connection.sendall(b"\r\n".join([*lines, b"", b""]))
    return True


def _is_key(key: str) -> bool:
    with suppress(binascii.Error, ValueError):
        return len(base64.b64decode(key, validate=True)) == 16

    return False
