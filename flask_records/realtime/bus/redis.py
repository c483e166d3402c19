"""The log that workers share, in a stream of Redis."""

from __future__ import annotations

import math
import re
import threading
import time
import typing as t
from contextlib import contextmanager

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TIMEOUT: t.Final = 2
"""The seconds that Redis has to answer."""

BLOCK: t.Final = 1
"""The seconds that Redis waits for entries at a time."""

READ_SIZE: t.Final = 100
"""The maximum number of entries that are read at once."""

TRIM_INTERVAL: t.Final = 1
"""The seconds after which a worker that appends deletes old entries."""

MAX_MEMORY: t.Final = 64 * 1024 * 1024
"""The memory in bytes that entries may take."""

UNLOCK: t.Final = """\
if redis.call("get", KEYS[1]) == ARGV[1] then
    return redis.call("del", KEYS[1])
end
return 0
"""
"""Deletes a lock if it is still held under this token."""

END: t.Final = """\
local last = redis.call("xrevrange", KEYS[1], "+", "-", "count", 1)
if #last == 0 then
    return redis.call("xadd", KEYS[1], "*", "start", "")
end
return last[1][1]
"""
"""Returns the id of the last entry. A log begins with an entry that is no message."""

HAS: t.Final = """\
return #redis.call("xrange", KEYS[1], ARGV[1], ARGV[1])
"""
"""Returns how many entries have an id."""

TRIM: t.Final = """\
local now = redis.call("time")
local oldest = string.format("%d-0", math.max(0, (now[1] - ARGV[1]) * 1000))
local last = redis.call("xrevrange", KEYS[1], "(" .. oldest, "-", "count", 1)
if #last > 0 then
    redis.call("xtrim", KEYS[1], "minid", last[1][1])
end
if redis.call("memory", "usage", KEYS[1]) > tonumber(ARGV[2]) then
    redis.call("xtrim", KEYS[1], "maxlen", math.ceil(redis.call("xlen", KEYS[1]) / 2))
end
"""
"""Deletes old entries, and half of all if they take too much memory. The last of the
old ones stays: a worker may have read to there.
"""


class BrokerError(Exception):
    """Redis is not available. The call may be repeated."""


class Lost(Exception):
    """Entries that a worker has not read are not kept any more."""


class Entry(t.NamedTuple):
    """An entry of the log."""

    id: str
    """The id, which tells where the log goes on."""

    data: bytes
    """The data that a worker has appended."""


