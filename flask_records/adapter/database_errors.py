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
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ..problems import Problem
    from ..query import Fields
    from ..query.resolution import ResolvedQuery
    from ..typing import Record

    Value: t.TypeAlias = tuple[str, t.Any, t.Any]
    """The name of a field, a value for its column, and the column."""


class ErrorKind(t.NamedTuple):
    """A kind of error that a client can see."""

    error: Callable[..., Exception]
    """The class of the error."""

    text: str
    """The message of an error that does not name one field."""

    problem: Problem | None = None
    """The problem of each field that the error names, if it names fields."""


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
    BadRequest,
    "A value is not a regular expression of the database.",
    problems.BAD_PATTERN,
)
INCOMPARABLE: t.Final = ErrorKind(
    BadRequest, "A field can't be sorted or compared.", problems.INCOMPARABLE
)
READ_ONLY: t.Final = ErrorKind(MethodNotAllowed, "These records can only be read.")
FORBIDDEN: t.Final = ErrorKind(Forbidden, "The database does not allow this.")
BUSY: t.Final = ErrorKind(Unavailable, "The database is busy. Try again.")
AWAY: t.Final = ErrorKind(Unavailable, "The database does not answer. Try again.")
FULL: t.Final = ErrorKind(Unavailable, "The database has no room. Try again later.")

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
    **dict.fromkeys((1216, 1452), REFERENCE),
    **dict.fromkeys((1217, 1451), REFERRED_TO),
    **dict.fromkeys((1369, 1526, 3819, 4025), RULE),
    **dict.fromkeys((167, 1264, 1292, 1365, 1411, 1416, 1467), MISFIT),
    **dict.fromkeys((1253, 1267, 1270, 1271), MISFIT),
    1139: PATTERN,
    **dict.fromkeys((1288, 1348, 1394, 1395, 1471), READ_ONLY),
    **dict.fromkeys((1142, 1143), FORBIDDEN),
    **dict.fromkeys((1020, 1040, 1203, 1205, 1213, 1226, 1317, 1969, 3024), BUSY),
    **dict.fromkeys((1053, 1290, 1836, 1927, 2002, 2003, 2006, 2013), AWAY),
    **dict.fromkeys((1021, 1041, 1114), FULL),
    # PostgreSQL, also by the first two characters of its codes
    "23505": UNIQUE,
    "23502": REQUIRED,
    "23503": REFERENCE,
    "23001": REFERRED_TO,
    "23P01": EXCLUSION,
    **dict.fromkeys(("23", "44"), RULE),
    **dict.fromkeys(("22", "42622", "54000"), MISFIT),
    "2201B": PATTERN,
    "42883": INCOMPARABLE,
    **dict.fromkeys(("0A000", "42809", "55000"), READ_ONLY),
    "42501": FORBIDDEN,
    **dict.fromkeys(("40001", "40P01", "53300", "55P03", "57014"), BUSY),
    **dict.fromkeys(("08", "25006", "57P01", "57P02", "57P03"), AWAY),
    **dict.fromkeys(("53100", "53200"), FULL),
    "25P02": FAILED,
    # SQLite, also by the first two words of its codes
    "SQLITE_CONSTRAINT_UNIQUE": UNIQUE,
    "SQLITE_CONSTRAINT_PRIMARYKEY": UNIQUE,
    "SQLITE_CONSTRAINT_ROWID": UNIQUE,
    "SQLITE_CONSTRAINT_NOTNULL": REQUIRED,
    "SQLITE_CONSTRAINT_FOREIGNKEY": REFERENCE,
    "SQLITE_CONSTRAINT": RULE,
    **dict.fromkeys(("SQLITE_BUSY", "SQLITE_LOCKED"), BUSY),
    **dict.fromkeys(("SQLITE_CANTOPEN", "SQLITE_IOERR"), AWAY),
    **dict.fromkeys(("SQLITE_PROTOCOL", "SQLITE_READONLY"), AWAY),
    "SQLITE_FULL": FULL,
}
"""The kinds of errors by the codes of drivers."""

SYNTAX: t.Final = "42601"
"""The state of errors of a statement, and of a value such as a ``tsvector``."""

BLANKED_KEY: t.Final = "Dependency rule"
"""The beginning of SQLAlchemy's error of a primary key that would be null."""

