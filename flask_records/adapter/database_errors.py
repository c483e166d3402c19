"""Errors of databases, translated to errors that a client can see."""

from __future__ import annotations

import re
import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import BadRequest
from ..errors import Conflict
from ..errors import RecordsError
from .availability import code_of
from .availability import unavailable
from .misfits import is_misfit
from .misfits import misfit
from .unreadable import is_unreadable

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence

    from ..query import Fields
    from ..query.resolution import ResolvedQuery
    from ..typing import Record

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

NOT_UNIQUE: t.Final = "has to be unique"
"""The problem of a value that a record has already."""

IN_FAILED_TRANSACTION: t.Final = "25P02"
"""The state of PostgreSQL's errors of all statements after one that has failed."""

FAILED: t.Final = """\
A hook or a method has caught the error of a statement, for which the database undoes \
the whole transaction. Run what may fail in 'with session.begin_nested():'.\
"""


# A generator would make each call of a service some microseconds slower.
class translated:
    """Raises errors that a client can see instead of those of the database, as a
    context manager. Errors that no client can fix are raised as they are.

    :param fields: The fields that an error may name.
    :raises Conflict: The values contradict those that are stored.
    :raises BadRequest: The values do not fit.
    :raises Unavailable: The database can't serve the call at the moment.
    :raises RuntimeError: The application has caught the error of a statement before.
    """

    def __init__(
        self,
        fields: Fields | None = None,
        bodies: Sequence[Record] = (),
        client_fields: Collection[str] = (),
        query: ResolvedQuery | None = None,
        dialect: sa.Dialect | None = None,
    ) -> None:
        self._arguments = fields, bodies, client_fields, query, dialect

    def __enter__(self) -> None:
        """Begin to translate errors."""

    def __exit__(self, *error: t.Any) -> None:
        if error[1] is not None:
            raise_translated(error[1], *self._arguments)


def raise_translated(
    error: BaseException,
    fields: Fields | None = None,
    bodies: Sequence[Record] = (),
    client_fields: Collection[str] = (),
    query: ResolvedQuery | None = None,
    dialect: sa.Dialect | None = None,
) -> None:
    """Raise the error that a client can see for an error of the database, if any."""
    translation = unavailable(error) or _translation(
        error, fields, bodies, client_fields, query, dialect
    )

    if translation is not None:
        raise translation from error


def _translation(
    error: BaseException,
    fields: Fields | None,
    bodies: Sequence[Record],
    client_fields: Collection[str],
    query: ResolvedQuery | None,
    dialect: sa.Dialect | None,
) -> Exception | None:
    if isinstance(error, orm.exc.StaleDataError):
        return Conflict("The record was changed by another call. Try again.")

    if isinstance(error, sa.exc.IntegrityError):
        return _of_integrity(error, fields, bodies, client_fields)

    if isinstance(error, sa.exc.StatementError) and is_misfit(error):
        return misfit(error, fields, bodies, client_fields, query, dialect)

    if isinstance(error, sa.exc.DBAPIError):
        return _of_driver(error)

    # SQLAlchemy tells many new records apart by their keys.
    if type(error) is sa.exc.InvalidRequestError and fields is not None:
        names = fields.fixed
        is_given = any(not names.isdisjoint(body) for body in bodies)
        return not_kept(fields) if is_given else None

    return None


def not_kept(fields: Fields) -> BadRequest:
    # MariaDB takes the identifier 0 for a request to generate one.
    return BadRequest(
        "The database does not keep this identifier. Leave it out.",
        errors={fields.id.name: "is not kept by the database"},
    )


def _of_driver(error: sa.exc.DBAPIError) -> Exception | None:
    code = code_of(error)

    if code == IN_FAILED_TRANSACTION:
        return RuntimeError(FAILED)

    if is_unreadable(error):
        return Conflict("The record has a stored value that can't be read.")

    # MariaDB's driver does not raise an IntegrityError for a broken rule.
    return _broken_rule([]) if MYSQL.get(t.cast(int, code)) == RULE else None


def _of_integrity(
    error: sa.exc.IntegrityError,
    fields: Fields | None,
    bodies: Sequence[Record],
    client_fields: Collection[str],
) -> RecordsError:
    kind, columns = _violation(error, fields)
    names = [] if fields is None else _names(fields, columns)

    if kind == REFERENCE and fields is not None and not names:
        names = _references(fields, _written(bodies, client_fields))

    make = {
        UNIQUE: _not_unique,
        REQUIRED: _required,
        REFERENCE: _bad_reference,
        RULE: _broken_rule,
    }
    return make[kind](names)


def _not_unique(names: list[str]) -> RecordsError:
    values = f"this {_quoted(names)}" if names else "these values"
    return Conflict(
        f"There is a record with {values} already.",
        errors=dict.fromkeys(names, NOT_UNIQUE),
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


def _violation(
    error: sa.exc.IntegrityError, fields: Fields | None
) -> tuple[str, list[str]]:
    """Return the kind of a violation and the columns that the driver names."""
    driver, code = t.cast("t.Any", error.orig), code_of(error)

    if isinstance(code, int):
        return MYSQL.get(code, RULE), _mysql_columns(fields, *driver.args[:2])

    if code is not None:
        return POSTGRESQL.get(code, RULE), _postgresql_columns(driver)

    message = str(driver)
    match = SQLITE_MESSAGE.match(message)
    kind = SQLITE[match[1]] if match else RULE
    return kind, [] if kind == RULE else SQLITE_COLUMN.findall(message)


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
    """Return the names of the fields of columns that the caller may name."""
    return [
        name
        for wanted in columns
        for name, column in _named_columns(fields)
        if column.name == wanted and (name in fields.names or fields.is_written(name))
    ]


def _indexes(fields: Fields) -> dict[str, list[str]]:
    """Return the columns of each unique index by its name on MariaDB."""
    indexes = {}

    for table in fields.mapper.tables:
        if not isinstance(table, sa.Table):
            continue

        indexes["PRIMARY"] = [column.name for column in table.primary_key.columns]

        for index in (*table.constraints, *table.indexes):
            if isinstance(index, (sa.Index, sa.UniqueConstraint)):
                # Without a name, an index gets that of its first column.
                names = [column.name for column in index.columns]
                indexes[str(index.name or names[0])] = names

    return indexes


def _written(
    bodies: Sequence[Record], client_fields: Collection[str]
) -> Collection[str]:
    """Return the names of the fields with a value: the client's, if there are any."""
    names = {name for body in bodies for name in body if body[name] is not None}
    return names.intersection(client_fields) or names


def _references(fields: Fields, written: Collection[str]) -> list[str]:
    """Return the only field among those written that refers to another record."""
    names = [
        name
        for name, column in _named_columns(fields)
        if column.foreign_keys and name in written and fields.is_written(name)
    ]
    return names if len(names) == 1 else []


def _named_columns(fields: Fields) -> list[tuple[str, t.Any]]:
    name_of = fields.mapper.get_property_by_column
    return [(name_of(column).key, column) for column in fields.mapper.columns]


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
