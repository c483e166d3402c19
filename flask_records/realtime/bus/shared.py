"""The bus of several workers, which share a log in Redis."""

from __future__ import annotations

import itertools
import json
import logging
import threading
import time
import typing as t
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import contextmanager

from ...http.formatter import dumps
from ...typing import Record
from .local import Bus, EVENTS, LOCK_TIMEOUT, LOST
from .redis import BrokerError, Entry, Lost

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .redis import RedisBroker

logger = logging.getLogger(__package__)

LOCK_LIFETIME: t.Final = 5
"""The seconds after which the broker frees the lock of a worker that was killed."""

LOCK_PAUSE: t.Final = 0.002
"""The seconds between two attempts to take a lock of the broker."""

RETRY_PAUSE: t.Final = 0.5
"""The seconds between two attempts to reach the broker."""

READ_TIMEOUT: t.Final = 1
"""The seconds that the broker is asked to wait for entries."""

SETTLING: t.Final = 1.5
"""The seconds after which what other workers began to append while the broker was away
is in the log.
"""

MAX_HANDLED: t.Final = 1000
"""The number of handled entries that a worker remembers."""

AGAIN: t.Final = "The message queue is available again. Events reach all."

MAX_ENTRY: t.Final = 1024 * 1024
"""The maximum size in bytes of an entry with several events."""


