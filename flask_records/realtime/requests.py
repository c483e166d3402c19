"""The requests of Engine.IO, as their URL and headers tell."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from urllib.parse import parse_qs

from .packets import InvalidPacket

if t.TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

TRANSPORTS: t.Final = ("polling", "websocket")
"""The names of the transports."""


@dataclass(frozen=True)
class Request:
    """A request of a client."""

    method: str
    """The verb."""

    transport: str
    """The name of the transport."""

    sid: str | None
    """The id of the session that it belongs to. None for the first one."""

    version: str | None
    """The version of Engine.IO, in the first request of a session."""

    is_handshake: bool
    """``True`` if it asks for a WebSocket."""

    is_jsonp: bool
    """``True`` if it asks for an answer as a script."""

    @classmethod
    def of(cls, environ: WSGIEnvironment) -> Request:
        """Return the request of an environment."""
        query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        values = {name: value[0] for name, value in query.items()}
        return cls(
            method=environ["REQUEST_METHOD"],
            transport=values.get("transport", TRANSPORTS[0]),
            sid=values.get("sid"),
            version=values.get("EIO"),
            is_handshake=environ.get("HTTP_UPGRADE", "").lower() == "websocket",
            is_jsonp="j" in values,
        )

    @property
    def problem(self) -> str | None:
        """The reason why no server can answer it, or ``None``."""
        if self.transport not in TRANSPORTS:
            return f"The transport must be one of: {', '.join(TRANSPORTS)}."

        if self.is_jsonp:
            return "JSONP is not supported. Connect with jsonp: false."

        if self.transport == "websocket" and not self.is_handshake:
            return "A WebSocket must begin with its handshake. Does a proxy remove it?"

        return None


def body_of(environ: WSGIEnvironment, max_size: int) -> bytes:
    """Return the body of a request.

    :param max_size: The maximum number of bytes.
    :raises InvalidPacket: It is too large, or cut off.
    """
    length = environ.get("CONTENT_LENGTH") or ""

    if not length.isdecimal():
        raise InvalidPacket("A body must have a Content-Length.")

    if int(length) > max_size:
        raise InvalidPacket(f"A body must not exceed {max_size} bytes.")

    body = environ["wsgi.input"].read(int(length))

    if len(body) < int(length):
        raise InvalidPacket("The body is not complete.")

    return t.cast(bytes, body)
