"""The packets of Socket.IO that clients may send: JSON, no binary data."""

from __future__ import annotations

import json
import typing as t

from engineio.exceptions import EngineIOError
from socketio import packet

from ..errors import BadRequest
from ..http.formatter import dumps

RESERVED: t.Final = ("connect", "connect_error", "disconnect", "disconnecting")
"""The names of the events of Socket.IO itself."""

CLIENT_TYPES: t.Final = tuple(
    str(type) for type in (packet.CONNECT, packet.DISCONNECT, packet.EVENT, packet.ACK)
)
"""The types of packets that clients may send. Packets with attachments are excluded:
they would stay in memory until all attachments arrive.
"""


MAX_DIGITS: t.Final = 4000
"""The maximum length of an integer in a message. Python reads up to 4,300 digits."""


class JSON:
    """The JSON of messages, which is that of answers over HTTP."""

    @staticmethod
    def dumps(value: t.Any, **options: t.Any) -> str:
        """Return a value as JSON text."""
        return dumps(value).decode()

    @staticmethod
    def loads(text: str, **options: t.Any) -> t.Any:
        """Return the value of a JSON text. ``NaN`` and ``Infinity`` become null."""
        return json.loads(text, parse_int=_integer, parse_constant=lambda name: None)


class InvalidPacket(EngineIOError):  # type: ignore[misc]  # it has no hints
    """A packet that ends the connection."""


class TextPacket(packet.Packet):  # type: ignore[misc]  # it has no hints
    """A packet whose data is JSON."""

    # This saves a search for bytes in all data that is sent.
    uses_binary_events = False

    def decode(self, encoded_packet: t.Any) -> int:
        """Read a packet. One that clients may not send raises :exc:`InvalidPacket`."""
        if not isinstance(encoded_packet, str):
            raise InvalidPacket("A packet must be text.")

        if not encoded_packet.startswith(CLIENT_TYPES):
            raise InvalidPacket("Its type is not supported, as those of binary data.")

        try:
            super().decode(encoded_packet)
        except (ValueError, RecursionError) as error:
            raise InvalidPacket("The data must be JSON.") from error

        if self.packet_type == packet.EVENT and not _is_event(self.data):
            raise InvalidPacket("An event must have a name that is not reserved.")

        return 0


def plain(message: tuple[t.Any, ...]) -> tuple[t.Any, ...]:
    """Return a message that another server has read as ours reads it.

    :raises BadRequest: It has values that JSON lacks, such as binary data.
    """
    try:
        return tuple(JSON.loads(json.dumps(message)))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest("A message must be JSON.") from error


def _integer(text: str) -> float:
    """Return an integer, or infinity, which no field accepts, if it is too long."""
    return int(text) if len(text) <= MAX_DIGITS else float(text)


def _is_event(data: t.Any) -> bool:
    """Return whether data begins with the name of an event that clients may send."""
    name = data[0] if isinstance(data, list) and data else None
    return isinstance(name, str) and name not in RESERVED
