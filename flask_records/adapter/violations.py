"""Rules that a database says are broken, as its driver tells them."""

from __future__ import annotations

import enum
import re
import typing as t

from .availability import code_of

if t.TYPE_CHECKING:
    import sqlalchemy as sa

WORD = re.compile(r"\w+")
TEXT_OR_CAST = re.compile(r"'[^']*'|::[\w ]+")


class Kind(enum.Enum):
    """A kind of rule."""

    UNIQUE = "unique"
    REQUIRED = "required"
    REFERENCE = "reference"
    REFERRED_TO = "referred to"
    RULE = "rule"
    EXCLUSION = "exclusion"


POSTGRESQL = {
    "23505": Kind.UNIQUE,
    "23502": Kind.REQUIRED,
    "23503": Kind.REFERENCE,
    "23001": Kind.REFERRED_TO,
    "23514": Kind.RULE,
    "44000": Kind.RULE,
    "23P01": Kind.EXCLUSION,
}
MYSQL = {
    1062: Kind.UNIQUE,
    1586: Kind.UNIQUE,
    1048: Kind.REQUIRED,
    1364: Kind.REQUIRED,
    1451: Kind.REFERRED_TO,
    1452: Kind.REFERENCE,
    1369: Kind.RULE,
    1526: Kind.RULE,
    4025: Kind.RULE,
    3819: Kind.RULE,
}
SQLITE = {
    "UNIQUE": Kind.UNIQUE,
    "PRIMARY KEY": Kind.UNIQUE,
    "NOT NULL": Kind.REQUIRED,
    "FOREIGN KEY": Kind.REFERENCE,
    "CHECK": Kind.RULE,
}
SQLITE_MESSAGE = re.compile(
    r"(UNIQUE|NOT NULL|FOREIGN KEY|CHECK|PRIMARY KEY)[\w ]+(?:: (.*))?", re.DOTALL
)
SQLITE_INDEX = re.compile(r"index '(.*)'\Z")
SQLITE_COLUMN = re.compile(r"([^,.: ]+)\.([^,]+)")
POSTGRESQL_KEY = re.compile(r"^[^(]*\((.+?)\)=", re.DOTALL)
MYSQL_CONSTRAINT = re.compile(r"(?:CONSTRAINT|constraint) [`']([^`']*)[`']")
MYSQL_TABLE = re.compile(r"fails \(`[^`]*`\.`([^`]*)`")
MYSQL_FOREIGN_KEY = re.compile(r"FOREIGN KEY \(([^)]*)\)")
MYSQL_QUOTED = re.compile(r"'([^']*)'$|^\w+ '([^']*)'")


class Violation(t.NamedTuple):
    """A broken rule."""

    kind: Kind
    """Its kind."""

    name: str = ""
    """The name of the constraint or the index, if the driver tells it."""

    columns: tuple[str, ...] = ()
    """The columns, if the driver tells them."""

    table: str = ""
    """The table, if the driver tells it."""

    type_: str = ""
    """The domain whose rule it is, if it is one of a domain."""

    expression: str = ""
    """The text of the rule, if the driver tells it and not its name."""


def violation_of(error: sa.exc.DBAPIError) -> Violation | None:
    """Return the rule that an error is about, or ``None`` for another error."""
    driver, code = t.cast("t.Any", error.orig), code_of(error)

    if isinstance(code, int):
        return _of_mysql(code, str(driver.args[-1])) if code in MYSQL else None

    if code is not None:
        return _of_postgresql(driver, code) if code in POSTGRESQL else None

    return _of_sqlite(str(driver))


def words_of(expression: str) -> set[str]:
    """Return the words of an expression of SQL that may be names of columns."""
    return set(WORD.findall(TEXT_OR_CAST.sub(" ", expression)))


def _of_sqlite(message: str) -> Violation | None:
    match = SQLITE_MESSAGE.match(message)

    if match is None:
        return None

    kind, rest = SQLITE[match[1]], match[2] or ""

    if kind is Kind.RULE:
        # SQLite tells the text of a rule that has no name.
        return Violation(kind, name=rest, expression=rest)

    if index := SQLITE_INDEX.match(rest):
        return Violation(kind, name=index[1])

    columns = SQLITE_COLUMN.findall(rest)
    table = columns[0][0] if columns else ""
    return Violation(kind, columns=tuple([each for _, each in columns]), table=table)


def _of_postgresql(driver: t.Any, code: str) -> Violation:
    details, kind = getattr(driver, "diag", None), POSTGRESQL[code]

    if details is None:
        return Violation(kind)

    detail = details.message_detail or ""
    key = POSTGRESQL_KEY.match(detail)
    expression = "" if key is None else key[1]
    columns = [part.strip(' "') for part in expression.split(",")] if key else []

    if kind is Kind.REFERENCE and "still referenced" in detail:
        # The key is that of the record which the others refer to.
        kind, columns = Kind.REFERRED_TO, []

    return Violation(
        kind,
        name=details.constraint_name or "",
        columns=(details.column_name,) if details.column_name else tuple(columns),
        table=details.table_name or "",
        type_=details.datatype_name or "",
        expression=expression,
    )


def _of_mysql(code: int, message: str) -> Violation:
    kind = MYSQL[code]
    constraint = MYSQL_CONSTRAINT.search(message)
    # MariaDB writes the name of the table before that of a rule of a column.
    name = constraint[1].rpartition(".")[2] if constraint else ""
    table = match[1] if (match := MYSQL_TABLE.search(message)) else ""
    columns: tuple[str, ...] = ()

    if kind is Kind.REFERENCE and (match := MYSQL_FOREIGN_KEY.search(message)):
        columns = tuple([part.strip(" `") for part in match[1].split(",")])

    if kind in (Kind.UNIQUE, Kind.REQUIRED) and (match := MYSQL_QUOTED.search(message)):
        # MySQL writes the name of the table before that of the index.
        quoted = (match[1] or match[2]).rpartition(".")[2]
        is_index = kind is Kind.UNIQUE
        name, columns = (quoted, (quoted,)) if is_index else (name, (quoted,))

    return Violation(kind, name, columns, table)
