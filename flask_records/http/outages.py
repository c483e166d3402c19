"""Outages of what the server needs, logged in one line a second."""

from __future__ import annotations

import time
import typing as t

from ..query.redaction import without_parameters

LOG_INTERVAL: t.Final = 1.0
"""The seconds between two lines in the log about the same outage."""

MAX_REASONS: t.Final = 100
"""The number of reasons whose last lines are remembered."""

NEWLINE: t.Final = "\n"


class Outages:
    """The reasons of outages, each of which is logged once in :data:`LOG_INTERVAL`."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}

    def is_due(self, reason: str) -> bool:
        """Return whether it is time to log a reason."""
        now = time.monotonic()

        if now < self._next.get(reason, now):
            return False

        # An application may raise an error with ever new messages.
        if len(self._next) >= MAX_REASONS:
            self._next.clear()

        self._next[reason] = now + LOG_INTERVAL
        return True


def line_of(error: BaseException | None) -> str:
    """Return the first line of an error for the log, without what was sent."""
    if error is None:
        return ""

    cause = without_parameters(getattr(error, "orig", None) or error)
    return f" ({type(cause).__name__}: {str(cause).partition(NEWLINE)[0]})"
