"""Errors of a database that can't serve a call at the moment."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..errors import Unavailable

BUSY: t.Final = "The database is busy. Try again."
AWAY: t.Final = "The database does not answer. Try again."
FULL: t.Final = "The database has no room. Try again later."

POSTGRESQL: t.Final = {
    **dict.fromkeys(("40001", "40P01", "55P03", "57014", "53300"), BUSY),
    **dict.fromkeys(("25006", "57P01", "57P02", "57P03"), AWAY),
    **dict.fromkeys(("53100", "53200"), FULL),
}
"""The reasons by the states of PostgreSQL. Those that begin with 08 are about the
connection.
"""

MYSQL: t.Final = {
    **dict.fromkeys((1020, 1040, 1203, 1205, 1213, 1226, 1317, 1969, 3024), BUSY),
    **dict.fromkeys((1053, 1290, 1836, 1927, 2002, 2003, 2006, 2013), AWAY),
    **dict.fromkeys((1021, 1041, 1114), FULL),
}
"""The reasons by the codes of MySQL and MariaDB."""

SQLITE: t.Final = {
    "SQLITE_BUSY": BUSY,
    "SQLITE_LOCKED": BUSY,
    "SQLITE_FULL": FULL,
    "SQLITE_CANTOPEN": AWAY,
    "SQLITE_IOERR": AWAY,
    "SQLITE_PROTOCOL": AWAY,
    "SQLITE_READONLY": AWAY,
}
"""The reasons by SQLite's kinds of errors."""


def unavailable(error: BaseException) -> Unavailable | None:
    """Return the error that a client can see if a database, or its pool of connections,
    can't serve a call at the moment. ``None`` for any other error.
    """
    reason = _reason(error)

    if reason is None:
        return None

    result = Unavailable(reason)
    result.__cause__ = error
    return result


def code_of(error: sa.exc.DBAPIError) -> int | None:
    """Return the code of an error of MySQL or MariaDB."""
    arguments = t.cast("t.Any", error.orig).args
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def state_of(driver: t.Any) -> str | None:
    """Return the state of an error of a driver of PostgreSQL."""
    state = getattr(driver, "sqlstate", None) or getattr(driver, "pgcode", None)
    return state if isinstance(state, str) else None


def _reason(error: BaseException) -> str | None:
    # The pool has no connection left.
    if isinstance(error, sa.exc.TimeoutError):
        return BUSY

    if not isinstance(error, sa.exc.DBAPIError):
        return None

    reason = _reason_of_driver(error)

    if reason is None and (error.connection_invalidated or _is_of_connecting(error)):
        return AWAY

    return reason


def _reason_of_driver(error: sa.exc.DBAPIError) -> str | None:
    state = state_of(error.orig) or ""
    name = getattr(error.orig, "sqlite_errorname", None) or ""

    if state.startswith("08"):
        return AWAY

    reason = POSTGRESQL.get(state) or MYSQL.get(code_of(error) or 0)
    return reason or next(
        (SQLITE[each] for each in SQLITE if name.startswith(each)), None
    )


def _is_of_connecting(error: sa.exc.DBAPIError) -> bool:
    """Return ``True`` if no connection was made, so that no statement has run."""
    is_operational = isinstance(error, (sa.exc.OperationalError, sa.exc.InterfaceError))
    return is_operational and error.statement is None
