"""The protocols that clients speak: packets of Engine.IO, messages of Socket.IO."""

from __future__ import annotations

import json
import re
import struct
import typing as t
from functools import cached_property

from ..errors import BadRequest
from ..http.formatter import dumps
from .calls import RESERVED

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NAMESPACE: t.Final = "/"
"""The namespace in which clients call services."""

FORM: t.Final = re.compile(
    r"(?:([0-3])|(5)[0-9]{1,3}-)(?:(/[^,?]*)[^,]*,?)?([0-9]{0,100})(.*)", re.DOTALL
)
"""The messages that clients may send: type, namespace, number, data. One with
attachments is answered before they arrive, so that nothing keeps them.
"""

NO_NAMESPACE: t.Final = {"message": "Invalid namespace"}
"""The error of a client that asks for an unknown namespace."""

ATTACHMENT: t.Final = "b"
"""The beginning of a packet with an attachment in a body."""

SEPARATOR: t.Final = "\x1e"
"""Separates the packets of a body in protocol 4."""

UNIT: t.Final = 2
"""The bytes of one unit of UTF-16, in which JavaScript counts the length of a text."""

MAX_PACKETS: t.Final = 5000
"""The maximum number of packets in a body."""

MAX_LENGTH_DIGITS: t.Final = 10
"""The maximum length of the number before a packet in protocol 3."""

MESSAGE: t.Final = "4"
"""The type of Engine.IO's packets that have a message of Socket.IO."""

CONNECT, DISCONNECT, EVENT, ACK, CONNECT_ERROR, BINARY_EVENT = "012345"
"""The types of messages of Socket.IO."""

CALL: t.Final = f"{MESSAGE}{EVENT}"
"""The beginning of packets that call."""


class Packet:
    """The text of a packet, encoded once for all connections."""

    def __init__(self, text: str) -> None:
        self.text = text
        """The packet as text."""

    @cached_property
    def size(self) -> int:
        """The number of bytes of the text."""
        return size(self.text)

    @cached_property
    def plain(self) -> bytes:
        """The packet in a response."""
        return self.text.encode()

    @cached_property
    def chunk(self) -> bytes:
        """The packet as a chunk of a response."""
        return b"%x\r\n%b\r\n" % (self.size, self.text.encode())

    @cached_property
    def frame(self) -> bytes:
        """The packet as the frame of a WebSocket."""
        if self.size < 126:
            head = struct.pack("!BB", 0x81, self.size)
        elif self.size < 1 << 16:
            head = struct.pack("!BBH", 0x81, 126, self.size)
        else:
            head = struct.pack("!BBQ", 0x81, 127, self.size)

        return head + self.text.encode()


OPEN: t.Final = "0"
CLOSE: t.Final = Packet("1")
PING: t.Final = Packet("2")
PONG: t.Final = Packet("3")
PROBE: t.Final = Packet("2probe")
PROBE_ANSWER: t.Final = Packet("3probe")
UPGRADE: t.Final = Packet("5")
NOOP: t.Final = Packet("6")
DISCONNECTION: t.Final = Packet(f"{MESSAGE}{DISCONNECT}")


def opening(welcome: dict[str, t.Any]) -> Packet:
    """Return the first packet of a session."""
    return Packet(f"{OPEN}{dumps(welcome).decode()}")


class ClientEvent:
    """An event as clients get it, encoded once for all of them.

    :param path: The path of the service, empty for an event of the connection.
    :param stream_path: The path of the event in streams, of the service by default.
    """

    def __init__(
        self, path: str, name: str, record: t.Any, stream_path: str | None = None
    ) -> None:
        self.title = f"{path} {name}".lstrip()
        """The path of the service, and the name."""
        self.json = dumps(record).decode()
        """The record as JSON."""
        self._name = name
        self._stream_path = path if stream_path is None else stream_path

    @cached_property
    def packet(self) -> Packet:
        """The packet of Socket.IO."""
        return Packet(f"{CALL}[{_text(self.title)},{self.json}]")

    @cached_property
    def part(self) -> Packet:
        """The event of a stream."""
        event, path = _text(self._name), _text(self._stream_path)
        # The client of version 6 reads one line.
        json = f'{{"event":{event},"data":{self.json},"path":{path}}}'
        return Packet(f"data: {json}\n\n")


def answer(number: int, arguments: bytes) -> Packet:
    """Return the packet of an answer, whose arguments are JSON."""
    return Packet(f"{MESSAGE}{ACK}{number}{arguments.decode()}")


def split_packet(text: str) -> tuple[str, str]:
    """Return the type and the data of a packet.

    :raises BadRequest: The text is not a packet.
    """
    if not text or not CLOSE.text <= text[0] <= NOOP.text:
        raise BadRequest("A packet must begin with its type.")

    return text[0], text[1:]


