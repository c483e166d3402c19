"""Numbers of the work of one worker for its connections."""

from __future__ import annotations

from collections import Counter


class Counters:
    """Counts events, calls and connections since the start of a worker.

    Python switches threads between calls and at jumps only, so that adding to an
    attribute needs no lock. Without the GIL, a few may be missed.
    """

    __slots__ = (
        "calls_begun",
        "calls_ended",
        "calls_failed",
        "events",
        "late_readers",
        "refused",
        "sent",
    )

    def __init__(self) -> None:
        self.events = 0
        """The number of events that were sent to any connection."""
        self.sent = 0
        """The number of times that they were sent to one."""
        self.late_readers = 0
        """The number of connections that have ended because too much was unread."""
        self.calls_begun = 0
        """The number of calls that have begun."""
        self.calls_ended = 0
        """The number of calls that were answered."""
        self.calls_failed = 0
        """The number of calls that were answered by an error."""
        self.refused: Counter[str] = Counter()
        """The number of connections that were refused, by reason: ``origin``, ``full``,
        ``protocol`` or ``login``.
        """
