"""Entries of a log as messages of NATS, whose size is limited."""

from __future__ import annotations

import struct
import typing as t
import uuid
from collections import OrderedDict

from .broker import Entry
from .broker import Lost

if t.TYPE_CHECKING:
    from collections.abc import Iterator

HEAD: t.Final = struct.Struct(">16sHH")
"""A token of the entry, the number of the message in it, and how many it has. The empty
message at the beginning of a log has none.
"""

MAX_INCOMPLETE: t.Final = 100
"""The number of incomplete entries that are kept. Killed workers leave some."""


def messages_of(data: bytes, max_size: int) -> Iterator[bytes]:
    """Yield the messages of an entry.

    :param max_size: Their maximum size in bytes.
    """
    token = uuid.uuid4().bytes
    size = max_size - HEAD.size
    count = max(1, -(-len(data) // size))

    for number in range(count):
        part = data[number * size : (number + 1) * size]
        yield HEAD.pack(token, number, count) + part


def first_message() -> bytes:
    """Return the message at the beginning of a log, which is no entry."""
    return HEAD.pack(uuid.uuid4().bytes, 0, 0)


def id_of(number: int, message: bytes) -> str:
    """Return an id that no other message has, even if the numbers begin again.

    :param number: The number of the message in the log.
    """
    return f"{number}-{message[:16].hex()}"


def number_of(id: str) -> int:
    """Return the number of a message with an id.

    :raises Lost: It is not an id of a message.
    """
    number, _, token = id.partition("-")

    if not number.isdecimal() or len(number) > 18 or len(token) != 32:
        raise Lost(f"'{id}' is not an id of this log.")

    return int(number)


class Assembler:
    """Joins messages to entries."""

    def __init__(self) -> None:
        self._parts: OrderedDict[bytes, dict[int, bytes]] = OrderedDict()

    def add(self, number: int, message: bytes) -> Entry | None:
        """Add the next message, and return the entry that it completes.

        :raises Lost: Messages of the entry are missing.
        """
        token, part, count = HEAD.unpack_from(message)
        data = message[HEAD.size :]

        if count == 1:
            return Entry(id_of(number, message), data)

        if count == 0:
            return None

        # A message may come again after a reconnect.
        parts = self._parts.setdefault(token, {})
        parts[part] = data

        if len(self._parts) > MAX_INCOMPLETE:
            self._parts.popitem(last=False)

        if part + 1 < count:
            return None

        del self._parts[token]

        if len(parts) < count:
            raise Lost("The beginning of an entry is missing.")

        return Entry(id_of(number, message), b"".join(map(parts.get, range(count))))  # type: ignore[arg-type]  # all are there
