"""Errors of databases, translated to errors that a client can see.

A table gives the code of a driver its kind, and a kind has the class and the message of
the answer. Neither SQL nor a value is part of an answer.
"""

from __future__ import annotations

import re
import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from .. import problems
from ..errors import BadRequest, Conflict, Forbidden, MethodNotAllowed, Unavailable

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..problems import Problem
    from ..query import Fields, Scope
    from ..typing import Record


class ErrorKind(t.NamedTuple):
    """A kind of error that a client can see."""

    error: Callable[..., Exception]
    """The class of the error."""

    text: str
    """The message of an error that does not name one field."""

    problem: Problem | None = None
    """The problem of each field that the error names, if it can name fields."""


UNIQUE: t.Final = ErrorKind(
    Conflict, "There is a record with these values already.", problems.NOT_UNIQUE
)
REQUIRED: t.Final = ErrorKind(BadRequest, "A field is required.", problems.REQUIRED)
REFERENCE: t.Final = ErrorKind(
    Conflict,
    "Other records refer to this one, or it to one that is not there.",
    problems.NO_RECORD,
)
REFERRED_TO: t.Final = ErrorKind(
    Conflict, "Other records still refer to this one.", problems.REFERRED_TO
)
RULE: t.Final = ErrorKind(
    BadRequest, "The data breaks a rule of the database.", problems.BROKEN_RULE
)
EXCLUSION: t.Final = ErrorKind(
    Conflict, "The data conflicts with another record.", problems.EXCLUDED
)
MISFIT: t.Final = ErrorKind(
    BadRequest, "A value does not fit its column.", problems.MISFIT
)
PATTERN: t.Final = ErrorKind(
    BadRequest, "A value is not a regular expression of the database."
)
INCOMPARABLE: t.Final = ErrorKind(BadRequest, "A field can't be sorted or compared.")
READ_ONLY: t.Final = ErrorKind(MethodNotAllowed, "These records can only be read.")
FORBIDDEN: t.Final = ErrorKind(Forbidden, "The database does not allow this.")
STALE: t.Final = ErrorKind(
    Conflict, "The record was changed by another call. Try again."
)
BUSY: t.Final = ErrorKind(
    Unavailable, "Another call writes the same records. Try again."
)
AWAY: t.Final = ErrorKind(Unavailable, "The database is not available. Try again.")

FAILED: t.Final = ErrorKind(
    RuntimeError,
    "A hook or a method has caught the error of a statement, for which the database"
    " undoes the whole transaction. Run what may fail in 'with"
    " session.begin_nested():'.",
)