class ClientMessage(t.NamedTuple):
    """A message of a client."""

    type: str
    """The type, a digit."""

    namespace: str
    """The namespace."""

    number: int | None
    """The number that the answer repeats, ``None`` if the client expects none."""

    data: t.Any
    """The value of the JSON text."""

    @classmethod
    def parse(cls, text: str) -> ClientMessage:
        """Return the message of a text.

        :raises BadRequest: The text is not a message that clients may send.
        """
        if not text:
            raise BadRequest("A packet must not be empty.")

        match = FORM.fullmatch(text)

        if match is None:
            raise BadRequest("A client must not send messages of this type.")

        plain, binary, namespace, number, json_text = match.groups()
        type = plain or binary

        try:
            data = loads(json_text) if json_text else None
        except (ValueError, RecursionError) as error:
            raise BadRequest("The data must be JSON.") from error

        if type in (EVENT, BINARY_EVENT) and not _is_event(data):
            raise BadRequest("An event must have a name that is not reserved.")

        return cls(type, namespace or NAMESPACE, int(number) if number else None, data)


class Modern:
    """Engine.IO 4, of socket.io-client 3 and 4."""

    is_modern = True
    """``True`` if the server sends pings, and clients ask to be connected to Socket.IO.
    ``False`` if clients send pings, and are connected at once.
    """

    accepted = frozenset({MESSAGE, CLOSE.text, PONG.text})
    """The types of packets that clients may send."""

    body_size = 1
    """The largest body, as a multiple of the largest message."""

    @staticmethod
    def split(body: str) -> Iterable[str]:
        """Return the texts of the packets in a body.

        :raises ValueError: The body can't be read.
        """
        return body.split(SEPARATOR)

    @staticmethod
    def join(packets: Iterable[Packet]) -> bytes:
        """Return the body with packets."""
        return SEPARATOR.join(packet.text for packet in packets).encode()

    @staticmethod
    def connect(id: str) -> Packet:
        """Return the packet that gives a client the id of its connection."""
        return Packet(f"{MESSAGE}{CONNECT}{dumps({'sid': id}).decode()}")

    @staticmethod
    def refuse(namespace: str, body: Mapping[str, t.Any] | None = None) -> Packet:
        """Return the packet that refuses a client a namespace.

        :param body: The body of the error.
        """
        error = {"message": body["message"], "data": body} if body else NO_NAMESPACE
        return _refuse(namespace, error)


class Legacy(Modern):
    """Engine.IO 3, of socket.io-client 2."""

    is_modern = False
    accepted = frozenset({MESSAGE, CLOSE.text, PING.text})
    # Clients do not know the size, and put all that they have to say into one body.
    body_size = 16

    @staticmethod
    def split(body: str) -> Iterable[str]:
        # Each packet follows its length.
        return list(_pieces(body.encode("utf-16-le"))) or [""]

    @staticmethod
    def join(packets: Iterable[Packet]) -> bytes:
        texts = (packet.text for packet in packets)
        return "".join(f"{_length(text)}:{text}" for text in texts).encode()

    @staticmethod
    def connect(id: str) -> Packet:
        return Packet(f"{MESSAGE}{CONNECT}")

    @staticmethod
    def refuse(namespace: str, body: Mapping[str, t.Any] | None = None) -> Packet:
        return _refuse(namespace, body or NO_NAMESPACE["message"])


PROTOCOLS: t.Final[Mapping[str, type[Modern]]] = {"4": Modern, "3": Legacy}
"""The protocols by version of Engine.IO, as clients name it."""


def decode(body: bytes, protocol: type[Modern], max_size: int) -> list[tuple[str, str]]:
    """Return the types and the data of the packets of a body, without attachments.

    :raises BadRequest: The body can't be read, or too much is in it.
    """
    try:
        texts = list(protocol.split(body.decode()))
    except UnicodeDecodeError as error:
        raise BadRequest("The packets must be text in UTF-8.") from error
    except ValueError as error:
        raise BadRequest("The body must consist of lengths and packets.") from error

    if len(texts) > MAX_PACKETS:
        raise BadRequest("The body has too many packets.")

    if any(size(text) > max_size for text in texts):
        raise BadRequest(f"Messages must not exceed {max_size} bytes.")

    return [split_packet(text) for text in texts if text[:1] != ATTACHMENT]


def size(text: str) -> int:
    """Return the number of bytes of a text."""
    return len(text) if text.isascii() else len(text.encode())


def _text(value: str) -> str:
    return dumps(value).decode()


def loads(text: str) -> t.Any:
    """Return the value of a JSON text. ``NaN`` and ``Infinity`` become null."""
    return json.loads(text, parse_constant=lambda name: None)


def _is_event(data: t.Any) -> bool:
    """Return whether data begins with the name of an event that clients may send."""
    name = data[0] if isinstance(data, list) and data else None
    return isinstance(name, str) and name not in RESERVED


def _refuse(namespace: str, error: t.Any) -> Packet:
    place = "" if namespace == NAMESPACE else f"{namespace},"
    return Packet(f"{MESSAGE}{CONNECT_ERROR}{place}{dumps(error).decode()}")


def _pieces(units: bytes) -> Iterator[str]:
    position = 0

    while position < len(units):
        head = units[position : position + UNIT * (MAX_LENGTH_DIGITS + 1)]
        digits, colon, _ = head.decode("utf-16-le", "replace").partition(":")

        if not colon or not (digits.isascii() and digits.isdecimal()):
            raise ValueError("A packet must follow its length.")

        start = position + UNIT * (len(digits) + 1)
        position = start + UNIT * int(digits)

        if position > len(units):
            raise ValueError("The last packet is cut off.")

        yield units[start:position].decode("utf-16-le")


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // UNIT
