"""What carries events from one worker to the others."""

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
"""How many locks the records share."""

LOCK_TIMEOUT: t.Final = 2
"""How many seconds an event waits for the one before it, and for Redis."""

LOCK_LIFETIME: t.Final = 5
"""How many seconds a worker that was killed keeps a lock of Redis."""

LOCK_PAUSE: t.Final = 0.002
"""How many seconds pass until a lock of Redis is tried again."""

RETRY_PAUSE: t.Final = 0.5
"""How many seconds pass until Redis is tried again."""

MAX_HANDLED: t.Final = 1000
"""How many messages are known to have been handled."""

MAX_MESSAGE: t.Final = 1024 * 1024
"""How many bytes a message of several events has at most. Redis cuts a worker off that
does not read some megabytes in time.
"""

UNLOCK: t.Final = """\
if redis.call("get", KEYS[1]) == ARGV[1] then
    return redis.call("del", KEYS[1])
end
return 0
"""
"""Deletes a lock if it is still ours."""


class Bus:
    """Hands messages to the connections of this worker.

    :param handle: Handles the messages of a transaction.
    """

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._locks = [threading.RLock() for _ in range(LOCKS)]

    def start(self) -> None:
        """Listen to the other workers from now on."""

    def publish(self, messages: Sequence[Record]) -> None:
        """Hand the messages of a transaction to all workers.

        :param messages: What JSON can hold.
        """
        self._handle(messages)

    def lock(self, key: str) -> tuple[str, AbstractContextManager[t.Any]]:
        """Return the lock of a record, and its name. Who holds it until the event of a
        write has left knows that events of the record leave in the order of the writes.

        :param key: What the record is known by.
        """
        number = zlib.crc32(key.encode()) % LOCKS
        return f"events {number:02}", self._locked(number)

    @contextmanager
    def _locked(self, number: int) -> Iterator[None]:
        lock = self._locks[number]
        is_ours = lock.acquire(timeout=LOCK_TIMEOUT)

        if not is_ours:
            logger.warning("An event has waited too long for the one before it.")

        try:
            with self._locked_elsewhere(number):
                yield
        finally:
            if is_ours:
                lock.release()

    def _locked_elsewhere(self, number: int) -> AbstractContextManager[t.Any]:
        return nullcontext()


