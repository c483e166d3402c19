"""Functions that run one after the other, in the threads of those who give them."""

from __future__ import annotations

import logging
import threading
import typing as t
from collections import deque

if t.TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__package__)


class Order:
    """Runs functions of several threads in the order in which they are given."""

    def __init__(self) -> None:
        self._functions: deque[Callable[[], None]] = deque()
        self._lock = threading.RLock()
        self._is_running = False

    def run(self, function: Callable[[], None]) -> None:
        """Run a function after all others that were given before. It has run when this
        returns, unless one of those has given it.
        """
        self._functions.append(function)

        with self._lock:
            if self._is_running:
                return

            self._is_running = True

            try:
                while self._functions:
                    self._run_next()
            finally:
                self._is_running = False

    def _run_next(self) -> None:
        try:
            self._functions.popleft()()
        except Exception:
            # The events of other calls can be sent.
            logger.exception("Events could not be sent.")
