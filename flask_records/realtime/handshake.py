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


class HandshakeError(Exception):
    """The request is not a handshake."""


def accept(environ: WSGIEnvironment, connection: socket.socket) -> None:
    """Answer the handshake of a client, without extensions.

    :raises HandshakeError: The request is not a handshake.
    """
    key = environ.get("HTTP_SEC_WEBSOCKET_KEY", "")

    if (
        environ.get("HTTP_SEC_WEBSOCKET_VERSION") != "13"
        or "upgrade" not in environ.get("HTTP_CONNECTION", "").lower()
        or environ.get("HTTP_UPGRADE", "").lower() != "websocket"
        or not _is_key(key)
    ):
        raise HandshakeError("This is not a handshake of WebSocket version 13.")

    token = generate_accept_token(key.encode()).decode()
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {token}",
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())


def _is_key(key: str) -> bool:
    with suppress(binascii.Error, ValueError):
        return len(base64.b64decode(key, validate=True)) == 16

    return False
