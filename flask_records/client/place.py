"""The place of a client in the log of events."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from collections.abc import Sequence

CONNECT: t.Final = 0
"""The type of the packet that begins a connection."""


class Place:
    """How far a client has got in the log of events, if the server has one. It shows
    its place as it connects again, and gets what it has missed.
    """

    def __init__(self) -> None:
        self._id: str | None = None
        self._offset = ""
        self._has_gap = True

    def shown(self) -> dict[str, str]:
        """Return what the client sends to connect."""
        return {} if self._id is None else {"pid": self._id, "offset": self._offset}

    def packets(self, base: t.Any) -> t.Any:
        """Return a class of packets that tell the place as a connection begins.

        :param base: The class of packets of python-socketio.
        """
        decode: Callable[..., object] = base.decode

        def decode_and_enter(packet: t.Any, encoded: t.Any) -> object:
            result = decode(packet, encoded)

            if packet.packet_type == CONNECT:
                self._enter((packet.data or {}).get("pid"))

            return result

        return type("Packet", (base,), {"decode": decode_and_enter})

    def _enter(self, id: str | None) -> None:
        # The server shows the same id if it sends all that was missed.
        self._has_gap |= id is None or id != self._id
        self._id = id

    def take(self, values: Sequence[t.Any]) -> None:
        """Remember the place that the arguments of an event end with. Some events come
        before the packet that begins the connection.
        """
        if values and isinstance(values[-1], str):
            self._offset = values[-1]

    def take_gap(self) -> bool:
        """Return ``True`` if events may have been missed since the last time."""
        has_gap, self._has_gap = self._has_gap, False
        return has_gap
