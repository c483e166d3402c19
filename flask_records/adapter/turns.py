"""Turns at the connections of a pool, first come, first served.

SQLAlchemy's pool gives a connection to the thread that asks at the moment when it is
returned, so that under load other threads can wait for seconds. Here they wait in line.
"""

from __future__ import annotations

import sys
import threading
import time
import typing as t
from collections import deque
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from sqlalchemy.pool import QueuePool

from ..errors import Unavailable
from ..query.bounds import current_bounds
from .availability import BUSY

if t.TYPE_CHECKING:
    from collections.abc import Callable

    import sqlalchemy as sa
    from sqlalchemy.pool import Pool

POLL_INTERVAL: t.Final = 0.005
"""The seconds between two looks at a pool whose connections others have taken."""

_held: ContextVar[tuple[Turns, ...]] = ContextVar("records_turns", default=())
"""The pools that the code in progress has a turn at."""

_turns: WeakKeyDictionary[Pool, Turns] = WeakKeyDictionary()


class Turns:
    """Lets callers pass in order, as many at once as a pool has connections."""

    def __init__(self, size: int) -> None:
        self.size = size
        """The number of connections."""
        self._free = size
        self._lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()

    @property
    def waiting(self) -> int:
        """The number of callers that wait."""
        return len(self._waiting)

    def take(self, timeout: float) -> Callable[[], None]:
        """Wait for a turn, and return the function that gives it back.

        :param timeout: The seconds to wait at most.
        :raises Unavailable: It took too long.
        """
        give_back = self.take_free()

        if give_back is None:
            self._wait(timeout)
            give_back = self._hold()

        return give_back

    def take_free(self) -> Callable[[], None] | None:
        """Return the function that gives a turn back, or ``None`` if none is free."""
        # A thread that holds a connection and waits for another could wait for ever.
        if self in _held.get():
            return _give_nothing_back

        with self._lock:
            if not self._free:
                return None

            self._free -= 1

        return self._hold()

    def _hold(self) -> Callable[[], None]:
        _held.set((*_held.get(), self))
        return self._give_back

    def _give_back(self) -> None:
        _held.set(tuple([turns for turns in _held.get() if turns is not self]))
        self._free_one()

    def _wait(self, timeout: float) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return

            place = threading.Lock()
            place.acquire()
            self._waiting.append(place)

        try:
            is_taken = place.acquire(timeout=timeout)
        except BaseException:
            if not self._leave(place):
                self._free_one()

            raise

        if not is_taken and self._leave(place):
            raise Unavailable(BUSY)

    def _leave(self, place: threading.Lock) -> bool:
        """Leave the line. Return ``False`` if the turn has come in this moment."""
        with self._lock:
            if place not in self._waiting:
                return False

            self._waiting.remove(place)
            return True

    def _free_one(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


def take_turn(engine: sa.Engine) -> Callable[[], None]:
    """Wait until a connection of an engine is free, and return the function that gives
    the turn back.

    :raises Unavailable: It took longer than ``RECORDS_BOUNDS["connection_wait"]``, or
        than the pool itself would wait.
    """
    pool = engine.pool

    if not _has_bound(pool):
        return _give_nothing_back

    turns = turns_of(engine)
    give_back = turns.take_free()

    if give_back is not None and pool.checkedout() < turns.size:
        return give_back

    return _take_in_line(pool, turns, give_back)


def _take_in_line(
    pool: QueuePool, turns: Turns, give_back: Callable[[], None] | None
) -> Callable[[], None]:
    timeout = min(pool.timeout(), current_bounds().connection_wait)
    until = time.monotonic() + timeout
    give_back = give_back or turns.take(timeout)

    try:
        # The application may have taken connections without a turn.
        while pool.checkedout() >= turns.size:
            if time.monotonic() >= until:
                raise Unavailable(BUSY)

            time.sleep(POLL_INTERVAL)
    except BaseException:
        give_back()
        raise

    return give_back


def turns_of(engine: sa.Engine) -> Turns:
    """Return the turns at the connections of an engine."""
    pool = engine.pool
    # Two threads may get here at once. All have to use the same turns.
    return _turns.get(pool) or _turns.setdefault(pool, Turns(_size_of(pool)))


def _has_bound(pool: Pool) -> t.TypeGuard[QueuePool]:
    return isinstance(pool, QueuePool) and pool._max_overflow >= 0


def _size_of(pool: Pool) -> int:
    # A pool without a bound lets all callers pass at once.
    return pool.size() + pool._max_overflow if _has_bound(pool) else sys.maxsize


def _give_nothing_back() -> None:
    """Stand in for a turn at a pool without a bound."""
