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
from collections import deque
from contextlib import AbstractContextManager
from contextlib import contextmanager
from contextlib import nullcontext

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from ..typing import Record

    Handler: t.TypeAlias = Callable[[Sequence[Record]], None]

logger = logging.getLogger(__package__)

STRIPES: t.Final = 64
"""How many locks the records share."""

PATIENCE: t.Final = 2
"""How many seconds an event waits for the one before it."""

REMEMBERED: t.Final = 1000
"""How many messages are known to have been handled."""

RETRY: t.Final = 0.5
"""How many seconds pass until Redis is tried again."""


class Bus:
    """Hands messages to the connections of this worker.

    :param handle: Handles a message.
    """

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._locks = [threading.RLock() for _ in range(STRIPES)]

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
        stripe = zlib.crc32(key.encode()) % STRIPES
        return f"events {stripe:02}", self._locked(stripe)

    @contextmanager
    def _locked(self, stripe: int) -> Iterator[None]:
        lock = self._locks[stripe]
        is_ours = lock.acquire(timeout=PATIENCE)

        if not is_ours:
            logger.warning("An event has waited too long for the one before it.")

        try:
            with self._locked_elsewhere(stripe):
                yield
        finally:
            if is_ours:
                lock.release()

    def _locked_elsewhere(self, stripe: int) -> AbstractContextManager[t.Any]:
        return nullcontext()


class RedisBus(Bus):
    """Hands messages to all workers that listen to a channel of Redis. While Redis is
    away, the connections of this worker get theirs.

    :param handle: Handles a message.
    :param url: The URL of the Redis server.
    :param channel: The name of the channel.
    """

    def __init__(self, handle: Handler, url: str, channel: str) -> None:
        import redis

        super().__init__(handle)
        self._redis = redis.Redis.from_url(
            url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
        )
        self._error = redis.RedisError
        self._channel = channel
        self._own = uuid.uuid4().hex
        self._is_away = False
        self._is_listening = False
        self._numbers = itertools.count()
        self._handled: deque[int] = deque(maxlen=REMEMBERED)
        self._next_try = 0.0
        self._held = threading.local()
        self._starting = threading.Lock()
        self._telling = threading.Lock()
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
                ready.wait(PATIENCE)

    def publish(self, messages: Sequence[Record]) -> None:
        """Hand the messages of a transaction to all workers.

        :param messages: What JSON can hold.
        """
        # What comes back from Redis is in the order of all workers.
        number = next(self._numbers)

        if self._is_away or not self._is_listening:
            self._handle_here(number, messages)

        if self._is_away and time.monotonic() < self._next_try:
            return

        said = {"from": self._own, "number": number, "messages": messages}

        try:
            self._redis.publish(self._channel, json.dumps(said))
        except self._error as error:
            self._tell_away(error)
            self._handle_here(number, messages)
        else:
            self._tell_back()

    def _handle_here(self, number: int, messages: Sequence[Record]) -> None:
        """Handle a message of this worker that does not come back from Redis, or is
        not to count if it does.
        """
        if number not in self._handled:
            self._handled.append(number)
            self._handle(messages)

    @contextmanager
    def _locked_elsewhere(self, stripe: int) -> Iterator[None]:
        held = self._held.__dict__.setdefault("stripes", set())

        # A receiver of an event may cause another one of the same record.
        if stripe in held or self._is_away:
            yield
            return

        lock = self._redis.lock(
            f"{self._channel}:{stripe}",
            timeout=10 * PATIENCE,
            blocking_timeout=PATIENCE,
            sleep=0.002,
        )

        try:
            is_ours = lock.acquire()
        except self._error as error:
            self._tell_away(error)
            is_ours = False

        held.add(stripe)

        try:
            yield
        finally:
            held.discard(stripe)

            if is_ours:
                self._release(lock)

    def _release(self, lock: t.Any) -> None:
        try:
            lock.release()
        except self._error as error:
            # It has expired, or Redis has gone: nobody waits for it any more.
            logger.warning("A lock of events was lost: %s", error)

    def _listen(self, ready: threading.Event) -> None:
        while True:
            try:
                self._receive(ready)
            except (self._error, OSError) as error:
                self._is_listening = False
                self._tell_away(error)
                time.sleep(RETRY)

    def _receive(self, ready: threading.Event) -> None:
        with self._redis.pubsub() as subscription:  # type: ignore[no-untyped-call]  # it has no hints
            subscription.subscribe(self._channel)

            while True:
                received = subscription.get_message(timeout=1)

                if received is None:
                    continue

                self._tell_back()

                if received["type"] == "subscribe":
                    self._is_listening = True
                    ready.set()
                elif received["type"] == "message":
                    self._take(received["data"])

    def _take(self, text: bytes) -> None:
        try:
            said = json.loads(text)

            if said["from"] != self._own:
                self._handle(said["messages"])
            else:
                self._handle_here(said["number"], said["messages"])
        except Exception:
            # The next message is another one.
            logger.exception("A message of another worker could not be handled.")

    def _tell_away(self, error: Exception) -> None:
        # The listening thread and those that publish notice it at the same time.
        with self._telling:
            was_away, self._is_away = self._is_away, True

        if not was_away:
            logger.warning("Events reach this worker alone, Redis is away: %s", error)

        self._next_try = time.monotonic() + 4 * RETRY

    def _tell_back(self) -> None:
        with self._telling:
            was_away, self._is_away = self._is_away, False

        if was_away:
            logger.warning("Redis is back: events reach all workers again.")
