"""The last calls of an application."""

from __future__ import annotations

import threading
import typing as t
from collections import deque

if t.TYPE_CHECKING:
    from .recorded import Call

MAX_CALLS: t.Final = 200
"""The number of calls that are kept."""


class Journal:
    """Keeps the last calls of one application in this process. Threads and greenlets
    may use it at once.

    :param size: The number of calls, after which the oldest make room.
    """

    def __init__(self, size: int = MAX_CALLS) -> None:
        self._calls: deque[Call] = deque(maxlen=size)
        self._last = 0
        self._lock = threading.Lock()

    @property
    def last(self) -> int:
        """The number of the last call, or 0."""
        return self._last

    def add(self, call: Call) -> None:
        """Add a call that is over, and number it."""
        with self._lock:
            self._last += 1
            call.id = self._last
            self._calls.append(call)

    def after(self, id: int) -> list[Call]:
        """Return the calls after the one of a number, newest first."""
        with self._lock:
            return [call for call in reversed(self._calls) if call.id > id]

    def get(self, id: int) -> Call | None:
        """Return the call of a number, or ``None`` if it is not there any more."""
        with self._lock:
            return next((call for call in self._calls if call.id == id), None)
