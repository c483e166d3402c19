"""Connections, prepared to read or to write."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .database_errors import translated

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

BUSY_TIMEOUT: t.Final = 20_000
"""The milliseconds that a write waits on SQLite until others have written."""

ENGINE_EVENTS: t.Final = ("begin", "before_execute", "before_cursor_execute")
"""The events of an engine by which an application prepares its transactions."""

IDLE: t.Final = 0
FAILED: t.Final = 3
"""The states of a transaction, as PostgreSQL's drivers number them: there is none, and
one in which a statement has failed.
"""

PREPARED: t.Final = "records_prepared"
"""The key in the ``info`` of a connection that is prepared to write."""

IS_UNDONE: t.Final = "records_undone"
"""The key in the ``info`` of a connection whose transaction an error has ended."""

PACKAGE: t.Final = __name__.partition(".")[0]
"""The name of this package."""

DEADLOCK: t.Final = 1213
"""The code of the error with which MySQL and MariaDB end a transaction."""


def listens(dispatch: t.Any, names: Collection[str]) -> bool:
    """Return ``True`` if somebody listens to one of some events.

    :param dispatch: The ``dispatch`` of the object that has the events.
    """
    return any([getattr(dispatch, name) for name in names])


def application_listens(dispatch: t.Any, names: Collection[str]) -> bool:
    """Return ``True`` if the application listens to one of some events, which this
    package may listen to, too.

    :param dispatch: The ``dispatch`` of the object that has the events.
    """
    return listens(dispatch, names) and any(
        _module_of(listener).partition(".")[0] != PACKAGE
        for name in names
        for listener in getattr(dispatch, name)
    )


def _module_of(listener: t.Any) -> str:
    return getattr(listener, "__module__", None) or ""


def without_transaction(connection: sa.Connection) -> t.Any:
    """Let a connection to PostgreSQL begin no transaction, which would take a round
    trip to the server. Return the connection of its driver, whose ``autocommit`` has to
    be switched off later, or ``None``.
    """
    driver = _driver(connection)
    info = getattr(driver, "info", None)

    if (
        getattr(info, "transaction_status", None) != IDLE
        or application_listens(connection.engine.dispatch, ENGINE_EVENTS)
        or driver.autocommit
    ):
        return None

    # SQLAlchemy's own way sets the isolation level, too, and takes five times as long.
    driver.autocommit = True
    return driver


def begin_writing(connection: sa.Connection) -> None:
    """Take SQLite's write lock, unless the connection has begun a transaction. Note
    from now on if an error of the database ends the transaction.

    :raises Unavailable: Other connections write for too long.
    """
    dialect = connection.dialect.name

    if dialect not in ENDS:
        return

    if not connection.info.get(PREPARED):
        _prepare(connection)

    if dialect == "sqlite" and not _is_in_transaction(connection):
        with translated():
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    connection.info.pop(IS_UNDONE, None)


def fails_as_a_whole(connection: sa.Connection) -> bool:
    """Return ``True`` if a statement that fails undoes the whole transaction."""
    return connection.dialect.name == "postgresql"


def has_failed(connection: sa.Connection) -> bool:
    """Return ``True`` if a statement has failed, for which PostgreSQL will undo the
    transaction.
    """
    info = getattr(_driver(connection), "info", None)
    return getattr(info, "transaction_status", None) == FAILED


def _prepare(connection: sa.Connection) -> None:
    sa.event.listen(connection.engine, "handle_error", _note_error)
    is_sqlite = connection.dialect.name == "sqlite"
    connection.info[PREPARED] = not is_sqlite or _prepare_sqlite(connection)


def _prepare_sqlite(connection: sa.Connection) -> bool:
    """Let the connection wait for other writers, and no reader wait for writers."""
    timeout = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {max(timeout, BUSY_TIMEOUT)}")

    try:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    except sa.exc.OperationalError:
        # Another connection uses the file. Writing works as it is, and the next call
        # tries again.
        return False

    return True


def _note_error(context: sa.ExceptionContext) -> None:
    connection = context.connection

    if connection is None or connection.closed or connection.invalidated:
        return

    if ENDS[connection.dialect.name](connection, context.original_exception):
        connection.info[IS_UNDONE] = True


def _is_in_transaction(connection: sa.Connection) -> bool:
    return bool(getattr(_driver(connection), "in_transaction", True))


def _driver(connection: sa.Connection) -> t.Any:
    return connection.connection.dbapi_connection


def _is_deadlock(error: BaseException) -> bool:
    return error.args[:1] == (DEADLOCK,)


ENDS: t.Final[Mapping[str, Callable[[sa.Connection, BaseException], bool]]] = {
    "sqlite": lambda connection, error: not _is_in_transaction(connection),
    "mysql": lambda connection, error: _is_deadlock(error),
    "mariadb": lambda connection, error: _is_deadlock(error),
}
"""Tells by the database if an error has ended the transaction, so that statements after
it begin another one.
"""
