"""A connection to PostgreSQL whose statements take a bounded time."""

from __future__ import annotations

import selectors
import time
import typing as t

import psycopg
import sqlalchemy as sa
from psycopg.pq import ExecStatus
from psycopg.pq import Format

from .broker import BrokerError

if t.TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

Value: t.TypeAlias = bytes | None
Row: t.TypeAlias = list[Value]

TIMEOUT: t.Final = 2
"""The seconds that a statement or a new connection may take."""

SETTINGS: t.Final = f"""\
SET statement_timeout = {TIMEOUT * 1000};
SET default_transaction_isolation = 'read committed';
SET synchronous_commit = off;
SET tcp_keepalives_idle = 5;
SET tcp_keepalives_interval = 1;
SET tcp_keepalives_count = 3;
SELECT set_config(name, '0', false) FROM pg_settings
    WHERE name = 'idle_session_timeout';
SELECT pg_backend_pid()::text;
"""
"""The settings of each connection. With them, PostgreSQL frees the locks of machines
that vanish, and ends no connection because it waits.
"""

POOLER: t.Final = (
    "A pooler, such as PgBouncer, stands before PostgreSQL. It breaks LISTEN and locks."
    " Name the server itself in the URL of the message queue."
)

# Another thread may close the connection.
ERRORS: t.Final = (psycopg.Error, OSError, ValueError, KeyError)

DONE: t.Final = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)


class Session:
    """A connection to PostgreSQL. After an error, it is closed.

    It is for one thread at a time, and cooperates with gevent.
    """

    def __init__(self, options: dict[str, t.Any]) -> None:
        """Connect.

        :param options: The options of ``psycopg.connect``.
        :raises BrokerError: That failed.
        """
        self._prepared: dict[str, bytes] = {}
        self.is_open = True
        """``False`` once there was an error."""

        try:
            self._connection = psycopg.connect(
                **{"connect_timeout": TIMEOUT, **options}, autocommit=True
            )
        except psycopg.Error as error:
            raise BrokerError(str(error)) from error

        self._connected = self._connection.pgconn
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._connected.socket, selectors.EVENT_READ)
        ((pid,),) = self.run_script(SETTINGS)

        if int(pid or 0) != self._connected.backend_pid:
            self.close()
            raise BrokerError(POOLER)

    def run_script(self, script: str) -> list[Row]:
        """Run statements in one transaction, and return the rows of the last one."""
        return self._run(lambda: self._connected.send_query(script.encode()), TIMEOUT)

    def run(
        self, statement: str, *values: Value, timeout: float = TIMEOUT
    ) -> list[Row]:
        """Run one statement, which is prepared once, and return its rows.

        :raises BrokerError: It failed, or took too long.
        """
        name = self._prepared.get(statement)

        if name is None:
            name = f"statement_{len(self._prepared)}".encode()
            text = statement.encode()
            self._run(lambda: self._connected.send_prepare(name, text), timeout)
            self._prepared[statement] = name

        formats = [Format.BINARY] * len(values)
        return self._run(
            lambda: self._connected.send_query_prepared(
                name, list(values), formats, Format.BINARY
            ),
            timeout,
        )

    def wait(self, timeout: float) -> bool:
        """Wait for a notification, and return whether there was one."""
        deadline = time.monotonic() + timeout

        try:
            while not self._take_notifications():
                if not self._select(selectors.EVENT_READ, deadline):
                    return False

                self._connected.consume_input()
        except ERRORS as error:
            raise self._failure(error) from error

        return True

    @property
    def user(self) -> str:
        """The name of the user in PostgreSQL."""
        return self._connected.user.decode()

    def close(self) -> None:
        """Close the connection. Its locks are free then."""
        if self.is_open:
            self.is_open = False
            self._selector.close()
            self._connection.close()

    def _run(self, send: t.Callable[[], None], timeout: float) -> list[Row]:
        deadline = time.monotonic() + timeout

        try:
            send()
            self._flush(deadline)
            result = self._last_result(deadline)
        except ERRORS as error:
            raise self._failure(error) from error

        return [
            [result.get_value(row, column) for column in range(result.nfields)]
            for row in range(result.ntuples)
        ]

    def _flush(self, deadline: float) -> None:
        while self._connected.flush():
            self._wait_for(selectors.EVENT_READ | selectors.EVENT_WRITE, deadline)
            self._connected.consume_input()

    def _last_result(self, deadline: float) -> PGresult:
        last = None

        while True:
            while self._connected.is_busy():
                self._wait_for(selectors.EVENT_READ, deadline)
                self._connected.consume_input()

            result = self._connected.get_result()

            if result is None:
                break

            if last is None or last.status in DONE:
                last = result

        if last is None or last.status not in DONE:
            raise psycopg.OperationalError(_message_of(last))

        return last

    def _wait_for(self, events: int, deadline: float) -> None:
        if not self._select(events, deadline):
            raise psycopg.OperationalError("PostgreSQL does not answer.")

    def _select(self, events: int, deadline: float) -> bool:
        self._selector.modify(self._connected.socket, events)
        return bool(self._selector.select(max(0, deadline - time.monotonic())))

    def _take_notifications(self) -> bool:
        has_any = False

        while self._connected.notifies():
            has_any = True

        return has_any

    def _failure(self, error: Exception) -> BrokerError:
        self.close()
        return BrokerError(str(error).strip())


def options_of(url: str) -> dict[str, t.Any]:
    """Return the options of ``psycopg.connect`` for a URL of SQLAlchemy, whatever its
    driver.

    :raises ValueError: The URL is invalid.
    """
    try:
        parsed = sa.make_url(url).set(drivername="postgresql+psycopg")
    except sa.exc.ArgumentError as error:
        raise ValueError("it can't be parsed.") from error

    _, options = parsed.get_dialect()().create_connect_args(parsed)
    return {name: value for name, value in options.items() if name != "context"}


def _message_of(result: PGresult | None) -> str:
    if result is None:
        return "PostgreSQL gave no answer."

    return result.error_message.decode("utf-8", "replace").strip()
