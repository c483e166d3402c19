"""Errors of a database that can't serve a call at the moment."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..errors import Unavailable

if t.TYPE_CHECKING:
    from collections.abc import Mapping

BUSY: t.Final = "The database is busy. Try again."
AWAY: t.Final = "The database does not answer. Try again."
FULL: t.Final = "The database has no room. Try again later."

REASONS: t.Final[Mapping[int | str | None, str]] = {
    **dict.fromkeys(("40001", "40P01", "55P03", "57014", "53300"), BUSY),
    **dict.fromkeys((1020, 1040, 1203, 1205, 1213, 1226, 1317, 1969, 3024), BUSY),
    **dict.fromkeys(("25006", "57P01", "57P02", "57P03"), AWAY),
    **dict.fromkeys((1053, 1290, 1836, 1927, 2002, 2003, 2006, 2013), AWAY),
    **dict.fromkeys(("53100", "53200"), FULL),
    **dict.fromkeys((1021, 1041, 1114), FULL),
}
"""The reasons by the codes of PostgreSQL, as text, and of MySQL and MariaDB."""

POSTGRESQL_CONNECTION: t.Final = "08"
"""The beginning of PostgreSQL's codes of errors of a connection."""

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


def code_of(error: sa.exc.StatementError) -> int | str | None:
    """Return the code that a driver gives an error."""
    driver = t.cast("t.Any", error.orig)

    if driver.args and isinstance(driver.args[0], int):
        return driver.args[0]

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
    code = code_of(error)

    if isinstance(code, str) and code.startswith(POSTGRESQL_CONNECTION):
        return AWAY

    # A name such as SQLITE_IOERR_WRITE begins with that of its kind.
    name = "_".join(getattr(error.orig, "sqlite_errorname", "").split("_")[:2])
    return REASONS.get(code) or SQLITE.get(name)


def _is_of_connecting(error: sa.exc.DBAPIError) -> bool:
    """Return ``True`` if no connection was made, so that no statement has run."""
    is_operational = isinstance(error, (sa.exc.OperationalError, sa.exc.InterfaceError))
    return is_operational and error.statement is None
