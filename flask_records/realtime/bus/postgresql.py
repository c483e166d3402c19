"""The log of workers in a table of PostgreSQL."""

from __future__ import annotations

import hashlib
import threading
import time
import typing as t
from contextlib import contextmanager

from .broker import BrokerError
from .broker import Entry
from .broker import Lost
from .postgresql_session import options_of
from .postgresql_session import Session
from .postgresql_session import TIMEOUT

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .postgresql_session import Row

MAX_NAME: t.Final = 63
"""The maximum size in bytes of a name in PostgreSQL."""

MAX_DIGITS: t.Final = 18
"""The number of digits that a ``bigint`` can have."""

READ_SIZE: t.Final = 200
"""The maximum number of entries that are read at once."""

APPEND_TIMEOUT: t.Final = 1.5
"""The seconds after which PostgreSQL does not append an entry, its wait for the
connection included, which is less than the sender waits.
"""

RECENT_TIMEOUT: t.Final = 15
"""The seconds that it may take to read all entries."""

MAX_SIZE: t.Final = 64 * 1024 * 1024
"""The bytes that entries may take."""

TRIM_PAUSE: t.Final = 500
"""The number of entries after which old ones are deleted."""

TRIM_SIZE: t.Final = 16 * 1024 * 1024
"""The bytes of a worker's entries after which old ones are deleted."""

TABLE: t.Final = """\
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE UNLOGGED TABLE IF NOT EXISTS {schema}.entry (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time bigint NOT NULL
        DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    data bytea
);
"""
"""An unlogged table costs no writes to disk. It is empty after a crash."""

GRANTS: t.Final = """\
GRANT USAGE ON SCHEMA {schema} TO {user};
GRANT SELECT, INSERT, DELETE ON {schema}.entry TO {user};
"""
"""The rights of a user who may not make the table."""

APPEND: t.Final = """\
WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock($1::bigint)),
added AS (
    INSERT INTO {schema}.entry (data) SELECT $2::bytea FROM turn
    WHERE extract(epoch FROM clock_timestamp()) * 1000000 < $4::bigint
    RETURNING id, time
)
SELECT id, time, pg_notify($3::text, '') FROM added
"""
"""Entries become visible in the order of their ids, since a lock is held until the
commit. A notification tells no more than that there is an entry. A worker that has
given up on an entry has sent it to its own connections, so it must not come later.
"""

CLOCK: t.Final = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

READ: t.Final = """\
SELECT id, time, CASE WHEN id > $1::bigint THEN data END FROM {schema}.entry
WHERE id >= $1::bigint ORDER BY id LIMIT $2::bigint
"""
"""The first row is the last one that was read, unless entries are lost."""

END: t.Final = "SELECT id, time FROM {schema}.entry ORDER BY id DESC LIMIT 1"

RECENT: t.Final = """\
SELECT id, time, data FROM {schema}.entry
WHERE time >= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - $1::bigint
ORDER BY id DESC LIMIT $2::bigint
"""

TRIM: t.Final = """\
WITH sized AS (
    SELECT id, time, sum(octet_length(data)) OVER (ORDER BY id DESC) AS size
    FROM {schema}.entry WHERE id > $1::bigint AND id <= $2::bigint
),
deleted AS (
    DELETE FROM {schema}.entry WHERE id > $1::bigint AND id <= (
        SELECT max(id) FROM sized WHERE id < $2::bigint
        AND (id <= $2::bigint - $3::bigint OR time < $4::bigint OR size > $5::bigint)
    )
    RETURNING id
)
SELECT coalesce(max(id), $1::bigint) FROM deleted
"""
"""The last entry stays. Rows that were deleted earlier are not looked at again: while
a long transaction runs elsewhere, PostgreSQL can't remove them.
"""


