"""Options of ASGI servers, set for the connections that they serve."""

from __future__ import annotations

import typing as t
from operator import attrgetter

if t.TYPE_CHECKING:
    from .outlet import Send

LIMITS: t.Final = (
    # gunicorn, and uvicorn with websockets
    ("__self__", "max_message_size"),
    ("__self__", "max_size"),
    ("__self__.conn", "max_message_size"),
    ("__self__.conn", "max_size"),
    # uvicorn with wsproto
    ("__self__.buffer", "max_length"),
)
"""The largest message of a WebSocket: the object of the server, and its attribute."""


def limit_messages(send: Send, limit: int) -> None:
    """Let the server refuse larger messages as soon as their size is known. Without
    this, it reads 16 MiB and more before it hands over a message.

    :param send: The function of the WebSocket, which belongs to the server's object.
    """
    for path, name in LIMITS:
        try:
            owner = attrgetter(path)(send)
            value = getattr(owner, name)
        except AttributeError:
            continue

        if type(value) is int:
            setattr(owner, name, limit if value <= 0 else min(value, limit))


def turn_off_compression(send: Send) -> None:
    """Let the server accept no compression of WebSockets, if it can be told.

    :param send: The function of the server's life.
    """
    if compresses(send):
        send.__self__.config.ws_per_message_deflate = False  # type: ignore[attr-defined]  # uvicorn's


def compresses(send: Send) -> bool:
    """Return whether the server accepts compression of WebSockets. Browsers offer it.

    :param send: A function of the server.
    """
    config = getattr(getattr(send, "__self__", None), "config", None)
    return bool(getattr(config, "ws_per_message_deflate", False))
