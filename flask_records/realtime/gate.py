"""How many connections a worker holds."""

from __future__ import annotations

import threading
from collections import Counter


class Gate:
    """Counts connections, from the beginning of their handshake to the end of their
    thread.

    :param limit: How many there are at most.
    :param limit_per_address: How many there are at most from one address. No limit of
        its own by default.
    """

    def __init__(self, limit: int, limit_per_address: int | None = None) -> None:
        self._limit = limit
        self._limit_per_address = limit_per_address or limit
        self._lock = threading.Lock()
        self._count = 0
        self._by_address: Counter[str] = Counter()

    def enter(self, address: str) -> Place | None:
        """Return a place for a connection, or ``None`` if there are too many.

        :param address: The address of the client.
        """
        with self._lock:
            if (
                self._count >= self._limit
                or self._by_address[address] >= self._limit_per_address
            ):
                return None

            self._count += 1
            self._by_address[address] += 1

        return Place(self, address)

    def leave(self, place: Place) -> None:
        """Give a place to somebody else. It can be left once.

        :param place: The place.
        """
        with self._lock:
            if not place.is_taken:
                return

            place.is_taken = False
            self._count -= 1
            self._by_address[place.address] -= 1

            if not self._by_address[place.address]:
                del self._by_address[place.address]


class Place:
    """The place of one connection."""

    def __init__(self, gate: Gate, address: str) -> None:
        self.address = address
        """The address of the client."""
        self.is_taken = True
        """``True`` as long as it counts."""
        self._gate = gate

    def leave(self) -> None:
        """Give the place to somebody else. It can be left once."""
        self._gate.leave(self)
