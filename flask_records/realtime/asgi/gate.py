"""The number of connections that a worker holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


class Gate:
    """Counts connections from the start of the handshake to the end of their calls. It
    is used in the event loop only.
    """

    def __init__(self, limit: int, limit_per_address: int) -> None:
        self._limit = limit
        self._limit_per_address = limit_per_address
        self._places: set[Place] = set()
        self._by_address: Counter[str] = Counter()

    def enter(self, address: str) -> Place | None:
        """Return a place for a connection, or ``None`` if there are too many."""
        is_full = len(self._places) >= self._limit

        if is_full or self._by_address[address] >= self._limit_per_address:
            return None

        place = Place(self, address)
        self._places.add(place)
        self._by_address[address] += 1
        return place

    def leave(self, place: Place) -> None:
        """Free a place. Nothing happens if it is free."""
        if place not in self._places:
            return

        self._places.remove(place)
        self._by_address[place.address] -= 1

        if not self._by_address[place.address]:
            del self._by_address[place.address]


@dataclass(frozen=True, eq=False)
class Place:
    """The place of one connection."""

    gate: Gate
    """The gate that counts it."""

    address: str
    """The address of the client."""

    def leave(self) -> None:
        """Free the place. Nothing happens if it is free."""
        self.gate.leave(self)
