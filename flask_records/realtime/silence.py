"""Sockets of clients that are gone without a word."""

from __future__ import annotations

import socket
import typing as t
from contextlib import suppress

OPTION: t.Final = getattr(socket, "TCP_USER_TIMEOUT", None)
"""The option that limits how long a client may accept nothing. Linux has it."""


def limit_silence(connection: socket.socket | None, seconds: float) -> None:
    """Let the system close a connection whose client accepts nothing for a time.

    Without it, a thread that sends a response waits until TCP gives up, a quarter of an
    hour for a network that is gone, and without end for a client that does not read.

    :param connection: The socket, ``None`` if the server does not show it.
    """
    # The socket may be none of TCP, or closed.
    with suppress(OSError):
        if connection is not None and OPTION is not None:
            connection.setsockopt(socket.IPPROTO_TCP, OPTION, int(seconds * 1000))
