"""The recent events, in memory."""

from __future__ import annotations

import itertools
import secrets
import time
import typing as t
from collections import deque
from dataclasses import dataclass

from ..http.formatter import dumps

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..typing import Record

PART: t.Final = 100
"""The number of events that are looked up at once."""

PART_SIZE: t.Final = 256 * 1024
"""The size in bytes above which fewer of them are."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of a log."""

    seconds: int = 120
    """The age after which an event may be forgotten."""

    events: int = 10_000
    """The number of events that a client may have missed."""

    bytes: int = 16 * 1024 * 1024
    """The size of these events as JSON."""


@dataclass(frozen=True)
class Entry:
    """The events of one transaction, or of a part of a large one."""

    id: str
    """The id, the same in all workers."""

    messages: Sequence[Record]
    """The messages of the events."""

    size: int
    """The size of the messages in bytes."""

    time: float
    """When the entry was added."""


class Missed(t.NamedTuple):
    """An event that a client has missed."""

    offset: str
    """The place after the event."""

    message: Record
    """Its message."""


class EventLog:
    """Keeps recent events in the order in which a worker sends them.

    An offset is a place in the log: the id of an entry, and the number of its events
    that come before the place. One thread at a time uses the log.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._entries: deque[Entry] = deque()
        self._numbers: dict[str, int] = {}
        self._first = 0
        self._events = 0
        self._size = 0
        self._prefix = secrets.token_urlsafe(9)
        self._own_ids = itertools.count(1)
        self._append(None, [])

    @property
    def end(self) -> str:
        """The place after the last event."""
        last = self._entries[-1]
        return f"{last.id}.{len(last.messages)}"

    def begin(self, entries: Iterable[tuple[str | None, Sequence[Record]]]) -> None:
        """Forget all events, and begin with others.

        :param entries: The ids and messages of the others.
        """
        self._entries.clear()
        self._numbers.clear()
        self._first = self._events = self._size = 0

        for id, messages in entries:
            published = [message for message in messages if message["channels"]]

            if published or not messages:
                self._append(id, published)

        if not self._entries:
            self._append(None, [])

    def append(self, id: str | None, messages: Sequence[Record]) -> list[str]:
        """Add the events of a transaction, and return the place after each.

        :param id: The id in the log of all workers. An id of this worker by default.
        :param messages: The messages of events that are published.
        """
        id = self._append(id, messages)
        self.trim()
        return [f"{id}.{number}" for number in range(1, len(messages) + 1)]

    def _append(self, id: str | None, messages: Sequence[Record]) -> str:
        id = id or f"{self._prefix}-{next(self._own_ids)}"
        entry = Entry(id, messages, _size(messages), time.monotonic())
        self._numbers[id] = self._first + len(self._entries)
        self._entries.append(entry)
        self._events += len(messages)
        self._size += entry.size
        return id

    def trim(self) -> None:
        """Forget the events that are beyond the bounds."""
        while len(self._entries) > 1 and self._is_beyond_bounds():
            entry = self._entries.popleft()
            del self._numbers[entry.id]
            self._first += 1
            self._events -= len(entry.messages)
            self._size -= entry.size

    def _is_beyond_bounds(self) -> bool:
        """Return whether the events after the first entry are too old or too many. A
        client that has that entry has missed none as long as they are not.
        """
        first, bounds = self._entries[0], self._bounds
        return (
            self._events - len(first.messages) > bounds.events
            or self._size - first.size > bounds.bytes
            or self._entries[1].time < time.monotonic() - bounds.seconds
        )

    def has(self, offset: t.Any) -> bool:
        """Return whether the log has all events after a place. Any thread may ask.

        :param offset: A value that a client sends.
        """
        return isinstance(offset, str) and offset.rpartition(".")[0] in self._numbers

    def after(self, offset: str, limit: int = PART) -> list[Missed] | None:
        """Return the next events after a place, or ``None`` if the log does not have
        all of them. There are none if the place is the end.

        :param limit: The maximum number of events, if it is less than ``PART``.
        """
        id, _, position = offset.rpartition(".")

        if id not in self._numbers:
            return None

        index = self._numbers[id] - self._first
        skipped = int(position) if position.isdecimal() else 0
        missed: list[Missed] = []
        size = 0

        for entry in itertools.islice(self._entries, index, None):
            for number, message in enumerate(entry.messages, 1):
                if number > skipped:
                    missed.append(Missed(f"{entry.id}.{number}", message))
                    size += entry.size // len(entry.messages)

                    if len(missed) >= min(limit, PART) or size > PART_SIZE:
                        return missed

            skipped = 0

        return missed


def _size(messages: Sequence[Record]) -> int:
    """Return the size of messages. Those of one worker have values that are no JSON."""
    names = ("record", "data")
    return sum(
        len(dumps(message[name]))
        for message in messages
        for name in names
        if name in message
    )