BIND_ERRORS: t.Final = (
    *(ValueError, TypeError, AttributeError),
    *(ArithmeticError, LookupError),
)
"""The errors of a type that gets a value which it is not made for."""

MYSQL_NAMES: t.Final = {
    UNIQUE: re.compile(r"'([^']*)'\Z"),
    REQUIRED: re.compile(r"'([^']*)'"),
    REFERENCE: re.compile(r"FOREIGN KEY \(([^)]*)\)"),
    RULE: re.compile(r"[`']([^`']*)[`']"),
    MISFIT: re.compile(r"[`']([^`']+)[`'] at row"),
}
"""The places of the names of a constraint or of columns in messages of MySQL."""

MYSQL_TABLE: t.Final = re.compile(r"fails \(`[^`]*`\.`([^`]*)`")
POSTGRESQL_KEY: t.Final = re.compile(r"^[^(]*\((.+?)\)=", re.DOTALL)
SQLITE_NAMES: t.Final = re.compile(r"\w[\w ]+: (?:index '(.*)'|(.*))\Z", re.DOTALL)
SQLITE_TABLE: t.Final = re.compile(r"([^,.: ]+)\.")
TEXT_OR_CAST: t.Final = re.compile(r"'[^']*'|::[\w ]+")


class Attempt(t.NamedTuple):
    """A statement that has failed or may fail, or a flush of a session."""

    fields: Fields | None = None
    """The fields that an error may name, or ``None`` for a read."""

    bodies: Sequence[Record] = ()
    """The values to write. None for a read and for a removal."""

    client_fields: Collection[str] = ()
    """The names of the fields that came from a client."""

    query: ResolvedQuery | None = None
    """The query of the statement."""

    dialect: sa.Dialect | None = None
    """The dialect of the database."""


UNKNOWN: t.Final = Attempt()
"""A statement of which nothing is known."""


# A generator would make each call of a service some microseconds slower.
class translated:
    """Raises errors that a client can see instead of those of the database, as a
    context manager. Errors that no client can fix are raised as they are.

    :param attempt: The statement. One that an error can't name a field of by default.
    :raises Conflict: The values contradict those that are stored.
    :raises BadRequest: The values do not fit.
    :raises MethodNotAllowed: The database does not write what the statement writes.
    :raises Forbidden: The database does not allow the statement.
    :raises Unavailable: The database can't serve the call at the moment.
    :raises RuntimeError: The application has caught the error of a statement before.
    """

    def __init__(self, attempt: Attempt = UNKNOWN) -> None:
        self._attempt = attempt

    def __enter__(self) -> None:
        """Begin to translate errors."""

    def __exit__(self, *error: t.Any) -> None:
        if error[1] is not None:
            raise_translated(error[1], self._attempt)


def raise_translated(error: BaseException, attempt: Attempt = UNKNOWN) -> None:
    """Raise the error that a client can see for an error of the database, if any."""
    translation = _translation(error, attempt)

    if translation is not None:
        raise translation from error


def unavailable(error: BaseException) -> Unavailable | None:
    """Return the error that a client can see if a database, or its pool of connections,
    can't serve a call at the moment. ``None`` for any other error.
    """
    kind = kind_of(error)

    if kind is None or kind.error is not Unavailable:
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


def kind_of(error: BaseException) -> ErrorKind | None:
    """Return the kind of an error, or ``None`` for one that no client can fix."""
    # The pool has no connection left.
    if isinstance(error, sa.exc.TimeoutError):
        return BUSY

    # SQLAlchemy can't set a primary key to null that refers to a removed record.
    if type(error) is AssertionError and str(error).startswith(BLANKED_KEY):
        return REFERRED_TO

    if not isinstance(error, sa.exc.StatementError):
        return None

    if not isinstance(error, sa.exc.DBAPIError):
        return MISFIT if isinstance(error.orig, BIND_ERRORS) else None

    return _kind_of_code(error) or _kind_of_class(error)


def _kind_of_code(error: sa.exc.DBAPIError) -> ErrorKind | None:
    driver, code = t.cast("t.Any", error.orig), code_of(error)

    if not isinstance(code, str):
        return None if code is None else CODES.get(code)

    # A statement would have a place of the error in it.
    if code == SYNTAX and driver.diag.statement_position is None:
        return MISFIT

    # SQLite's code of RESTRICT is that of a trigger.
    if code == "SQLITE_CONSTRAINT_TRIGGER" and str(driver).startswith("FOREIGN KEY"):
        return REFERENCE

    parts = code.split("_")
    beginning = "_".join(parts[:2]) if len(parts) > 1 else code[:2]
    return CODES.get(code) or CODES.get(beginning)


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


