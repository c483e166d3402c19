"""The users in channels, as the connections of one worker tell."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..typing import Record


@dataclass(slots=True)
class Attendee:
    """A user in a channel."""

    record: Record
    """The record."""

    connections: int = 0
    """The number of connections of the user in the channel."""

    leaves_at: float = math.inf
    """The time at which the user leaves, unless a connection comes back."""

    is_told: bool = False
    """``True`` if other workers were told."""


class Attendance:
    """Counts the connections of users in channels. A user who has left stays for some
    seconds, so that nobody notices that a page is loaded again.

    :param grace: The seconds that a user without connections stays.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._attendees: dict[str, Attendee] = {}
        self._places: dict[str, tuple[str, ...]] = {}
        self._changed: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._attendees)

    def set(self, connection: str, records: Mapping[str, Record], now: float) -> None:
        """Set where a connection is.

        :param connection: The id of the connection.
        :param records: The records of its user in channels, by id. None for one that
            has ended.
        :param now: The time.
        """
        before = self._places.pop(connection, ())

        if records:
            self._places[connection] = tuple(records)

        for id in records.keys() - before:
            attendee = self._attendees.setdefault(id, Attendee(records[id]))
            attendee.connections += 1
            attendee.leaves_at = math.inf
            self._changed[id] = None

        for id in set(before) - records.keys():
            attendee = self._attendees[id]
            attendee.connections -= 1

            if not attendee.connections:
                attendee.leaves_at = now + self._grace
                self._changed[id] = None

    def changes(self, now: float) -> tuple[list[Record], list[str]]:
        """Return the records of the users who have come since the last time, and the
        ids of those who have left.

        :param now: The time.
        """
        joined, left = [], []

        for id in list(self._changed):
            attendee = self._attendees[id]

            if attendee.connections and not attendee.is_told:
                attendee.is_told = True
                joined.append(attendee.record)

            if attendee.connections:
                del self._changed[id]
            elif attendee.leaves_at <= now:
                del self._changed[id], self._attendees[id]
                left += [id] if attendee.is_told else []

        return joined, left

    @property
    def told(self) -> list[Record]:
        """The records that other workers were told."""
        return [each.record for each in self._attendees.values() if each.is_told]

    def tell_again(self) -> None:
        """Let all who are there be told as if they had just come."""
        for id, attendee in self._attendees.items():
            attendee.is_told = False
            self._changed[id] = None
