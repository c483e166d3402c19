"""The users in channels, as the workers tell."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from dataclasses import field

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from ..typing import Record


@dataclass(slots=True)
class Seat:
    """The presence of a user in a channel."""

    record: Record
    """The record, as the first worker told it."""

    workers: set[str] = field(default_factory=set)
    """The workers that have connections of the user in the channel."""


class Roster:
    """Holds one record for each user in each channel, however many connections and
    workers there are.
    """

    def __init__(self) -> None:
        self._seats: dict[str, Seat] = {}
        self._channels: dict[str, dict[str, Seat]] = {}

    def __len__(self) -> int:
        return len(self._seats)

    def __iter__(self) -> Iterator[Record]:
        return (seat.record for seat in self._seats.values())

    def get(self, id: str) -> Record | None:
        """Return a record, or ``None`` if the user is not in the channel."""
        seat = self._seats.get(id)
        return None if seat is None else seat.record

    def of(self, channel: str) -> list[Record]:
        """Return the records of a channel."""
        return [seat.record for seat in self._channels.get(channel, {}).values()]

    @property
    def channels(self) -> list[str]:
        """The names of the channels that have users."""
        return list(self._channels)

    def add(self, worker: str, records: Iterable[Record]) -> list[Record]:
        """Add what a worker tells, and return the records that are new."""
        created = []

        for record in records:
            seat = self._seats.get(record["id"])

            if seat is None:
                seat = self._seats[record["id"]] = Seat(record)
                self._channels.setdefault(record["channel"], {})[record["id"]] = seat
                created.append(record)

            seat.workers.add(worker)

        return created

    def remove(self, worker: str, ids: Iterable[str]) -> list[Record]:
        """Remove what a worker tells, and return the records that are gone."""
        removed = []

        for id in ids:
            seat = self._seats.get(id)

            if seat is None:
                continue

            seat.workers.discard(worker)

            if not seat.workers:
                removed.append(seat.record)
                self._delete(seat.record)

        return removed

    def replace(
        self, worker: str, records: Sequence[Record]
    ) -> tuple[list[Record], list[Record]]:
        """Replace all that a worker has told, and return the records that are new, and
        those that are gone.
        """
        ids = {record["id"] for record in records}
        old = [id for id in self.ids_of(worker) if id not in ids]
        return self.add(worker, records), self.remove(worker, old)

    def ids_of(self, worker: str) -> list[str]:
        """Return the ids of all records that a worker has told."""
        return [id for id, seat in self._seats.items() if worker in seat.workers]

    def _delete(self, record: Record) -> None:
        del self._seats[record["id"]]
        seats = self._channels[record["channel"]]
        del seats[record["id"]]

        if not seats:
            del self._channels[record["channel"]]