def code_of(error: sa.exc.StatementError) -> int | str | None:
    """Return the code that a driver gives an error: a number of MySQL, a state of
    PostgreSQL, or a name of SQLite.
    """
    driver = t.cast("t.Any", error.orig)

    if driver.args and isinstance(driver.args[0], int):
        return driver.args[0]

    for name in ("sqlstate", "pgcode", "sqlite_errorname"):
        if isinstance(code := getattr(driver, name, None), str):
            return code

    return None


def _translation(error: BaseException, attempt: Attempt) -> Exception | None:
    fields = attempt.fields

    if isinstance(error, orm.exc.StaleDataError):
        return Conflict("The record was changed by another call. Try again.")

    if isinstance(error, sa.exc.CircularDependencyError):
        return Conflict("The records refer to each other. Write them one by one.")

    # SQLAlchemy tells many new records apart by their keys.
    if type(error) is sa.exc.InvalidRequestError and fields is not None:
        is_given = any(not fields.fixed.isdisjoint(body) for body in attempt.bodies)
        return not_kept(fields) if is_given else None

    kind = kind_of(error)
    is_of_query = attempt.query is not None and not attempt.bodies

    if (
        kind is None
        or (kind in (READ_ONLY, FORBIDDEN) and fields is None)
        or (kind is INCOMPARABLE and not is_of_query)
    ):
        return None

    if kind.problem is None:
        return kind.error(kind.text)

    # The unit of work sets the keys of records to null that refer to a removed one.
    is_removal = fields is not None and not attempt.bodies

    if is_removal and kind in (REFERENCE, REQUIRED):
        kind = REFERRED_TO

    if kind is REFERRED_TO:
        return _answer(kind, () if fields is None else [fields.id.name])

    return _broken(t.cast("t.Any", error), kind, attempt)


def _broken(
    error: sa.exc.StatementError, kind: ErrorKind, attempt: Attempt
) -> Exception:
    """Return the error of values, with the names of fields if there are some."""
    fields = attempt.fields
    names: list[str] = []

    if fields is not None:
        texts, table = _told(error, kind)
        tables = [e for e in fields.mapper.tables if isinstance(e, sa.Table)]
        rule = _rule(texts, tables)

        for name in filter(None, (_name_of(rule), *texts)):
            if name in fields.constraints:
                described, problem = fields.constraints[name]
                text = f"{_quoted(described)} {problem}."
                return kind.error(text, errors=dict.fromkeys(described, problem))

        # A trigger may have written to another table, with columns of the same names.
        if not table or table in [each.name for each in tables]:
            names = _named(fields, tables, rule, texts)

    if not names:
        suspects = set(_suspects(error, kind, attempt))
        names = list(suspects) if len(suspects) == 1 else []

    return _answer(kind, names)


def _answer(kind: ErrorKind, names: Collection[str]) -> Exception:
    error, text, problem = kind

    if names and kind is UNIQUE:
        text = f"There is a record with this {_quoted(names)} already."
    elif len(names) == 1 and kind is not REFERRED_TO:
        text = f"{_quoted(names)} {problem}."

    return error(text, errors=dict.fromkeys(names, problem))


def _told(error: sa.exc.StatementError, kind: ErrorKind) -> tuple[Sequence[str], str]:
    """Return the texts of a driver's error that name a constraint or columns, and the
    name of the table.
    """
    driver = t.cast("t.Any", error.orig)
    message = str(driver.args[-1]) if driver.args else ""

    if isinstance(code_of(error), int):
        match = MYSQL_NAMES[kind].search(message) if kind in MYSQL_NAMES else None
        text = match[1] if match else ""
        constraint = re.search(r"CONSTRAINT `([^`]*)`", message)
        table = MYSQL_TABLE.search(message)
        # The name of the table may stand before that of an index or a rule.
        texts = [constraint[1] if constraint else "", text]
        return [e.rpartition(".")[2] for e in texts], table[1] if table else ""

    if (details := getattr(driver, "diag", None)) is not None:
        key = POSTGRESQL_KEY.match(details.message_detail or "")
        texts = [details.constraint_name, details.column_name, key[1] if key else ""]
        texts += [details.datatype_name]
        return [text or "" for text in texts], details.table_name or ""

    if match := SQLITE_NAMES.match(message):
        text = match[1] or match[2]
        table = None if match[1] else SQLITE_TABLE.match(text)
        return [text], table[1] if table else ""

    return [""], ""


