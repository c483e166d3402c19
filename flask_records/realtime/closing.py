"""The reasons for closing connections, as clients are told."""

from __future__ import annotations

import typing as t

DISCONNECTED: t.Final = "disconnected"
"""The event that tells a client why the application disconnects it."""

LINGER: t.Final = 5
"""The seconds that a client has to read the reason."""


class Reason(t.NamedTuple):
    """A reason for closing a WebSocket."""

    code: int
    """The code of the reason."""

    text: str
    """The reason in words, 123 bytes at most."""


NOT_TEXT: t.Final = Reason(1003, "Messages must be text.")

NOT_JOINED: t.Final = Reason(1008, "Connect to Socket.IO in time.")

JOINED_TWICE: t.Final = Reason(1008, "Connect to Socket.IO once.")

NO_PLACE: t.Final = Reason(1013, "Too many connections. Log in, or connect later.")

NO_PLACE_OF_USER: t.Final = Reason(1013, "Too many connections of this user.")

LATE_READER: t.Final = Reason(1013, "Too many events are unread. Connect again.")

LOAD_ANEW: t.Final = Reason(1013, "Events are lost. Connect again, and load anew.")

UNCHECKED: t.Final = Reason(1013, "The login can't be checked now. Connect again.")

STOPPED: t.Final = Reason(1001, "The server stops.")
