"""From an error of the database to an error that a client can see."""

from __future__ import annotations

import re
import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import BadRequest
from ..errors import Conflict
from ..errors import RecordsError
from ..errors import Unavailable

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from types import TracebackType

    from ..query import Fields

UNIQUE, REQUIRED, REFERENCE, RULE = "unique", "required", "reference", "rule"

POSTGRESQL = {
    "23505": UNIQUE,
    "23502": REQUIRED,
    "23503": REFERENCE,
    "23514": RULE,
    "23P01": RULE,
}
MYSQL = {
    1062: UNIQUE,
    1586: UNIQUE,
    1048: REQUIRED,
    1364: REQUIRED,
    1451: REFERENCE,
    1452: REFERENCE,
    4025: RULE,
    3819: RULE,
}
SQLITE = {
    "UNIQUE": UNIQUE,
    "PRIMARY KEY": UNIQUE,
    "NOT NULL": REQUIRED,
    "FOREIGN KEY": REFERENCE,
    "CHECK": RULE,
}
SQLITE_MESSAGE = re.compile(r"(UNIQUE|NOT NULL|FOREIGN KEY|CHECK|PRIMARY KEY)[\w ]+")
SQLITE_COLUMN = re.compile(r"[^,.: ]+\.([^,]+)")
POSTGRESQL_KEY = re.compile(r"^[^(]*\((.+?)\)=")
MYSQL_FOREIGN_KEY = re.compile(r"FOREIGN KEY \(([^)]*)\)")
MYSQL_QUOTED = re.compile(r"'([^']*)'$|^\w+ '([^']*)'")

# The codes of a value that does not fit, which are not all counted as such.
MYSQL_MISFIT = {167, 1264, 1467}

# The codes of a transaction that another one got in the way of.
MYSQL_BUSY = {1020, 1205, 1213}
POSTGRESQL_BUSY = {"40001", "40P01", "55P03"}


# A generator would make each call of a service some microseconds slower.
class translated:
    """Raises what a client can see instead of the errors of the database, as a context
    manager. Errors that no client can mend are raised as they are.

    :param fields: The fields that an error may name.
    :param written: The names of the fields that are being written.
    :raises Conflict: What is written contradicts what is stored.
    :raises BadRequest: What is written does not fit.
    :raises Unavailable: The database is busy with other writers.
    """

    def __init__(
        self, fields: Fields | None = None, written: Collection[str] = ()
    ) -> None:
        self._fields = fields
        self._written = written

    def __enter__(self) -> None:
        """Begin to translate errors."""

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            return

        translation = self._translation(error)

        if translation is not None:
            raise translation from error

    def _translation(self, error: BaseException) -> RecordsError | None:
        """Return the error that a client can see, or ``None`` if there is none."""
        if isinstance(error, orm.exc.StaleDataError):
            return Conflict("The record was changed by another call. Try again.")

        if isinstance(error, sa.exc.IntegrityError):
            return _of_integrity(error, self._fields, self._written)

        if isinstance(error, sa.exc.DBAPIError):
            return _of_driver(error)

        # The type of a column refused the value before the database saw it.
        if isinstance(error, sa.exc.StatementError) and isinstance(
            error.orig, (ValueError, TypeError, OverflowError)
        ):
            return BadRequest("A value does not fit its field.")

        return None


def _of_driver(error: sa.exc.DBAPIError) -> RecordsError | None:
    if isinstance(error, sa.exc.DataError) or _code(error) in MYSQL_MISFIT:
        return BadRequest("A value does not fit its field.")

    if _is_busy(error):
        return Unavailable("The database is busy. Try again.")

    # MariaDB's driver does not count a broken rule among the errors of integrity.
    is_rule = MYSQL.get(_code(error) or 0) == RULE
    return _broken_rule([]) if is_rule else None


def _is_busy(error: sa.exc.DBAPIError) -> bool:
    driver = t.cast("t.Any", error.orig)
    return (
        _sqlstate(driver) in POSTGRESQL_BUSY
        or _code(error) in MYSQL_BUSY
        or getattr(driver, "sqlite_errorname", "").startswith("SQLITE_BUSY")
    )


def _code(error: sa.exc.DBAPIError) -> int | None:
    arguments = t.cast("t.Any", error.orig).args
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def _of_integrity(
    error: sa.exc.IntegrityError, fields: Fields | None, written: Collection[str]
) -> RecordsError:
    kind, columns = _violation(t.cast("t.Any", error.orig), fields)
    names = [] if fields is None else _names(fields, columns)

    if kind == REFERENCE and fields is not None and not names:
        names = _references(fields, written)

    make = {
        UNIQUE: _not_unique,
        REQUIRED: _required,
        REFERENCE: _bad_reference,
        RULE: _broken_rule,
    }
    return make[kind](names)


