"""The reasons for closing connections, as clients are told."""

from __future__ import annotations

import typing as t

from wsproto.frame_protocol import CloseReason

LINGER: t.Final = 5
"""The seconds that a client has to read the reason."""


class Reason(t.NamedTuple):
    """A reason for closing a WebSocket."""

    code: int
    """The code of the reason."""

    text: str
    """The reason in words, 123 bytes at most."""


NOT_TEXT: t.Final = Reason(CloseReason.UNSUPPORTED_DATA, "Messages must be text.")

NOT_JOINED: t.Final = Reason(
    CloseReason.POLICY_VIOLATION, "Connect to Socket.IO in time."
)

# This code is younger than the table of wsproto.
LATE_READER: t.Final = Reason(1013, "Too many events are unread. Connect again.")

LOAD_ANEW: t.Final = Reason(1013, "Events are lost. Connect again, and load anew.")

STOPPED: t.Final = Reason(CloseReason.GOING_AWAY, "The server stops.")


def too_large(limit: int) -> Reason:
    """Return the reason for closing the connection of a client that sends too much.

    :param limit: The maximum number of bytes of a message.
    """
    text = f"Messages must not exceed {limit} bytes."
    return Reason(CloseReason.MESSAGE_TOO_BIG, text)


def invalid(error: Exception) -> Reason:
    """Return the reason for closing the connection of a client that breaks a rule.

    :param error: The error, which has a message for clients.
    """
    return Reason(CloseReason.POLICY_VIOLATION, str(error))
