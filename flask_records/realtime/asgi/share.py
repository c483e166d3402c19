"""Threads for calls and for requests, so that neither takes all of them."""

from __future__ import annotations

import math
import typing as t
from collections import deque

if t.TYPE_CHECKING:
    from collections.abc import Callable

    Function: t.TypeAlias = Callable[..., None]

MAX_WAITING: t.Final = 1000
"""The number of requests that may wait for a thread."""


def share_of(threads: int) -> int:
    """Return how many threads one kind of work may take."""
    return max(1, threads - max(1, threads // 4))


class Share:
    """A number of threads for one kind of work. It is used in the event loop only.

    :param run: Runs a function in a thread.
    :param post: Runs a function in the event loop.
    :param limit: The maximum number of threads.
    :param max_waiting: The maximum number of functions that wait for one.
    """

    def __init__(
        self, run: Function, post: Function, limit: int, max_waiting: float = math.inf
    ) -> None:
        self._run = run
        self._post = post
        self._limit = limit
        self._max_waiting = max_waiting
        self._number = 0
        self._waiting: deque[tuple[Function, tuple[t.Any, ...]]] = deque()

    def run(self, function: Function, *args: t.Any) -> bool:
        """Run a function in a thread as soon as it may have one, and return whether
        there is room for it.
        """
        if self._number < self._limit:
            self._number += 1
            self._run(self._work, function, args)
        elif len(self._waiting) < self._max_waiting:
            self._waiting.append((function, args))
        else:
            return False

        return True

    def _work(self, function: Function, args: tuple[t.Any, ...]) -> None:
        try:
            function(*args)
        finally:
            self._post(self._go_on)

    def _go_on(self) -> None:
        self._number -= 1

        if self._waiting:
            function, args = self._waiting.popleft()
            self.run(function, *args)
