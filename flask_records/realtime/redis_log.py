"""The log that several workers share, in a stream of Redis."""

from __future__ import annotations

import logging
import threading
import time
import typing as t
from contextlib import suppress

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .log import Log, LOST, MAX_BYTES, MAX_ENTRIES

if t.TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger(__package__)

TIMEOUT: t.Final = 2
"""The seconds that Redis has to answer."""

BLOCK: t.Final = 1
"""The maximum seconds that Redis waits for entries at a time."""

PAUSE: t.Final = 0.5
"""The seconds between two attempts to reach Redis."""

READ_SIZE: t.Final = 100
"""The maximum number of entries that are read at once."""

LOOK_SIZE: t.Final = 4 * 1024 * 1024
"""The bytes that a process writes between two looks at the size of the stream."""

NOT_WRITABLE: t.Final = """\
RECORDS_REALTIME['message_queue'] does not take events: {error}. It must be a single \
Redis that may be written, not a node of a cluster.\
"""

ERRORS: t.Final = (redis.RedisError, OSError)


class RedisLog(Log):
    """The entries of all processes, in the order in which they reach Redis.

    While Redis is away, entries are dropped, and no write waits for it. Once
    Redis is back, an entry announces the loss. Nobody can know what a Redis has kept to
    which the connection broke, so that its reader takes entries for lost, too.

    :param url: The URL of Redis.
    :param channel: The prefix of the stream's name.
    :raises RuntimeError: The URL is invalid.
    """

    def __init__(self, url: str, channel: str) -> None:
        super().__init__()
        self._name = f"{channel}:log"
        self._url = url

        try:
            self._writer: t.Any = _client(url, TIMEOUT)
        except ValueError as error:
            raise RuntimeError(
                f"RECORDS_REALTIME['message_queue'] is not a valid URL: {error}"
            ) from error

        self._reader: t.Any = None
        self._position = b""
        self._is_away = self._has_missed = False
        self._total = 0

    def start(self) -> None:
        """Begin to read: what is appended from now on."""
        if self._reader is None:
            self.read(0)

    def check(self) -> None:
        """Refuse a Redis that does not take the log.

        :raises RuntimeError: It refuses to write.
        :raises ConnectionError: It is away, and may come back.
        """
        try:
            self._writer.xadd(self._name, {"entry": b"{}"}, maxlen=MAX_ENTRIES)
        except (redis.ResponseError, redis.AuthenticationError) as error:
            raise RuntimeError(NOT_WRITABLE.format(error=error)) from error
        except ERRORS as error:
            raise ConnectionError(f"The message queue is away: {error}") from error

    def read(self, timeout: float) -> list[bytes]:
        """Wait for entries, and return them in their order."""
        try:
            return self._read(min(timeout, BLOCK))
        except ERRORS as error:
            if not self._has_missed:
                logger.warning("Events do not arrive from the message queue: %s", error)

            self._reader, self._has_missed = None, True
            time.sleep(min(timeout, PAUSE))
            return []

    def _read(self, timeout: float) -> list[bytes]:
        if self._reader is None:
            # A pool of connections would connect again without telling.
            options = {"single_connection_client": True}
            self._reader = _client(self._url, BLOCK + TIMEOUT, **options)
            self._position = self._end_of_stream()
            has_missed, self._has_missed = self._has_missed, False
            return [LOST] if has_missed else []

        # Redis waits without a limit for 0.
        block = max(1, int(timeout * 1000))
        streams = self._reader.xread({self._name: self._position}, READ_SIZE, block)
        rows = streams[0][1] if streams else []

        # A reader that is so far behind may have been overtaken.
        if len(rows) == READ_SIZE and self._is_trimmed(self._position):
            self._position = self._end_of_stream()
            return [LOST]

        if rows:
            self._position = rows[-1][0]

        return [entry for _, fields in rows for entry in fields.values()]

    def _end_of_stream(self) -> bytes:
        """Return the id of the last entry. A new stream gets one that means nothing."""
        last = self._reader.xrevrange(self._name, count=1)
        id = last[0][0] if last else self._reader.xadd(self._name, {"entry": b"{}"})
        return t.cast(bytes, id)

    def _is_trimmed(self, id: bytes) -> bool:
        """Return whether entries after an id may not be kept any more."""
        first = self._reader.xrange(self._name, count=1)
        return not first or _numbers(first[0][0]) > _numbers(id)

    def _write(self, entries: Sequence[bytes]) -> None:
        if self._is_away:
            return

        try:
            with self._writer.pipeline(transaction=False) as pipeline:
                for entry in entries:
                    pipeline.xadd(self._name, {"entry": entry}, maxlen=MAX_ENTRIES)

                pipeline.execute()

            self._total += sum(map(len, entries))

            if self._total > LOOK_SIZE:
                self._total = 0
                self._trim()
        except ERRORS as error:
            self._is_away = True
            logger.warning("Events are lost. The message queue is away: %s", error)
            threading.Thread(target=self._come_back, daemon=True).start()

    def _trim(self) -> None:
        """Drop the oldest entries of a stream that has too many bytes."""
        size = self._writer.memory_usage(self._name) or 0

        if size > MAX_BYTES:
            length = self._writer.xlen(self._name)
            self._writer.xtrim(self._name, length * MAX_BYTES // (2 * size))

    def _come_back(self) -> None:
        """Wait for Redis, and tell all workers that entries are lost."""
        while self._is_away:
            time.sleep(PAUSE)

            with suppress(*ERRORS):
                # A Redis that was the primary keeps its connections.
                self._writer.connection_pool.disconnect()
                # No write waits for it.
                self._writer.ping()

                with self._writing:
                    self._writer.xadd(self._name, {"entry": LOST}, maxlen=MAX_ENTRIES)
                    self._is_away = False

        logger.warning("The message queue is available again. Clients load anew.")


def _client(url: str, timeout: float, **options: t.Any) -> t.Any:
    """Return a client that waits at most some seconds, and sends no command twice."""
    options |= {"protocol": 2, "socket_timeout": timeout}
    return redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), **options)


def _numbers(id: bytes) -> tuple[int, ...]:
    """Return an id in a form that can be compared."""
    return tuple(map(int, id.split(b"-")))