def _rule(texts: Sequence[str], tables: Sequence[sa.Table]) -> t.Any:
    """Return the constraint or the index with one of some names, or with the columns
    that SQLite tells.
    """
    for table in tables:
        rules: list[t.Any] = [*table.constraints, *table.indexes]

        for rule in rules:
            columns = [each.name for each in getattr(rule, "columns", ())]
            told = ", ".join(f"{table.name}.{name}" for name in columns)
            is_unique = isinstance(rule, (sa.Index, sa.UniqueConstraint))
            # Without a name, an index of MariaDB gets that of its first column.
            first = columns[0] if is_unique and columns and rule.name is None else None
            names = {_name_of(rule), first, told if is_unique else None} - {None}

            if not names.isdisjoint(texts):
                return rule

        # The name on MariaDB.
        if "PRIMARY" in texts:
            return table.primary_key

    return None


def _name_of(rule: t.Any) -> str | None:
    # A naming convention makes a name of this class, which is a text.
    name = getattr(rule, "name", None)
    return None if name is None else str(name)


def _named(
    fields: Fields, tables: Sequence[sa.Table], rule: t.Any, texts: Sequence[str]
) -> list[str]:
    """Return the fields of a rule, or of the first text that names columns."""
    if isinstance(rule, sa.CheckConstraint):
        texts = [str(rule.sqltext)]
    elif rule is not None:
        parts = getattr(rule, "expressions", rule.columns)
        texts = [", ".join(getattr(each, "name", None) or str(each) for each in parts)]

    for text in texts:
        for table in tables:
            text = text.replace(f"{table.name}.", "")

        text = TEXT_OR_CAST.sub(" ", text)
        names = [
            name
            for name, column in named_columns(fields)
            if _is_named(column, text)
            and (name in fields.names or fields.body.is_written(name))
        ]

        if names:
            return names

    return []


def _is_named(column: t.Any, text: str) -> bool:
    is_domain = type(column.type).__name__ == "DOMAIN" and column.type.name == text
    return is_domain or bool(re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", text))


def named_columns(fields: Fields) -> list[tuple[str, t.Any]]:
    """Return the names of the fields of all columns, with these."""
    name_of = fields.mapper.get_property_by_column
    return [(name_of(column).key, column) for column in fields.mapper.columns]


def _suspects(
    error: sa.exc.StatementError, kind: ErrorKind, attempt: Attempt
) -> Iterable[str]:
    """Return the fields that an error may be about if the database names none."""
    query = attempt.query

    if kind is INCOMPARABLE and query is not None:
        return [field.name for field in (*query.fields, *(f for f, _ in query.sort))]

    values = _values(attempt)

    if kind is REFERENCE:
        return [name for name, _, column in values if column.foreign_keys]

    if kind not in (MISFIT, PATTERN):
        return []

    is_of_type = not isinstance(error, sa.exc.DBAPIError)
    refused = [each for each in values if is_of_type and _refuses(each, attempt)]
    return [name for name, _, _ in refused or values]


def _values(attempt: Attempt) -> list[Value]:
    """Return the values of the statement, those to write only of the client if it has
    sent some.
    """
    columns = {} if attempt.fields is None else dict(named_columns(attempt.fields))
    written = [
        (name, value, columns[name])
        for body in attempt.bodies
        for name, value in body.items()
        if value is not None and name in columns
    ]
    sent = [each for each in written if each[0] in attempt.client_fields]
    query = attempt.query
    pairs = zip(query.comparisons, query.values, strict=True) if query else ()
    compared = [
        (comparison.field.name, item, comparison.field.column)
        for comparison, value in pairs
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]
    return [*(sent or written), *compared]


def _refuses(each: Value, attempt: Attempt) -> bool:
    """Return ``True`` if the type of a column refuses a value."""
    _, value, column = each
    dialect = attempt.dialect

    if dialect is None:
        return False

    bind = column.type.dialect_impl(dialect).bind_processor(dialect)

    try:
        if bind is not None:
            bind(value)
    except BIND_ERRORS:
        return True

    return False


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
