"""Packets for clients, encoded once for all of them."""

from __future__ import annotations

import typing as t

from engineio import packet as engine
from socketio import packet as socket
from wsproto.frame_protocol import Opcode

from ...http.formatter import dumps
from ..websocket import encode_frame

MESSAGE: t.Final = str(engine.MESSAGE)


class Packet:
    """The text of a packet, and its WebSocket frame."""

    __slots__ = ("frame", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        """The packet as text."""
        self.frame = encode_frame(Opcode.TEXT, text.encode())
        """The packet as a frame, which all connections share."""


PING: t.Final = Packet(str(engine.PING))
NOOP: t.Final = Packet(str(engine.NOOP))
PROBE_ANSWER: t.Final = Packet(f"{engine.PONG}probe")
CLOSE: t.Final = Packet(str(engine.CLOSE))

REFUSAL: t.Final = {"message": "Unable to connect"}
"""The data of an answer to a client that cannot connect to Socket.IO."""


def opening(welcome: dict[str, t.Any]) -> Packet:
    """Return the first packet of a session."""
    return Packet(f"{engine.OPEN}{dumps(welcome).decode()}")


def joined(id: str, pid: str | None) -> Packet:
    """Return the packet that tells a client the id of its connection.

    :param pid: The id by which it can get later what it misses, if there is a log.
    """
    data = {"sid": id} if pid is None else {"sid": id, "pid": pid}
    return Packet(f"{MESSAGE}{socket.CONNECT}{dumps(data).decode()}")


def refused(namespace: str, body: dict[str, t.Any] | None = None) -> Packet:
    """Return the packet that refuses a client a namespace.

    :param body: The body of the error.
    """
    place = "" if namespace == "/" else f"{namespace},"
    data = {"message": body["message"], "data": body} if body else REFUSAL
    return Packet(f"{MESSAGE}{socket.CONNECT_ERROR}{place}{dumps(data).decode()}")


def event(name: str, record: t.Any, offset: str | None = None) -> Packet:
    """Return the packet of an event.

    :param offset: Its place in the log of events, if there is one.
    """
    data = [name, record] if offset is None else [name, record, offset]
    return Packet(f"{MESSAGE}{socket.EVENT}{dumps(data).decode()}")


LEFT: t.Final = Packet(f"{MESSAGE}{socket.DISCONNECT}")


def answered(id: int, arguments: bytes) -> Packet:
    """Return the packet of an answer.

    :param id: The number of the message.
    :param arguments: The arguments of the answer as JSON.
    """
    return Packet(f"{MESSAGE}{socket.ACK}{id}{arguments.decode()}")