class SharedBus(Bus):
    """Sends to all workers through the log of a broker. All of them receive the same in
    the same order. While the broker is not available, what is sent reaches the handlers
    of this worker, and no call waits.

    A worker that has sent events while it was alone tells all others that events are
    lost, as soon as it can. So does each that has found the broker away, if events are
    recorded. Until that news comes back to it, a worker that was alone leaves out
    events of others, which may be older than its own.

    :param broker: Keeps the log in Redis.
    :param is_recorded: The handlers get the recent events of the log before all others.
    """

    def __init__(self, broker: RedisBroker, *, is_recorded: bool = False) -> None:
        super().__init__()
        self._broker = broker
        self._is_recorded = is_recorded
        self._id = uuid.uuid4().hex
        self._is_available = True
        self._was_alone = False
        self._is_ahead = False
        self._last_alone = -1
        self._numbers = itertools.count()
        self._handled: OrderedDict[int, None] = OrderedDict()
        self._uncertain: dict[str, str] = {}
        self._held = threading.local()
        self._state = threading.Lock()
        self._starting = threading.Lock()
        self._has_started = False

    def start(self) -> None:
        """Begin to receive what other workers send."""
        with self._starting:
            if self._has_started:
                return

            self._has_started = True
            ready = threading.Event()
            threading.Thread(target=self._listen, args=(ready,), daemon=True).start()
            ready.wait(LOCK_TIMEOUT)

    def publish(self, messages: Sequence[Record]) -> None:
        """Send the messages of a transaction to all workers."""
        for part in _parts(messages):
            self._send(EVENTS, b"[%b]" % b",".join(part))

    def send(self, topic: str, body: t.Any) -> None:
        """Send a body to the handlers of all workers that are there."""
        self._send(topic, dumps(body))

    def _send(self, topic: str, body: bytes) -> None:
        number, data = self._entry(topic, body)

        # Entries that come back from the broker are in the same order for all workers.
        if not self._append(topic, number, data):
            self._handle_own(number, data)

    def _entry(self, topic: str, body: bytes) -> tuple[int, bytes]:
        """Return a new entry for the log, and its number."""
        number = next(self._numbers)
        head = {"from": self._id, "number": number, "topic": topic}
        return number, b'%b,"body":%b}' % (dumps(head)[:-1], body)

    def _append(self, topic: str, number: int, data: bytes) -> bool:
        """Append an entry, and return whether that succeeded."""
        with self._state:
            if not self._is_available:
                self._note_alone(topic, number)
                return False

        try:
            self._broker.append(data)
            return True
        except BrokerError as error:
            # Before the broker is found again, which tells the others.
            with self._state:
                self._note_alone(topic, number)

            self._set_unavailable(error)
            return False

    def _note_alone(self, topic: str, number: int) -> None:
        self._was_alone |= topic in (EVENTS, LOST)

        if topic == EVENTS:
            self._is_ahead = True
            self._last_alone = max(self._last_alone, number)

    def _handle_own(self, number: int, data: bytes, id: str | None = None) -> None:
        """Handle what this worker has sent once, even if it is in the log as well."""
        with self._state:
            if number in self._handled:
                return

            self._handled[number] = None

            if len(self._handled) > MAX_HANDLED:
                self._handled.popitem(last=False)

        received = json.loads(data)
        self._handle(received["topic"], received["body"], id)

    @contextmanager
    def _locked_for_all(self, number: int) -> Iterator[None]:
        held = self._held.__dict__.setdefault("numbers", set())

        # A receiver of an event may write the same record.
        if number in held:
            yield
            return

        name = str(number)
        token = uuid.uuid4().hex
        is_acquired = self._acquire(name, token)
        held.add(number)

        try:
            yield
        finally:
            held.discard(number)

            if is_acquired:
                self._release(name, token)

    def _acquire(self, name: str, token: str) -> bool:
        """Take a lock, and return whether that succeeded in time."""
        deadline = time.monotonic() + LOCK_TIMEOUT

        while self._is_available and time.monotonic() < deadline:
            try:
                if self._broker.lock(name, token, LOCK_LIFETIME):
                    return True
            except BrokerError as error:
                self._release_later(name, token, error)
                return False

            time.sleep(LOCK_PAUSE)

        return False

    def _release(self, name: str, token: str) -> None:
        with self._state:
            if not self._is_available:
                self._uncertain[token] = name
                return

        self._unlock(name, token)

    def _unlock(self, name: str, token: str) -> None:
        try:
            self._broker.unlock(name, token)
        except BrokerError as error:
            self._release_later(name, token, error)

    def _release_later(self, name: str, token: str, error: Exception) -> None:
        """Release a lock once the broker is available."""
        # The broker may run a command after its timeout.
        self._uncertain[token] = name
        self._set_unavailable(error)

    def _release_uncertain(self) -> None:
        for token, name in list(self._uncertain.items()):
            del self._uncertain[token]
            self._unlock(name, token)

    def _listen(self, ready: threading.Event) -> None:
        position: str | None = None

        while True:
            try:
                if position is None:
                    position = self._begin()

                ready.set()

                for entry in self._broker.read(position, READ_TIMEOUT):
                    position = entry.id
                    self._handle_entry(entry)
            except BrokerError as error:
                self._set_unavailable(error)
                time.sleep(RETRY_PAUSE)
            except Lost as error:
                logger.warning("Events of other workers are lost: %s", error)
                position = None

    def _begin(self) -> str:
        """Return the id of the entry after which this worker receives all others."""
        if not self._is_recorded:
            end = self._broker.end()
            self._join_others()
            return end

        recent = self._broker.recent()
        events = _latest(recent)

        if not events:
            # All workers know the entry with which the log began for this one.
            data = dumps({"from": "", "number": 0, "topic": EVENTS, "body": []})
            events = [(self._broker.append(data), [])]
            recent = [Entry(events[0][0], data)]

        self._join_others()
        self._handle(LOST, events)
        return recent[-1].id

    def _handle_entry(self, entry: Entry) -> None:
        try:
            received = json.loads(entry.data)
            is_own, topic = received["from"] == self._id, received["topic"]

            if is_own and topic == LOST:
                self._join_others()

            if topic == EVENTS and self._may_be_older(received):
                return

            if is_own:
                self._handle_own(received["number"], entry.data, entry.id)
            else:
                self._handle(topic, received["body"], entry.id)
        except Exception:
            # The next entry may be valid.
            logger.exception("A message of a worker could not be handled.")

    def _may_be_older(self, received: Record) -> bool:
        """Return whether events may be older than those that this worker sent alone."""
        if received["from"] == self._id:
            return t.cast(int, received["number"]) < self._last_alone

        return self._is_ahead

    def _join_others(self) -> None:
        """Take the events of other workers again, all of which are later."""
        with self._state:
            is_joining = self._is_available and self._is_ahead
            self._is_ahead &= not is_joining

        if is_joining:
            logger.warning(AGAIN)

    def _set_unavailable(self, error: Exception) -> None:
        with self._state:
            was_available, self._is_available = self._is_available, False

        if was_available:
            logger.warning(
                "The message queue is not available. Events reach only this worker: %s",
                error,
            )
            threading.Thread(target=self._wait_for_broker, daemon=True).start()

    def _wait_for_broker(self) -> None:
        while not self._is_reachable() or not self._return_to_others():
            # Another worker that was alone may be killed before it can tell.
            self._was_alone |= self._is_recorded
            time.sleep(RETRY_PAUSE)

        self._release_uncertain()

    def _return_to_others(self) -> bool:
        """Send to all workers again, and return whether that succeeded."""
        self._release_uncertain()

        if self._is_ahead:
            time.sleep(SETTLING)

        with self._state:
            try:
                # No later event of this worker comes before it.
                if self._was_alone:
                    self._broker.append(self._entry(LOST, b"[]")[1])
            except BrokerError:
                return False

            self._is_available, self._was_alone = True, False
            is_ahead = self._is_ahead

        if not is_ahead:
            logger.warning(AGAIN)

        return True

    def _is_reachable(self) -> bool:
        """Return whether the broker accepts what is written."""
        token = uuid.uuid4().hex

        try:
            self._broker.lock("probe", token, LOCK_LIFETIME)
            self._broker.unlock("probe", token)
        except BrokerError:
            return False

        return True


def _latest(entries: Sequence[Entry]) -> list[tuple[str, list[Record]]]:
    """Return the ids and the messages of the events in a log, of those only that came
    since events were lost.
    """
    events: list[tuple[str, list[Record]]] = []

    for entry in entries:
        try:
            received = json.loads(entry.data)
            topic, body = received["topic"], received["body"]
        except (LookupError, TypeError, ValueError):
            # Another program may use the same names.
            continue

        if topic == LOST:
            events = [(entry.id, [])]
        elif topic == EVENTS:
            events.append((entry.id, body))

    return events


def _parts(messages: Sequence[Record]) -> Iterator[list[bytes]]:
    """Yield lists of the messages as JSON, none of them too large for an entry."""
    part: list[bytes] = []
    size = 0

    for text in map(dumps, messages):
        if part and size + len(text) > MAX_ENTRY:
            yield part
            part, size = [], 0

        part.append(text)
        size += len(text) + 1

    if part:
        yield part