CODES: t.Final[Mapping[int | str, ErrorKind]] = {
    # MySQL and MariaDB
    **dict.fromkeys((1062, 1586), UNIQUE),
    **dict.fromkeys((1048, 1364), REQUIRED),
    **dict.fromkeys((1216, 1217, 1451, 1452), REFERENCE),
    # A trigger refuses with SIGNAL.
    **dict.fromkeys((1369, 1526, 1644, 3819, 4025), RULE),
    **dict.fromkeys((167, 1264, 1292, 1365, 1411, 1416, 1467), MISFIT),
    **dict.fromkeys((1253, 1267, 1270, 1271), MISFIT),
    1139: PATTERN,
    **dict.fromkeys((1288, 1348, 1394, 1395, 1471), READ_ONLY),
    **dict.fromkeys((1142, 1143), FORBIDDEN),
    # A deadlock, and the certification of Galera.
    **dict.fromkeys((1020, 1205, 1213), BUSY),
    **dict.fromkeys((1021, 1040, 1041, 1053, 1114, 1203), AWAY),
    **dict.fromkeys((1226, 1290, 1317, 1792, 1836, 1927, 1969, 3024), AWAY),
    **dict.fromkeys((2002, 2003, 2006, 2013), AWAY),
    # PostgreSQL, also by the beginnings of its codes
    "23505": UNIQUE,
    "23502": REQUIRED,
    **dict.fromkeys(("23001", "23503"), REFERENCE),
    "23P01": EXCLUSION,
    **dict.fromkeys(("23", "44"), RULE),
    **dict.fromkeys(("22", "42622", "54000"), MISFIT),
    "2201B": PATTERN,
    "42883": INCOMPARABLE,
    **dict.fromkeys(("0A000", "42809", "55000"), READ_ONLY),
    "42501": FORBIDDEN,
    # A trigger refuses with RAISE or ASSERT.
    **dict.fromkeys(("P0001", "P0004"), RULE),
    **dict.fromkeys(("40001", "40P01", "55P03"), BUSY),
    **dict.fromkeys(("08", "25006", "53", "57"), AWAY),
    "25P02": FAILED,
    # SQLite, also by the beginnings of its codes
    "SQLITE_CONSTRAINT_UNIQUE": UNIQUE,
    "SQLITE_CONSTRAINT_PRIMARYKEY": UNIQUE,
    "SQLITE_CONSTRAINT_ROWID": UNIQUE,
    "SQLITE_CONSTRAINT_NOTNULL": REQUIRED,
    "SQLITE_CONSTRAINT_FOREIGNKEY": REFERENCE,
    "SQLITE_CONSTRAINT": RULE,
    **dict.fromkeys(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"), AWAY),
    **dict.fromkeys(("SQLITE_CANTOPEN", "SQLITE_IOERR"), AWAY),
    **dict.fromkeys(("SQLITE_READONLY", "SQLITE_FULL"), AWAY),
}
"""The kinds of errors by the codes of drivers."""

SQLITE_CONSTRAINTS: t.Final[Mapping[str, ErrorKind]] = {
    "UNIQUE": UNIQUE,
    "NOT NULL": REQUIRED,
    "FOREIGN KEY": REFERENCE,
}
"""The kinds of errors by the constraint with which SQLite begins its message. RESTRICT
has the code of triggers, and pysqlite3 one code for all constraints.
"""

INNER: t.Final[Mapping[str, ErrorKind | None]] = {"42601": MISFIT, "42883": None}
"""The kinds of errors of PostgreSQL that are not of the statement itself: of a value
such as a tsvector, and of a trigger that calls a function which is not there.
"""

CLASSES: t.Final[Mapping[type[Exception], ErrorKind]] = {
    orm.exc.StaleDataError: STALE,
    sa.exc.CircularDependencyError: ErrorKind(
        Conflict, "The records refer to each other. Write them one by one."
    ),
    # The pool has no connection left.
    sa.exc.TimeoutError: AWAY,
    # Drivers raise these for large integers, and for text that is not valid Unicode.
    **dict.fromkeys(
        (OverflowError, UnicodeEncodeError), ErrorKind(BadRequest, MISFIT.text)
    ),
}
"""The kinds of errors by the classes of SQLAlchemy and Python."""

BIND_ERRORS: t.Final = (
    *(ValueError, TypeError, AttributeError),
    *(ArithmeticError, LookupError),
)
"""The errors of a type that gets a value which it is not made for."""

MYSQL_NAMES: t.Final = {
    UNIQUE: re.compile(r"'([^']*)'\Z"),
    REQUIRED: re.compile(r"'([^']*)'"),
    REFERENCE: re.compile(r"FOREIGN KEY \(([^)]*)\)"),
    MISFIT: re.compile(r"[`']([^`']+)[`'] at row"),
    RULE: re.compile(r"CONSTRAINT `([^`]*)`"),
}
"""The places of the names of an index or of columns in messages of MySQL."""

POSTGRESQL_KEY: t.Final = re.compile(r"^[^(]*\((.+?)\)=", re.DOTALL)
NO_COLUMNS: t.Final = re.compile(r"'[^']*'|::[\w ]+")
"""The parts of a condition that name no column: texts, and types of PostgreSQL."""

SQLITE_NAMES: t.Final = re.compile(r"\w[\w ]+: (?:index '(.*)'|(.*))\Z", re.DOTALL)


# A generator would make each call of a service some microseconds slower.
class translated:
    """Raises errors that a client can see instead of the database's errors, as a
    context manager. Errors that no client can fix are raised as they are.

    :param scope: The scope of the caller, whose fields an error may name.
    :param bodies: The values to write, none for a removal, ``None`` for a read.
    """

    def __init__(
        self, scope: Scope | None = None, bodies: Sequence[Record] | None = None
    ) -> None:
        self.scope = scope
        self.bodies = bodies

    def __enter__(self) -> None:
        """Begin to translate errors."""

    def __exit__(self, *error: t.Any) -> None:
        if error[1] is None:
            return

        translation = _translation(error[1], self.scope, self.bodies)

        if translation is not None:
            raise translation from error[1]


def unavailable(error: BaseException) -> Unavailable | None:
    """Return the error that a client can see if a database can't serve a call at the
    moment, or ``None``.
    """
    kind = _kind_of(error)

    if kind not in (AWAY, BUSY):
        return None

    result = Unavailable(kind.text)
    result.__cause__ = error
    return result


def not_kept(fields: Fields) -> BadRequest:
    """Return the error of an identifier that the database replaces."""
    # MariaDB takes the identifier 0 for a request to generate one.
    return BadRequest(
        "The database does not keep this identifier. Leave it out.",
        errors={fields.id.name: problems.NOT_KEPT},
    )


def _translation(
    error: BaseException, scope: Scope | None, bodies: Sequence[Record] | None
) -> Exception | None:
    fields = None if scope is None else scope.fields

    # SQLAlchemy matches many new records to their rows by their keys.
    if type(error) is sa.exc.InvalidRequestError and fields and bodies:
        has_key = any(not fields.fixed.isdisjoint(body) for body in bodies)
        return not_kept(fields) if has_key else None

    kind = _kind_of(error)

    # A read of these would be an error of the server.
    if kind is None or (kind in (READ_ONLY, FORBIDDEN) and fields is None):
        return None

    # The unit of work sets the keys of records to null that refer to a removed one.
    if bodies is not None and not bodies and kind in (REFERENCE, REQUIRED):
        kind = REFERRED_TO

    text, problem = kind.text, kind.problem

    if problem is None:
        return kind.error(text)

    names = [] if scope is None else _names_in(error, kind, scope, bodies or ())

    if names and kind is UNIQUE:
        quoted = ", ".join(f"'{name}'" for name in names)
        text = f"There is a record with this {quoted} already."
    elif len(names) == 1 and kind is not REFERRED_TO:
        text = f"'{names[0]}' {problem}."

    return kind.error(text, errors=dict.fromkeys(names, problem))


def _kind_of(error: BaseException) -> ErrorKind | None:
    """Return the kind of an error, or ``None`` for one that no client can fix."""
    for class_, kind in CLASSES.items():
        if isinstance(error, class_):
            return kind

    # The connection of a transaction is lost.
    if isinstance(error, sa.exc.PendingRollbackError) and error.code == "8s2b":
        return AWAY

    # SQLAlchemy can't set a primary key to null that refers to a removed record.
    if type(error) is AssertionError and str(error).startswith("Dependency rule"):
        return REFERRED_TO

    if not isinstance(error, sa.exc.StatementError):
        return None

    if not isinstance(error, sa.exc.DBAPIError):
        return MISFIT if isinstance(error.orig, BIND_ERRORS) else None

    return _kind_of_code(error) or _kind_of_class(error)


def _kind_of_code(error: sa.exc.DBAPIError) -> ErrorKind | None:
    driver: t.Any = error.orig
    code = _code_of(driver)

    if not isinstance(code, str):
        return None if code is None else CODES.get(code)

    # Only an error of a statement has a place, not of a value or a trigger.
    if code in INNER and driver.diag.statement_position is None:
        return INNER[code]

    if code in ("SQLITE_CONSTRAINT", "SQLITE_CONSTRAINT_TRIGGER"):
        constraint, _, _ = f"{driver}".partition(" constraint failed")
        return SQLITE_CONSTRAINTS.get(constraint) or RULE

    beginnings = [code[:end] for end in range(len(code), 1, -1)]
    return next((CODES[each] for each in beginnings if each in CODES), None)


def _kind_of_class(error: sa.exc.DBAPIError) -> ErrorKind | None:
    is_of_connecting = error.statement is None and isinstance(
        error, (sa.exc.OperationalError, sa.exc.InterfaceError)
    )

    if error.connection_invalidated or is_of_connecting:
        return AWAY

    if isinstance(error, sa.exc.IntegrityError):
        return RULE

    # Without a statement, the driver can't read a stored value.
    is_misfit = isinstance(error, sa.exc.DataError) and error.statement is not None
    return MISFIT if is_misfit else None


def _code_of(driver: t.Any) -> int | str | None:
    """Return the code of a driver's error: a number of MySQL, a state of PostgreSQL, or
    a name of SQLite.
    """
    if driver.args and isinstance(driver.args[0], int):
        return driver.args[0]

    names = ("sqlstate", "pgcode", "sqlite_errorname")
    codes = [getattr(driver, name, None) for name in names]
    return next((code for code in codes if isinstance(code, str)), None)


def _names_in(
    error: t.Any, kind: ErrorKind, scope: Scope, bodies: Sequence[Record]
) -> list[str]:
    """Return the fields whose columns, or whose index, the error of a driver names, or
    the only foreign key of some bodies.
    """
    fields = scope.fields

    if kind is REFERRED_TO:
        return [fields.id.name]

    caller_names = scope.names | scope.writable
    tables = [each for each in fields.mapper.tables if isinstance(each, sa.Table)]
    indexes = _unique_indexes(tables) if kind is UNIQUE else _checks(tables)

    for text in _texts_of(error.orig, kind):
        text = NO_COLUMNS.sub(" ", indexes.get(text, text))

        for table in tables:
            text = text.replace(f"{table.name}.", "")

        names = [
            name
            for name, column in fields.columns.items()
            if re.search(rf"(?<![\w.]){re.escape(column.name)}(?![\w(])", text)
            and name in caller_names
        ]

        if names:
            return names

    # A statement has values of its query and of defaults, too, besides the key.
    is_new = (error.statement or "").startswith("INSERT")
    length = 1 if is_new else 1 + len(fields.identifying)
    is_alone = len(error.params or ()) <= length

    # Whatever the reason is, it is the only value.
    if kind in (RULE, MISFIT) and is_alone:
        body_names = {name for body in bodies for name in body}
        return [*body_names & caller_names] if len(body_names) == 1 else []

    if kind is not REFERENCE:
        return []

    # SQLite names no foreign key.
    keys = {
        name
        for name, column in fields.columns.items()
        if column.foreign_keys and any(body.get(name) is not None for body in bodies)
    }
    return [*keys & caller_names] if len(keys) == 1 else []


def _unique_indexes(tables: Sequence[sa.Table]) -> dict[str, str]:
    """Return the columns of unique constraints and indexes by their names in errors."""
    indexes: dict[str, str] = {}

    for table in tables:
        # MariaDB's name of a primary key.
        indexes["PRIMARY"] = ", ".join(each.name for each in table.primary_key)
        each: t.Any

        for each in (*table.constraints, *table.indexes):
            if isinstance(each, (sa.Index, sa.UniqueConstraint)):
                parts = list(getattr(each, "expressions", each.columns))
                # MariaDB names an index without a name by its first column.
                name = str(each.name or parts[0].name)
                indexes.setdefault(name, ", ".join(map(str, parts)))

    return indexes


def _checks(tables: Sequence[sa.Table]) -> dict[str, str]:
    """Return the conditions of checks by their names in errors."""
    constraints = [each for table in tables for each in table.constraints]
    checks = [each for each in constraints if isinstance(each, sa.CheckConstraint)]
    return {str(each.name): str(each.sqltext) for each in checks if each.name}


def _texts_of(driver: t.Any, kind: ErrorKind) -> list[str]:
    """Return the texts of a driver's error that name an index or columns."""
    message = str(driver.args[-1]) if driver.args else ""

    if isinstance(_code_of(driver), int):
        match = MYSQL_NAMES[kind].search(message) if kind in MYSQL_NAMES else None
        # The name of the table may stand before the name of an index.
        return [match[1].rpartition(".")[2]] if match else []

    if (details := getattr(driver, "diag", None)) is not None:
        key = POSTGRESQL_KEY.match(details.message_detail or "")
        texts = [details.constraint_name, details.column_name, key[1] if key else None]
        return [text for text in texts if text]

    match = SQLITE_NAMES.match(message)
    return [match[1] or match[2]] if match else []
