"""Options of ASGI servers, set for the connections that they serve."""

from __future__ import annotations

import typing as t
from operator import attrgetter

if t.TYPE_CHECKING:
    from .admission import Send

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

WORKERS: t.Final = ("__self__.config.workers", "__self__.logger.cfg.workers")
"""The number of workers of uvicorn and of gunicorn, from the function of their life."""


def workers_of(send: Send) -> int:
    """Return the number of workers of a server, 1 if it does not tell.

    :param send: The function of the server's life.
    """
    for path in WORKERS:
        try:
            return int(attrgetter(path)(send))
        except (AttributeError, TypeError):
            continue

    return 1


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
