"""A background task that runs while there is something to watch."""

from __future__ import annotations

import logging
import threading
import time
import typing as t
from dataclasses import dataclass, field

if t.TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__package__)

THREAD: t.Final = "records-watcher"
"""The name of its thread."""


@dataclass
class Watcher:
    """Runs a check at intervals, in one background task."""

    is_needed: Callable[[], object]
    """Tells whether there is something to watch. If not, the task ends."""

    check: Callable[[], None]
    """The check. Its errors are logged."""

    interval: float
    """The seconds before each check."""

    _is_running: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, start: Callable[[Callable[[], None]], None]) -> None:
        """Start the task if it is not running.

        :param start: Runs a function in the background.
        """

        def run() -> None:
            threading.current_thread().name = THREAD

            while self._goes_on():
                time.sleep(self.interval)

                try:
                    self.check()
                except Exception:
                    logger.exception("A check of connections failed.")

        with self._lock:
            if not self._is_running:
                self._is_running = True
                start(run)

    def _goes_on(self) -> bool:
        with self._lock:
            self._is_running = bool(self.is_needed())
            return self._is_running
