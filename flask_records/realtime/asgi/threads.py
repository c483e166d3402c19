"""The threads of calls and requests: a few at a time, and more while those wait."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import typing as t
from collections import deque
from concurrent.futures import ThreadPoolExecutor

if t.TYPE_CHECKING:
    from collections.abc import Callable

    Job: t.TypeAlias = "tuple[Callable[..., object], tuple[t.Any, ...]]"

logger = logging.getLogger(__name__)

FEW: t.Final = 3
"""The number of threads that run at once if none of them waits for long."""

INTERVAL: t.Final = 0.005
"""The seconds between two decisions about the number of threads."""

SLOW: t.Final = 0.03
"""The seconds after which a job is taken for one that waits, as for a lock."""

BUSY: t.Final = 0.5
"""The part of a processor that the process uses if its threads do not wait."""


class Threads:
    """Runs jobs in threads, those first that came first.

    Python runs one thread at a time, and threads that are ready to run at the same time
    spend more time on taking turns than a short call takes. So a job waits until one of
    a few threads is free. There is one more every few milliseconds while the process
    leaves the processor idle, or while too few of the threads get on.

    Jobs are added in the event loop.

    :param limit: The maximum number of threads.
    """

    def __init__(self, limit: int) -> None:
        self._pool = ThreadPoolExecutor(limit, "records-call")
        self._limit = limit
        self._few = self._allowed = min(FEW, limit)
        self._lock = threading.Lock()
        self._jobs: deque[Job] = deque()
        self._number = 0
        self._is_over = False
        self._starts: dict[int, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._decided = self._used = 0.0

    @property
    def is_used(self) -> bool:
        """``True`` while jobs run."""
        return self._number > 0

    def run(self, function: Callable[..., object], *args: t.Any) -> None:
        """Run a function in a thread. Its errors are logged.

        :raises RuntimeError: The threads have ended.
        """
        with self._lock:
            if self._is_over:
                raise RuntimeError("The threads have ended.")

            self._jobs.append((function, args))
            begins = self._number < self._allowed
            self._number += begins

        if begins:
            self._pool.submit(self._work)
        elif self._timer is None:
            self._decide_later()

    def shutdown(self) -> None:
        """Accept no more jobs, and drop those that wait."""
        with self._lock:
            self._is_over = True
            self._jobs.clear()

        self._pool.shutdown(wait=False)

    def _work(self) -> None:
        """Run jobs, in a thread."""
        id = threading.get_ident()

        while True:
            with self._lock:
                if not self._jobs or self._number > self._allowed:
                    self._number -= 1
                    self._starts.pop(id, None)
                    return

                function, args = self._jobs.popleft()
                self._starts[id] = time.monotonic()

            try:
                function(*args)
            except Exception:
                logger.exception("A call failed.")

            # The thread may wait for its next job, which must not keep these alive.
            del function, args

    def _decide_later(self) -> None:
        self._decided, self._used = time.monotonic(), time.process_time()
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._decide)

    def _decide(self) -> None:
        """Let more threads run, or fewer, while jobs wait."""
        now, used = time.monotonic(), time.process_time()
        self._timer = None

        with self._lock:
            slow = sum(now - start > SLOW for start in self._starts.values())
            is_idle = used - self._used < BUSY * (now - self._decided)
            is_short = is_idle or self._number - slow < self._few
            allowed = self._allowed + (1 if is_short else -1) if self._jobs else 0
            self._allowed = min(max(allowed, self._few), self._limit)
            begins = bool(self._jobs) and self._number < self._allowed
            self._number += begins

        if begins:
            self._pool.submit(self._work)

        if self._jobs:
            self._decide_later()