class PostgreSQLBroker:
    """Keeps the log in a table of PostgreSQL, and has two connections. Locks are
    advisory locks, which PostgreSQL frees with the connection of a worker.
    """

    def __init__(
        self, url: str, channel: str, *, max_age: float = 120, max_entries: int = 10_000
    ) -> None:
        """
        :param channel: The name of the schema with the table.
        :param max_age: The seconds after which an entry may be deleted.
        :param max_entries: The number of entries that are kept, and up to
            ``TRIM_PAUSE`` more.
        :raises RuntimeError: The name is too long.
        """
        if len(channel.encode()) > MAX_NAME:
            raise RuntimeError(
                f"The channel '{channel}' is too long for PostgreSQL, whose names have"
                f" at most {MAX_NAME} bytes."
            )

        self._options = {"application_name": channel, **options_of(url)}
        self._channel = channel
        self._schema = _quoted(channel)
        self._max_age = max_age
        self._max_entries = max_entries
        self._session: Session | None = None
        self._turn = threading.Lock()
        self._held: dict[str, str] = {}
        self._clock = 0
        self._trimmed = 0
        self._size = 0
        self._reader: Session | None = None
        self._is_read_to: str | None = None
        self._is_closed = False

    def append(self, data: bytes) -> str:
        """Append an entry, and return its id."""
        deadline = time.monotonic() + APPEND_TIMEOUT

        with self._used_session(APPEND_TIMEOUT) as session:
            return self._append(session, data, deadline)

    def _append(self, session: Session, data: bytes | None, deadline: float) -> str:
        rows = session.run(
            self._filled(APPEND),
            _integer(_lock_number(self._channel, "append")),
            data,
            self._channel.encode(),
            _integer(self._clock + _micro(deadline)),
        )

        if not rows:
            # Its clock may have been set.
            session.close()
            raise BrokerError("PostgreSQL has come to an entry too late.")

        ((id, entry_time, _),) = rows

        self._size += len(data or b"")

        if _number(id) % TRIM_PAUSE == 0 or self._size > TRIM_SIZE:
            self._size = 0
            self._trim(session, _number(id), _number(entry_time))

        return _id([id, entry_time])

    def _trim(self, session: Session, last: int, now: int) -> None:
        oldest = now - _micro(self._max_age)
        bounds = [self._trimmed, last, self._max_entries, oldest, MAX_SIZE]
        ((trimmed,),) = session.run(self._filled(TRIM), *map(_integer, bounds))
        self._trimmed = _number(trimmed)

    def end(self) -> str:
        """Return the id of the last entry."""
        with self._used_session() as session:
            rows = session.run(self._filled(END))

            if rows:
                return _id(rows[0])

            # An empty entry tells the beginning of the log.
            deadline = time.monotonic() + APPEND_TIMEOUT
            return self._append(session, None, deadline)

    def recent(self) -> list[Entry]:
        """Return the entries that are kept, in their order."""
        bounds = map(_integer, (_micro(self._max_age), self._max_entries))

        with self._used_session() as session:
            statement = self._filled(RECENT)
            rows = session.run(statement, *bounds, timeout=RECENT_TIMEOUT)

        return _entries(reversed(rows))

    def read(self, after: str, timeout: float) -> list[Entry]:
        """Wait for entries, and return them in their order.

        :raises Lost: Some of them are not kept any more, or the log has begun anew.
        """
        deadline = time.monotonic() + timeout

        while True:
            reader = self._connected_reader()
            remaining = deadline - time.monotonic()

            if self._is_read_to == after and not reader.wait(max(0, remaining)):
                return []

            rows = self._rows(reader, after)
            entries = _entries(rows)
            self._is_read_to = None if len(rows) == READ_SIZE else _id(rows[-1])

            if entries:
                return entries

            self._is_read_to = after

    def _rows(self, reader: Session, after: str) -> list[Row]:
        number = _number_of(after)
        statement = self._filled(READ)
        rows = reader.run(statement, _integer(number), _integer(READ_SIZE))

        if not rows or _id(rows[0]) != after:
            raise Lost(f"The entry {after} is not kept any more.")

        return rows

    def _connected_reader(self) -> Session:
        if self._reader is None or not self._reader.is_open:
            self._is_read_to = None
            self._reader = self._connect()
            self._reader.run_script(f"LISTEN {self._schema}")

        # It may have been closed by another thread meanwhile.
        if self._is_closed:
            self._reader.close()
            raise BrokerError("The broker is closed.")

        return self._reader

    def lock(self, name: str, token: str, lifetime: float) -> bool:
        """Take a lock unless it is held, and return whether it was taken.

        :param lifetime: Has no effect: PostgreSQL frees the locks of a worker that was
            killed at once.
        """
        with self._used_session() as session:
            # PostgreSQL would give it to the same connection again.
            if name in self._held:
                return False

            number = _integer(_lock_number(self._channel, name))
            ((is_taken,),) = session.run(
                "SELECT pg_try_advisory_lock($1::bigint)", number
            )

            if is_taken == b"\1":
                self._held[name] = token

            return is_taken == b"\1"

    def unlock(self, name: str, token: str) -> None:
        """Free a lock if it is still held under this token."""
        with self._used_session() as session:
            if self._held.get(name) == token:
                number = _integer(_lock_number(self._channel, name))
                session.run("SELECT pg_advisory_unlock($1::bigint)", number)
                del self._held[name]

    def close(self) -> None:
        """Close the connections to PostgreSQL."""
        self._is_closed = True

        for session in (self._session, self._reader):
            if session is not None:
                session.close()

    @contextmanager
    def _used_session(self, timeout: float = TIMEOUT) -> Iterator[Session]:
        """Yield the connection for all but reading, which threads use in turn.

        :param timeout: The seconds to wait for others.
        """
        if not self._turn.acquire(timeout=timeout):
            raise BrokerError("PostgreSQL does not answer.")

        try:
            if self._session is None or not self._session.is_open:
                self._held.clear()
                self._session = self._connect()
                ((clock,),) = self._session.run(CLOCK)
                self._clock = _number(clock) - _micro(time.monotonic())

            yield self._session
        finally:
            self._turn.release()

    def _connect(self) -> Session:
        if self._is_closed:
            raise BrokerError("The broker is closed.")

        session = Session(self._options)
        ((has_table,),) = session.run(
            "SELECT to_regclass($1::text) IS NOT NULL", f"{self._schema}.entry".encode()
        )

        if has_table != b"\1":
            self._make_table(session)

        return session

    def _make_table(self, session: Session) -> None:
        number = _lock_number(self._channel, "table")
        turn = f"SELECT pg_advisory_xact_lock({number});"
        script = self._filled(TABLE + GRANTS, user=_quoted(session.user))

        try:
            session.run_script(turn + self._filled(TABLE))
        except BrokerError as error:
            raise BrokerError(
                f"The table of the message queue can't be made: {error}. Run this as"
                f" the owner of the database:\n{script}"
            ) from error

    def _filled(self, statement: str, **names: str) -> str:
        return statement.format(schema=self._schema, **names)


def _entries(rows: t.Iterable[Row]) -> list[Entry]:
    return [Entry(_id(row), row[2]) for row in rows if row[2] is not None]


def _id(row: Row) -> str:
    """Return an id that no other entry has, even if the numbers begin again after a
    crash.
    """
    return f"{_number(row[0])}-{_number(row[1])}"


def _number_of(id: str) -> int:
    number = id.partition("-")[0]

    if not number.isdecimal() or len(number) > MAX_DIGITS:
        raise Lost(f"'{id}' is not an id of this log.")

    return int(number)


def _number(value: bytes | None) -> int:
    return int.from_bytes(value or b"", signed=True)


def _integer(number: int) -> bytes:
    return number.to_bytes(8, signed=True)


def _micro(seconds: float) -> int:
    return int(seconds * 1_000_000)


def _lock_number(channel: str, name: str) -> int:
    """Return the number of an advisory lock. All locks of a database share them."""
    digest = hashlib.sha256(f"{channel}\0{name}".encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
