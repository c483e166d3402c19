"""Packets for clients, encoded once for all of them."""

from __future__ import annotations

import struct
import typing as t

from ...http.formatter import dumps

MESSAGE: t.Final = "4"
"""The type of Engine.IO's packets that have a message of Socket.IO."""

CONNECT, DISCONNECT, EVENT, ACK, CONNECT_ERROR = ("0", "1", "2", "3", "4")
"""The types of messages of Socket.IO."""


class InvalidPacket(Exception):
    """A packet that ends the connection."""


def text_frame(payload: bytes) -> bytes:
    """Return a whole text message as one frame of a WebSocket."""
    size = len(payload)

    if size < 126:
        return struct.pack("!BB", 0x81, size) + payload

    if size < 1 << 16:
        return struct.pack("!BBH", 0x81, 126, size) + payload

    return struct.pack("!BBQ", 0x81, 127, size) + payload


class Packet:
    """The text of a packet, and its WebSocket frame."""

    __slots__ = ("frame", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        """The packet as text."""
        self.frame = text_frame(text.encode())
        """The packet as a frame, which all connections share."""


OPEN: t.Final = "0"
CLOSE: t.Final = Packet("1")
PING: t.Final = Packet("2")
PONG: t.Final = Packet("3")
PROBE: t.Final = Packet("2probe")
PROBE_ANSWER: t.Final = Packet("3probe")
UPGRADE: t.Final = Packet("5")
NOOP: t.Final = Packet("6")
LEFT: t.Final = Packet(f"{MESSAGE}{DISCONNECT}")


def opening(welcome: dict[str, t.Any]) -> Packet:
    """Return the first packet of a session."""
    return Packet(f"{OPEN}{dumps(welcome).decode()}")


def event(name: str, record: t.Any, offset: str | None = None) -> Packet:
    """Return the packet of an event.

    :param offset: Its place in the log of events, if there is one.
    """
    data = [name, record] if offset is None else [name, record, offset]
    return Packet(f"{MESSAGE}{EVENT}{dumps(data).decode()}")


def answered(number: int, arguments: bytes) -> Packet:
    """Return the packet of an answer.

    :param number: The number of the message.
    :param arguments: The arguments of the answer as JSON.
    """
    return Packet(f"{MESSAGE}{ACK}{number}{arguments.decode()}")
