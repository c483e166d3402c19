"""The log of events, which workers read in its order."""

from __future__ import annotations

import threading
import time
import typing as t
from collections import deque
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

if t.TYPE_CHECKING:
    from collections.abc import Iterator

LOST: t.Final = b'{"lost":true}'
"""The entry that stands for events that are lost. Connections end, and their clients
load anew.
"""

MAX_ENTRIES: t.Final = 10_000
"""The number of entries that a log keeps."""

MAX_BYTES: t.Final = 64 * 1024 * 1024
"""About the bytes of the entries that a log keeps."""

COMMIT_TIMEOUT: t.Final = 5
"""The seconds that entries wait for an earlier commit."""


@dataclass(eq=False, slots=True)
class Reservation:
    """The reserved place of one transaction in the log."""

    began: float = field(default_factory=time.monotonic)
    """The time at which it began."""

    entries: list[bytes] = field(default_factory=list)
    """The entries, once the transaction is committed."""

    is_over: bool = False
    """``True`` if there are no more to come."""

    is_passed: bool = False
    """``True`` if later entries were written before."""


class Log:
    """The entries of a process, in the order of its commits. No write waits for the
    commit of another: it leaves entries that come early to the thread whose commit is
    before them.
    """

    def __init__(self) -> None:
        self._reservations: deque[Reservation] = deque()
        self._current = threading.local()
        self._state = threading.Lock()
        self._writing = threading.Lock()

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """Keep the place of a transaction, from before its commit until its entries are
        appended, or until the end of the block.
        """
        # A record that two transactions write is locked until the first has committed,
        # so that the second one's place is later.
        reservation, outer = self._begin(), self._reservation
        self._current.reservation = reservation

        try:
            yield
        finally:
            self._current.reservation = outer
            self._end(reservation)

    def append(self, entries: Sequence[bytes], *, is_last: bool = True) -> None:
        """Append entries at the place of the transaction that this thread has just
        committed, or else at the end.

        :param entries: JSON objects.
        :param is_last: ``False`` if more of the transaction may follow.
        """
        reservation = self._reservation

        if reservation is None or reservation.is_over:
            reservation, is_last = self._begin(), True

        reservation.entries += entries

        if is_last:
            self._end(reservation)

    def check(self) -> None:
        """Refuse a place that does not take the log.

        :raises RuntimeError: It does not.
        :raises ConnectionError: It is away.
        """

    def start(self) -> None:
        """Begin to read: what is appended from now on."""

    def read(self, timeout: float) -> list[bytes]:
        """Wait for entries, and return them in their order. One thread reads.

        :param timeout: The seconds after which it returns no entries.
        """
        raise NotImplementedError

    def _write(self, entries: Sequence[bytes]) -> None:
        """Write entries to where workers read them."""
        raise NotImplementedError

    @property
    def _reservation(self) -> Reservation | None:
        return getattr(self._current, "reservation", None)

    def _begin(self) -> Reservation:
        reservation = Reservation()

        with self._state:
            self._reservations.append(reservation)

        return reservation

    def _end(self, reservation: Reservation) -> None:
        with self._state:
            if reservation.is_over:
                return

            if reservation.is_passed and reservation.entries:
                # Later events of the same records may have been sent.
                reservation.entries = [LOST]
                self._reservations.append(reservation)

            reservation.is_over = True

        with self._writing:
            if ready := self._take():
                self._write(ready)

    def _take(self) -> list[bytes]:
        """Take the entries that no commit has to come before."""
        entries: list[bytes] = []

        with self._state:
            while self._reservations:
                first = self._reservations[0]
                first.is_passed = time.monotonic() > first.began + COMMIT_TIMEOUT

                if not first.is_over and not first.is_passed:
                    break

                self._reservations.popleft()
                entries += first.entries

        return entries


class MemoryLog(Log):
    """The log of a process that has no others beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = True
        """``True`` if the reader waits for entries, and there are none."""
        self._entries: list[bytes] = []
        self._size = 0
        self._has_entries = threading.Condition()

    def read(self, timeout: float) -> list[bytes]:
        """Wait for entries, and return them in their order."""
        with self._has_entries:
            self.is_read = not self._entries
            self._has_entries.wait_for(lambda: self._entries, timeout)
            entries, self._entries, self._size = self._entries, [], 0

        return entries

    def _write(self, entries: Sequence[bytes]) -> None:
        with self._has_entries:
            self._entries += entries
            self._size += sum(map(len, entries))

            if len(self._entries) > MAX_ENTRIES or self._size > MAX_BYTES:
                self._entries, self._size = [LOST], 0

            self.is_read = False
            self._has_entries.notify()
