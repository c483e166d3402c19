"""Connections of SQLite and PostgreSQL, prepared to read or to write."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .database_errors import translated

if t.TYPE_CHECKING:
    from collections.abc import Collection

BUSY_TIMEOUT: t.Final = 20_000
"""The milliseconds that a write waits on SQLite until others have written."""

ENGINE_EVENTS: t.Final = ("begin", "before_execute", "before_cursor_execute")
"""The events of an engine by which an application prepares its transactions."""

IDLE: t.Final = 0
"""The status that PostgreSQL's drivers give a connection without a transaction."""


def listens(dispatch: t.Any, names: Collection[str]) -> bool:
    """Return ``True`` if the application listens to one of some events.

    :param dispatch: The ``dispatch`` of the object that has the events.
    """
    return any([getattr(dispatch, name) for name in names])


def without_transaction(connection: sa.Connection) -> t.Any:
    """Let a connection to PostgreSQL begin no transaction, which would take a round
    trip to the server. Return the connection of its driver, whose ``autocommit`` has to
    be switched off later, or ``None``.
    """
    driver = t.cast("t.Any", connection.connection.dbapi_connection)
    info = getattr(driver, "info", None)

    if (
        getattr(info, "transaction_status", None) != IDLE
        or listens(connection.engine.dispatch, ENGINE_EVENTS)
        or driver.autocommit
    ):
        return None

    # SQLAlchemy's own way sets the isolation level, too, and takes five times as long.
    driver.autocommit = True
    return driver


def begin_immediate(connection: sa.Connection) -> None:
    """Take SQLite's write lock, unless the connection has begun a transaction.

    :raises Unavailable: Other connections write for too long.
    """
    driver = t.cast("t.Any", connection.connection.dbapi_connection)

    if getattr(driver, "in_transaction", True):
        return

    if not connection.info.get("records_prepared"):
        _prepare(connection)

    with translated():
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _prepare(connection: sa.Connection) -> None:
    """Let the connection wait for other writers, and no reader wait for writers."""
    timeout = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {max(timeout, BUSY_TIMEOUT)}")

    try:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    except sa.exc.OperationalError:
        # Another connection uses the file. Writing works as it is, and the next call
        # tries again.
        return

    connection.info["records_prepared"] = True