class RedisBus(Bus):
    """Hands messages to all workers that listen to a channel of Redis. While Redis is
    away, the connections of this worker get theirs, and no call waits for Redis.

    :param handle: Handles the messages of a transaction.
    :param url: The URL of the Redis server.
    :param channel: The name of the channel. Those of the locks begin with it.
    """

    def __init__(self, handle: Handler, url: str, channel: str) -> None:
        import redis

        super().__init__(handle)
        self._redis = redis.Redis.from_url(
            url, socket_timeout=LOCK_TIMEOUT, socket_connect_timeout=LOCK_TIMEOUT
        )
        self._error = redis.RedisError
        self._channel = channel
        self._own = uuid.uuid4().hex
        self._is_away = False
        self._is_listening = False
        self._numbers = itertools.count()
        self._handled: OrderedDict[int, None] = OrderedDict()
        self._lost: dict[str, str] = {}
        self._held = threading.local()
        self._state = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen to the other workers from now on."""
        with self._starting:
            if self._thread is None:
                ready = threading.Event()
                self._thread = threading.Thread(
                    target=self._listen, args=(ready,), daemon=True
                )
                self._thread.start()
                ready.wait(LOCK_TIMEOUT)

    def publish(self, messages: Sequence[Record]) -> None:
        """Hand the messages of a transaction to all workers.

        :param messages: What JSON can hold.
        """
        for part in _parts(messages):
            self._publish(part)

    def _publish(self, messages: Sequence[bytes]) -> None:
        number = next(self._numbers)
        head = f'{{"from":"{self._own}","number":{number},"messages":['
        text = b"".join([head.encode(), b",".join(messages), b"]}"])

        # What comes back from Redis is in the order of all workers.
        if self._is_away or not self._is_listening:
            self._handle_here(number, text)

        if self._is_away:
            return

        try:
            self._redis.publish(self._channel, text)
        except self._error as error:
            self._tell_away(error)
            self._handle_here(number, text)

    def _handle_here(self, number: int, text: bytes) -> None:
        """Handle messages of this worker that do not come back from Redis, or are not
        to count if they do.
        """
        with self._state:
            if number in self._handled:
                return

            self._handled[number] = None

            if len(self._handled) > MAX_HANDLED:
                self._handled.popitem(last=False)

        self._handle(json.loads(text)["messages"])

    @contextmanager
    def _locked_elsewhere(self, number: int) -> Iterator[None]:
        held = self._held.__dict__.setdefault("numbers", set())

        # A receiver of an event may cause another one of the same record.
        if number in held:
            yield
            return

        name = f"{self._channel}:{number}"
        token = uuid.uuid4().hex
        is_ours = self._lock(name, token)
        held.add(number)

        try:
            yield
        finally:
            held.discard(number)

            if is_ours:
                self._unlock(name, token)

    def _lock(self, name: str, token: str) -> bool:
        """Return whether a lock could be taken in time."""
        deadline = time.monotonic() + LOCK_TIMEOUT
        lifetime = LOCK_LIFETIME * 1000

        while not self._is_away and time.monotonic() < deadline:
            try:
                if self._redis.set(name, token, nx=True, px=lifetime):
                    return True
            except self._error as error:
                self._lose(name, token, error)
                return False

            time.sleep(LOCK_PAUSE)

        return False

    def _unlock(self, name: str, token: str) -> None:
        with self._state:
            if self._is_away:
                self._lost[token] = name
                return

        try:
            self._redis.eval(UNLOCK, 1, name, token)
        except self._error as error:
            self._lose(name, token, error)

    def _lose(self, name: str, token: str, error: Exception) -> None:
        """Remember a lock that may be ours. Redis may carry out later what it did not
        answer in time.
        """
        self._lost[token] = name
        self._tell_away(error)

    def _listen(self, ready: threading.Event) -> None:
        while True:
            try:
                self._receive(ready)
            except (self._error, OSError) as error:
                self._is_listening = False
                self._tell_away(error)
                time.sleep(RETRY_PAUSE)

    def _receive(self, ready: threading.Event) -> None:
        with self._redis.pubsub() as subscription:  # type: ignore[no-untyped-call]  # it has no hints
            subscription.subscribe(self._channel)

            while True:
                received = subscription.get_message(timeout=1)

                if received is None:
                    continue

                if received["type"] == "subscribe":
                    self._is_listening = True
                    ready.set()
                elif received["type"] == "message":
                    self._take(received["data"])

    def _take(self, text: bytes) -> None:
        try:
            told = json.loads(text)

            if told["from"] != self._own:
                self._handle(told["messages"])
            else:
                self._handle_here(told["number"], text)
        except Exception:
            # The next message is another one.
            logger.exception("A message of another worker could not be handled.")

    def _tell_away(self, error: Exception) -> None:
        with self._state:
            was_away, self._is_away = self._is_away, True

        if not was_away:
            logger.warning("Events reach this worker alone, Redis is away: %s", error)
            threading.Thread(target=self._wait_for_redis, daemon=True).start()

    def _wait_for_redis(self) -> None:
        while not self._answers():
            time.sleep(RETRY_PAUSE)

        with self._state:
            self._is_away = False

        logger.warning("Redis is back: events reach all workers again.")

        for token, name in list(self._lost.items()):
            del self._lost[token]
            self._unlock(name, token)

    def _answers(self) -> bool:
        try:
            return bool(self._redis.ping())
        except (self._error, OSError):
            return False


def _parts(messages: Sequence[Record]) -> Iterator[list[bytes]]:
    """Yield the messages as JSON, in lists that are not too large for Redis."""
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
