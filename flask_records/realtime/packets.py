"""The packets of Socket.IO that clients may send: JSON, and no binary data."""

from __future__ import annotations

import typing as t

from engineio.exceptions import EngineIOError
from socketio import packet

RESERVED: t.Final = ("connect", "connect_error", "disconnect", "disconnecting")
"""The names of events that Socket.IO itself sends."""

TYPES: t.Final = tuple(
    str(type) for type in (packet.CONNECT, packet.DISCONNECT, packet.EVENT, packet.ACK)
)
"""The types of packets that clients send. Those with attachments, which would be kept
until all of them are there, are not among them.
"""


class InvalidPacket(EngineIOError):  # type: ignore[misc]  # it has no hints
    """A packet that ends the connection, as it does with Socket.IO's own server."""


class TextPacket(packet.Packet):  # type: ignore[misc]  # it has no hints
    """A packet whose data is JSON."""

    # Data would be searched for bytes before it is sent.
    uses_binary_events = False

    def decode(self, encoded_packet: t.Any) -> int:
        """Read a packet.

        :param encoded_packet: What the client sent.
        :raises InvalidPacket: It is no packet, or one that clients do not send.
        """
        if not isinstance(encoded_packet, str):
            raise InvalidPacket("A packet must be text.")

        if not encoded_packet.startswith(TYPES):
            raise InvalidPacket("Its type is not supported, as those of binary data.")

        try:
            super().decode(encoded_packet)
        except (ValueError, RecursionError) as error:
            raise InvalidPacket("The data must be JSON.") from error

        if self.packet_type == packet.EVENT and not _is_event(self.data):
            raise InvalidPacket("An event must have a name that is not reserved.")

        return 0


def _is_event(data: t.Any) -> bool:
    """Return whether data begins with a name that clients may use."""
    if not isinstance(data, list) or not data:
        return False

    return isinstance(data[0], str) and data[0] not in RESERVED
