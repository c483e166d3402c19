"""The packets of Engine.IO, and the bodies that contain them."""

from __future__ import annotations

import typing as t

from engineio import packet

from .packets import InvalidPacket

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator

    Join: t.TypeAlias = Callable[[Iterable[str]], str]
    Split: t.TypeAlias = Callable[[str], list[str]]

PACKET_TYPES: t.Final = {str(type): type for type in range(len(packet.packet_names))}
"""The types of packets, by the first character of a packet."""

SEPARATOR: t.Final = "\x1e"
"""Separates the packets of a body in protocol 4."""

UNIT: t.Final = 2
"""The bytes of one unit of UTF-16, in which JavaScript counts the length of a text."""

MAX_DIGITS: t.Final = 10
"""The maximum length of the number before a packet in protocol 3."""


def parse(text: str) -> packet.Packet:
    """Return the packet of a text.

    :raises InvalidPacket: The text is no packet, or has binary data.
    """
    if text[:1] == "b":
        raise InvalidPacket("Binary data is not supported.")

    if text[:1] not in PACKET_TYPES:
        raise InvalidPacket("A packet must begin with its type.")

    return packet.Packet(PACKET_TYPES[text[0]], text[1:])


def decode(body: bytes, split: Split) -> list[packet.Packet]:
    """Return all packets of a body.

    :param split: Divides the text of a body, by protocol: :func:`split_by_separator` or
        :func:`split_by_length`.
    :raises InvalidPacket: One of them, or the body, can't be read.
    """
    try:
        return [parse(text) for text in split(body.decode())]
    except UnicodeDecodeError as error:
        raise InvalidPacket("The packets must be text in UTF-8.") from error


def check_sizes(packets: Iterable[packet.Packet], max_size: int) -> None:
    """Check that no packet of a body is larger than a message may be.

    :raises InvalidPacket: One of them has more bytes.
    """
    for pkt in packets:
        # A character has four bytes at most.
        is_near = 4 * len(pkt.data) >= max_size

        if is_near and len(pkt.encode().encode()) > max_size:
            raise InvalidPacket(f"Messages must not exceed {max_size} bytes.")


def encode(packets: Iterable[packet.Packet], join: Join) -> bytes:
    """Return the body with all packets.

    :param join: Combines the texts of packets, by protocol: :func:`join_by_separator`
        or :func:`join_by_length`.
    """
    return join(pkt.encode() for pkt in packets).encode()


def split_by_separator(body: str) -> list[str]:
    """Return the texts of the packets in a body of protocol 4."""
    return body.split(SEPARATOR)


def join_by_separator(texts: Iterable[str]) -> str:
    """Return the body of protocol 4 with the texts of packets."""
    return SEPARATOR.join(texts)


def split_by_length(body: str) -> list[str]:
    """Return the texts of the packets in a body of protocol 3.

    :raises InvalidPacket: The lengths do not match the packets.
    """
    try:
        return list(_pieces(body.encode("utf-16-le"))) or [""]
    except ValueError as error:
        raise InvalidPacket("The body must consist of lengths and packets.") from error


def join_by_length(texts: Iterable[str]) -> str:
    """Return the body of protocol 3 with the texts of packets."""
    return "".join(f"{_length(text)}:{text}" for text in texts)


def _pieces(units: bytes) -> Iterator[str]:
    position = 0

    while position < len(units):
        head = units[position : position + UNIT * (MAX_DIGITS + 1)]
        digits, colon, _ = head.decode("utf-16-le", "replace").partition(":")

        if not colon or not (digits.isascii() and digits.isdecimal()):
            raise ValueError

        start = position + UNIT * (len(digits) + 1)
        position = start + UNIT * int(digits)

        if position > len(units):
            raise ValueError

        yield units[start:position].decode("utf-16-le")


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // UNIT
