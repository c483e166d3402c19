"""The bus of a worker that has no others."""

from __future__ import annotations

import logging
import threading
import typing as t
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ...typing import Record

if t.TYPE_CHECKING:
    from collections.abc import Iterator

Handler: t.TypeAlias = Callable[[t.Any, str | None], None]
"""Handles what a worker has sent. Takes its body, and the id that it has in the log of
all workers, if it came from there.
"""

EVENTS: t.Final = "events"
"""The topic of the events of transactions: a list of messages each."""

LOST: t.Final = "lost"
"""The topic of the news that events are lost, which some worker has not received."""

logger = logging.getLogger(__package__)

LOCKS: t.Final = 64
"""The number of locks that all records share."""

LOCK_TIMEOUT: t.Final = 2
"""The seconds that an event waits for the previous one of another worker."""

TURN_TIMEOUT: t.Final = 5
"""The seconds that an event waits for the previous one of this worker. A broker takes
less to fail.
"""


class Bus:
    """Hands what is sent to the handlers of this worker."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._locks = [threading.RLock() for _ in range(LOCKS)]

    def start(self) -> None:
        """Begin to receive what other workers send."""

    def on(self, topic: str, handler: Handler) -> None:
        """Handle what any worker sends, this one included. A handler runs once for
        each, in a thread of the bus or of the sender.

        :param topic: The name of a topic, which has one handler.
        """
        self._handlers[topic] = handler

    def send(self, topic: str, body: t.Any) -> None:
        """Send a body to the handlers of all workers that are there.

        :param topic: The name of a topic.
        :param body: JSON.
        """
        self._handle(topic, body)

    def publish(self, messages: Sequence[Record]) -> None:
        """Send the messages of a transaction to all workers."""
        self._handle(EVENTS, messages)

    def _handle(self, topic: str, body: t.Any, id: str | None = None) -> None:
        handler = self._handlers.get(topic)

        # A worker of another version may send more.
        if handler is not None:
            handler(body, id)

    def lock(self, key: str) -> tuple[str, AbstractContextManager[t.Any]]:
        """Return the name and the lock of a record. It keeps the record's events in the
        order of its writes.
        """
        number = zlib.crc32(key.encode()) % LOCKS
        return f"events {number:02}", self._locked(number)

    @contextmanager
    def _locked(self, number: int) -> Iterator[None]:
        lock = self._locks[number]
        is_acquired = lock.acquire(timeout=TURN_TIMEOUT)

        if not is_acquired:
            logger.warning("An event waited too long for the previous one.")

        try:
            with self._locked_for_all(number):
                yield
        finally:
            if is_acquired:
                lock.release()

    def _locked_for_all(self, number: int) -> AbstractContextManager[t.Any]:
        """Return a lock that other workers respect."""
        return nullcontext()
