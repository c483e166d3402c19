"""Failed logins, limited in the process if nothing else limits logins."""

from __future__ import annotations

import math
import time
import typing as t
from collections import defaultdict, deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from ..errors import RecordsError, TooManyRequests

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_KEYS: t.Final = 10_000
"""The number of names and addresses that are remembered."""


@dataclass(frozen=True)
class FailedLogins:
    """Refuses logins of an address, or as one user, of which too many have failed."""

    by_name: int = 20
    """The number of logins as one user that may fail, from all addresses."""

    by_address: int = 100
    """The number of logins from one address that may fail, as all users."""

    minutes: int = 15
    """The minutes that they count."""

    _times: dict[str, deque[float]] = field(
        default_factory=lambda: defaultdict(deque), repr=False, compare=False
    )
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @contextmanager
    def attempt(self, name: str, address: str) -> Iterator[None]:
        """Count a login that fails meanwhile. Logins at once count until they succeed.

        :param name: The name of the user, as a digest.
        :raises TooManyRequests: Too many have failed.
        """
        now, counts = time.monotonic(), {name: self.by_name, address: self.by_address}

        with self._lock:
            for key, most in counts.items():
                self._check(key, most, now)

            for key in counts:
                self._times[key].append(now)

        has_failed = False

        try:
            yield
        except RecordsError as error:
            has_failed = error.code is not None and error.code < 500
            raise
        finally:
            if not has_failed:
                self._forget(counts, now)

    def _forget(self, keys: Iterable[str], now: float) -> None:
        with self._lock:
            for times in filter(None, map(self._times.get, keys)):
                if now in times:
                    times.remove(now)

    def _check(self, key: str, most: int, now: float) -> None:
        times, seconds = self._times[key], self.minutes * 60

        while times and times[0] <= now - seconds:
            times.popleft()

        if len(times) >= most:
            error = TooManyRequests("Too many logins have failed. Try again later.")
            error.headers["Retry-After"] = str(math.ceil(times[0] + seconds - now))
            raise error

        # The key that has not failed for the longest time goes first.
        self._times[key] = self._times.pop(key)

        if len(self._times) > MAX_KEYS:
            del self._times[next(iter(self._times))]