def _not_unique(names: list[str]) -> RecordsError:
    what = f"this {_quoted(names)}" if names else "these values"
    return Conflict(
        f"There is a record with {what} already.",
        errors=dict.fromkeys(names, "has to be unique"),
    )


def _required(names: list[str]) -> RecordsError:
    return BadRequest(
        f"{_quoted(names) or 'A field'} is required.",
        errors=dict.fromkeys(names, "is required"),
    )


def _bad_reference(names: list[str]) -> RecordsError:
    if not names:
        return Conflict(
            "Other records refer to this one, or it to one that is not there."
        )

    return Conflict(
        f"{_quoted(names)} refers to a record that is not there.",
        errors=dict.fromkeys(names, "refers to a record that is not there"),
    )


def _broken_rule(names: list[str]) -> RecordsError:
    return BadRequest("The data breaks a rule of the database.")


def _violation(driver: t.Any, fields: Fields | None) -> tuple[str, list[str]]:
    """Return the kind of a violation and the columns that the driver names."""
    if driver.args and isinstance(driver.args[0], int):
        columns = _mysql_columns(fields, *driver.args[:2])
        return MYSQL.get(driver.args[0], RULE), columns

    if (state := _sqlstate(driver)) is not None:
        return POSTGRESQL.get(state, RULE), _postgresql_columns(driver)

    message = str(driver)
    match = SQLITE_MESSAGE.match(message)
    kind = SQLITE[match[1]] if match else RULE
    return kind, [] if kind == RULE else SQLITE_COLUMN.findall(message)


def _sqlstate(driver: t.Any) -> str | None:
    state = getattr(driver, "sqlstate", None) or getattr(driver, "pgcode", None)
    return state if isinstance(state, str) else None


def _postgresql_columns(driver: t.Any) -> list[str]:
    details = getattr(driver, "diag", None)

    if details is None:
        return []

    if details.column_name:
        return [details.column_name]

    detail = details.message_detail or ""

    # "Key (id)=(1) is still referenced" is about the records that refer to this one.
    if "still referenced" in detail:
        return []

    match = POSTGRESQL_KEY.match(detail)
    return [] if match is None else [part.strip(' "') for part in match[1].split(",")]


def _mysql_columns(fields: Fields | None, code: int, message: str) -> list[str]:
    if code == 1452 and (match := MYSQL_FOREIGN_KEY.search(message)):
        return [part.strip(" `") for part in match[1].split(",")]

    if MYSQL.get(code) not in (UNIQUE, REQUIRED):
        return []

    match = MYSQL_QUOTED.search(message)
    # MySQL writes the name of the table before that of the index, MariaDB doesn't.
    name = (match[1] or match[2]).rpartition(".")[2] if match else ""

    if fields is None or MYSQL[code] == REQUIRED:
        return [name]

    return _indexes(fields).get(name, [name])


def _names(fields: Fields, columns: list[str]) -> list[str]:
    """Return the names of the fields of columns, as far as a caller may know them."""
    known: dict[str, list[str]] = {}

    for column in fields.mapper.columns:
        name = fields.mapper.get_property_by_column(column).key

        if name in fields.names or fields.written(name) is not None:
            known.setdefault(column.name, []).append(name)

    return [name for column in columns for name in known.get(column, ())]


def _indexes(fields: Fields) -> dict[str, list[str]]:
    """Return the columns of each unique index by the name that MariaDB tells. One that
    the model gives no name has that of its first column.
    """
    indexes = {}

    for table in fields.mapper.tables:
        if not isinstance(table, sa.Table):
            continue

        indexes["PRIMARY"] = [column.name for column in table.primary_key.columns]

        for index in (*table.constraints, *table.indexes):
            if isinstance(index, (sa.Index, sa.UniqueConstraint)):
                names = [column.name for column in index.columns]
                indexes[str(index.name or names[0])] = names

    return indexes


def _references(fields: Fields, written: Collection[str]) -> list[str]:
    """Return the one field among those written that refers to another record."""
    names = []

    for column in fields.mapper.columns:
        name = fields.mapper.get_property_by_column(column).key

        if column.foreign_keys and name in written and fields.written(name):
            names.append(name)

    return names if len(names) == 1 else []


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
