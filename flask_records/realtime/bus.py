"""The bus that carries events from one worker to the others."""

from __future__ import annotations

import itertools
import json
import logging
import threading
import time
import typing as t
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextlib import contextmanager
from contextlib import nullcontext

from ..http.formatter import dumps
from ..typing import Record

if t.TYPE_CHECKING:
    from collections.abc import Iterator

Handler: t.TypeAlias = Callable[[Sequence[Record]], None]
"""Sends the events of one transaction to the connections of this worker."""

logger = logging.getLogger(__package__)

LOCKS: t.Final = 64
"""The number of locks that all records share."""

LOCK_TIMEOUT: t.Final = 2
"""The seconds that an event waits for the previous one, and for Redis."""

LOCK_LIFETIME: t.Final = 5000
"""The milliseconds after which Redis frees the lock of a worker that was killed."""

LOCK_PAUSE: t.Final = 0.002
"""The seconds between two attempts to take a lock of Redis."""

RETRY_PAUSE: t.Final = 0.5
"""The seconds between two attempts to reach Redis."""

MAX_HANDLED: t.Final = 1000
"""The number of handled messages that a worker remembers."""

MAX_MESSAGE: t.Final = 1024 * 1024
"""The maximum size in bytes of a message of several events. Redis disconnects a worker
that leaves too many megabytes unread.
"""

UNLOCK: t.Final = """\
if redis.call("get", KEYS[1]) == ARGV[1] then
    return redis.call("del", KEYS[1])
end
return 0
"""
"""Deletes a lock if this worker still holds it."""


class Bus:
    """Hands messages to the connections of this worker."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._locks = [threading.RLock() for _ in range(LOCKS)]

    def start(self) -> None:
        """Begin to receive messages of other workers."""

    def publish(self, messages: Sequence[Record]) -> None:
        """Send the messages of a transaction to all workers."""
        self._handle(messages)

    def lock(self, key: str) -> tuple[str, AbstractContextManager[t.Any]]:
        """Return the name and the lock of a record. It keeps the record's events in the
        order of its writes.
        """
        number = zlib.crc32(key.encode()) % LOCKS
        return f"events {number:02}", self._locked(number)

    @contextmanager
    def _locked(self, number: int) -> Iterator[None]:
        lock = self._locks[number]
        is_acquired = lock.acquire(timeout=LOCK_TIMEOUT)

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


class RedisBus(Bus):
    """Sends messages to all workers through a channel of Redis. While Redis is not
    available, messages reach the connections of this worker, and no call waits.
    """

    def __init__(self, handle: Handler, url: str, channel: str) -> None:
        import redis

        super().__init__(handle)
        self._redis = redis.Redis.from_url(
            url, socket_timeout=LOCK_TIMEOUT, socket_connect_timeout=LOCK_TIMEOUT
        )
        self._error = redis.RedisError
        self._channel = channel
        self._id = uuid.uuid4().hex
        self._is_available = True
        self._is_listening = False
        self._numbers = itertools.count()
        self._handled: OrderedDict[int, None] = OrderedDict()
        self._uncertain: dict[str, str] = {}
        self._held = threading.local()
        self._state = threading.Lock()
        self._starting = threading.Lock()
        self._has_started = False

    def start(self) -> None:
        """Begin to receive messages of other workers."""
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
            self._publish(part)

    def _publish(self, messages: Sequence[bytes]) -> None:
        number = next(self._numbers)
        head = f'{{"from":"{self._id}","number":{number},"messages":['
        text = b"".join([head.encode(), b",".join(messages), b"]}"])

        # Messages that come back from Redis are in the same order for all workers.
        if not self._is_available or not self._is_listening:
            self._handle_own(number, text)

        if not self._is_available:
            return

        try:
            self._redis.publish(self._channel, text)
        except self._error as error:
            self._set_unavailable(error)
            self._handle_own(number, text)

    def _handle_own(self, number: int, text: bytes) -> None:
        """Handle messages of this worker once, even if they come back from Redis."""
        with self._state:
            if number in self._handled:
                return

            self._handled[number] = None

            if len(self._handled) > MAX_HANDLED:
                self._handled.popitem(last=False)

        self._handle(json.loads(text)["messages"])

    @contextmanager
    def _locked_for_all(self, number: int) -> Iterator[None]:
        held = self._held.__dict__.setdefault("numbers", set())

        # A receiver of an event may write the same record.
        if number in held:
            yield
            return

        name = f"{self._channel}:{number}"
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
                if self._redis.set(name, token, nx=True, px=LOCK_LIFETIME):
                    return True
            except self._error as error:
                self._release_later(name, token, error)
                return False

            time.sleep(LOCK_PAUSE)

        return False

    def _release(self, name: str, token: str) -> None:
        with self._state:
            if not self._is_available:
                self._uncertain[token] = name
                return

        try:
            self._redis.eval(UNLOCK, 1, name, token)
        except self._error as error:
            self._release_later(name, token, error)

    def _release_later(self, name: str, token: str, error: Exception) -> None:
        """Release a lock once Redis is available."""
        # Redis may run a command after its timeout.
        self._uncertain[token] = name
        self._set_unavailable(error)

    def _listen(self, ready: threading.Event) -> None:
        while True:
            try:
                self._receive(ready)
            except (self._error, OSError) as error:
                self._is_listening = False
                self._set_unavailable(error)
                time.sleep(RETRY_PAUSE)

    def _receive(self, ready: threading.Event) -> None:
        with self._redis.pubsub() as subscription:  # type: ignore[no-untyped-call]  # it has no hints
            subscription.subscribe(self._channel)

            while True:
                received = subscription.get_message(timeout=1) or {"type": None}

                if received["type"] == "subscribe":
                    self._is_listening = True
                    ready.set()
                elif received["type"] == "message":
                    self._handle_received(received["data"])

    def _handle_received(self, text: bytes) -> None:
        try:
            received = json.loads(text)

            if received["from"] == self._id:
                self._handle_own(received["number"], text)
            else:
                self._handle(received["messages"])
        except Exception:
            # The next message may be valid.
            logger.exception("A message from Redis could not be handled.")

    def _set_unavailable(self, error: Exception) -> None:
        with self._state:
            was_available, self._is_available = self._is_available, False

        if was_available:
            message = "Redis is not available. Events reach only this worker: %s"
            logger.warning(message, error)
            threading.Thread(target=self._wait_for_redis, daemon=True).start()

    def _wait_for_redis(self) -> None:
        while not self._is_reachable():
            time.sleep(RETRY_PAUSE)

        with self._state:
            self._is_available = True

        logger.warning("Redis is available again. Events reach all workers.")

        for token, name in list(self._uncertain.items()):
            del self._uncertain[token]
            self._release(name, token)

    def _is_reachable(self) -> bool:
        try:
            return bool(self._redis.ping())
        except (self._error, OSError):
            return False


def _parts(messages: Sequence[Record]) -> Iterator[list[bytes]]:
    """Yield lists of the messages as JSON, none of them too large for Redis."""
    part: list[bytes] = []
    size = 0

    for text in map(dumps, messages):
        if part and size + len(text) > MAX_MESSAGE:
            yield part
            part, size = [], 0

        part.append(text)
        size += len(text) + 1

    if part:
        yield part