class RedisBroker:
    """Keeps a log in a stream of Redis, under one name. All workers append to it, and
    read it in one order. It keeps the latest entries only.

    Several threads may append and lock, while one reads, by a connection of its own.
    Each method raises :class:`BrokerError` while Redis is not available. A Redis that
    has started again may have lost the last entries, so that readers learn of that as
    if it were sure.

    :param url: The URL of Redis.
    :param channel: The prefix of all names.
    :param max_age: The seconds after which an entry may be deleted.
    :param max_entries: The number of entries that are kept, and up to a hundred more.
    """

    def __init__(
        self, url: str, channel: str, *, max_age: float = 120, max_entries: int = 10_000
    ) -> None:
        self._name = f"{channel}:log"
        self._channel = channel
        self._max_age = max_age
        self._max_entries = max_entries
        self._client = redis.Redis.from_url(url, **_options(url, TIMEOUT))
        pool = redis.ConnectionPool.from_url(url, **_options(url, BLOCK + TIMEOUT))
        self._connection = t.cast(t.Any, pool.make_connection())
        self._connection.register_connect_callback(self._ask_process)
        self._reading = threading.Lock()
        self._process: str | None = None
        self._last_process: str | None = None
        self._trimmed_at = time.monotonic()
        self._is_closed = False

    def append(self, data: bytes) -> str:
        """Append an entry, and return its id."""
        bound = ("MAXLEN", "~", self._max_entries)
        id = self._call("XADD", self._name, *bound, "*", "data", data)

        if time.monotonic() - self._trimmed_at > TRIM_INTERVAL:
            self._trimmed_at = time.monotonic()
            age = math.ceil(self._max_age)
            self._call("EVAL", TRIM, 1, self._name, age, MAX_MEMORY)

        return t.cast(bytes, id).decode()

    def end(self) -> str:
        """Return the id of the last entry, or one that stands before the first."""
        (id,) = self._ask(("EVAL", END, 1, self._name))
        self._last_process = self._process
        return t.cast(bytes, id).decode()

    def recent(self) -> list[Entry]:
        """Return the entries that are kept, in their order."""
        entries: list[Entry] = []
        start = "-"

        while True:
            page = ("COUNT", READ_SIZE)
            (rows,) = self._ask(("XRANGE", self._name, start, "+", *page))
            entries += _entries(rows)

            if len(rows) < READ_SIZE:
                self._last_process = self._process
                return entries

            start = f"({rows[-1][0].decode()}"

    def read(self, after: str, timeout: float) -> list[Entry]:
        """Wait for entries, and return them in their order.

        :param after: The id of the last entry that was read.
        :param timeout: The seconds after which it returns no entries.
        :raises Lost: Some of them are not kept any more, or Redis has started again.
        """
        deadline = time.monotonic() + timeout

        while True:
            remaining = deadline - time.monotonic()
            entries = self._read(after, min(BLOCK, remaining))

            if entries or remaining <= BLOCK:
                return entries

    def _read(self, after: str, timeout: float) -> list[Entry]:
        # Redis waits without a limit for 0.
        block = ("BLOCK", math.ceil(timeout * 1000)) if timeout > 0 else ()
        streams = ("STREAMS", self._name, after)
        rows, count = self._ask(
            ("XREAD", "COUNT", READ_SIZE, *block, *streams),
            ("EVAL", HAS, 1, self._name, after),
        )
        last, self._last_process = self._last_process, self._process

        # As long as the first entry is there, all others are.
        if count != 1:
            raise Lost(f"The entry {after} is not kept any more.")

        if last not in (None, self._process):
            raise Lost("Redis has started again.")

        if isinstance(rows, dict):
            return _entries(rows.popitem()[1])

        return _entries(rows[0][1]) if rows else []

    def lock(self, name: str, token: str, lifetime: float) -> bool:
        """Take a lock unless it is held, and return whether it was taken.

        :param token: Tells the holder from others.
        :param lifetime: The seconds after which the lock of a worker that was killed
            is free.
        """
        key, lifetime = f"{self._channel}:{name}", math.ceil(lifetime * 1000)
        return bool(self._call("SET", key, token, "NX", "PX", lifetime))

    def unlock(self, name: str, token: str) -> None:
        """Free a lock if it is still held under this token."""
        self._call("EVAL", UNLOCK, 1, f"{self._channel}:{name}", token)

    def close(self) -> None:
        """Close the connections to Redis."""
        self._is_closed = True
        self._client.close()

    def _call(self, *command: t.Any) -> t.Any:
        """Return the answer to a command, which any thread may ask for."""
        with self._translated_errors():
            return self._client.execute_command(*command)  # type: ignore[no-untyped-call]  # it has no hints

    def _ask(self, *commands: tuple[t.Any, ...]) -> list[t.Any]:
        """Return the answers to commands of the thread that reads."""
        connection = self._connection

        with self._reading, self._translated_errors():
            try:
                connection.send_packed_command(connection.pack_commands(commands))
                answers = [_answer(connection) for _ in commands]
            except BaseException:
                # Later answers would be taken for those of other commands.
                connection.disconnect()
                raise

        return answers

    def _ask_process(self, connection: t.Any) -> None:
        """Note which process of Redis a new connection leads to."""
        connection.send_command("INFO", "server")

        try:
            match = re.search(rb"run_id:(\w+)", _answer(connection))
        except redis.exceptions.NoPermissionError:
            match = None

        self._process = match[1].decode() if match else None

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        if self._is_closed:
            raise BrokerError("The connections to Redis are closed.")

        try:
            yield
        except (redis.RedisError, OSError) as error:
            raise BrokerError(str(error)) from error


def _options(url: str, timeout: float) -> dict[str, t.Any]:
    """Return the options of connections that wait at most some seconds, and send no
    command twice.
    """
    options = {"socket_timeout": timeout, "retry": Retry(NoBackoff(), 0)}

    # Connections to a socket file take no such option in all versions.
    if not url.startswith("unix:"):
        options["socket_connect_timeout"] = TIMEOUT

    return options


def _answer(connection: t.Any) -> t.Any:
    """Return the answer to a command, or ``None`` if it names an invalid id."""
    try:
        return connection.read_response(disable_decoding=True)
    except redis.ResponseError as error:
        if "Invalid stream ID" in str(error):
            return None

        raise


def _entries(rows: Sequence[t.Any]) -> list[Entry]:
    return [
        Entry(id.decode(), fields[1]) for id, fields in rows if fields[0] == b"data"
    ]
