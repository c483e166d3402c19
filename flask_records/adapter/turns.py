"""Turns at the connections of a pool, first come, first served.

SQLAlchemy's pool gives a connection to the thread that asks at the moment when it is
returned, so that under load other threads can wait for seconds. Here they wait in line.
"""

from __future__ import annotations

import sys
import threading
import typing as t
from collections import deque
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from sqlalchemy.pool import QueuePool

from ..errors import Unavailable

if t.TYPE_CHECKING:
    from collections.abc import Callable

    import sqlalchemy as sa
    from sqlalchemy.pool import Pool

BUSY: t.Final = "The database is busy. Try again."

RETRY_AFTER: t.Final = 1
"""The seconds that a client is asked to wait before it tries again."""

_held: ContextVar[tuple[Turns, ...]] = ContextVar("records_turns", default=())
"""The pools that the code in progress has a turn at."""

_turns: WeakKeyDictionary[Pool, Turns] = WeakKeyDictionary()


class Turns:
    """Lets callers pass in order, as many at once as a pool has connections.

    :param timeout: The seconds that a caller waits at most.
    """

    def __init__(self, size: int, timeout: float) -> None:
        self._free = size
        self._timeout = timeout
        self._lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()

    @property
    def waiting(self) -> int:
        """The number of callers that wait."""
        return len(self._waiting)

    def take(self) -> Callable[[], None]:
        """Wait for a turn, and return the function that gives it back.

        :raises Unavailable: It took too long.
        """
        held = _held.get()

        # A thread that holds a connection and waits for another could wait for ever.
        if self in held:
            return lambda: None

        self._wait()
        _held.set((*held, self))
        return self._give_back

    def _give_back(self) -> None:
        _held.set(tuple([turns for turns in _held.get() if turns is not self]))

        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1

    def _wait(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return

            place = threading.Lock()
            place.acquire()
            self._waiting.append(place)

        if place.acquire(timeout=self._timeout):
            return

        with self._lock:
            # The turn may have come in this moment.
            if place not in self._waiting:
                return

            self._waiting.remove(place)

        error = Unavailable(BUSY)
        error.headers["Retry-After"] = str(RETRY_AFTER)
        raise error


def turns_of(engine: sa.Engine) -> Turns:
    """Return the turns at the connections of an engine."""
    pool = engine.pool
    # Two threads may get here at once. All have to use the same turns.
    return _turns.get(pool) or _turns.setdefault(pool, _of_pool(pool))


def _of_pool(pool: Pool) -> Turns:
    # A pool without a bound lets all callers pass at once.
    if not isinstance(pool, QueuePool) or pool._max_overflow < 0:
        return Turns(sys.maxsize, 0)

    return Turns(pool.size() + pool._max_overflow, pool.timeout())
