"""Values that a database refuses, named by their fields."""

from __future__ import annotations

import re
import typing as t

import sqlalchemy as sa
from sqlalchemy.types import NullType

from .. import problems
from ..errors import BadRequest
from ..query.database_types import conversion_of
from ..query.operators import pattern
from .availability import code_of

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from ..query import Fields
    from ..query.field import Field
    from ..query.resolution import ResolvedQuery
    from ..typing import Record
    from .attempt import Attempt

MISFIT: t.Final = problems.MISFIT, problems.POSSIBLE_MISFIT
BAD_PATTERN: t.Final = problems.BAD_PATTERN, problems.POSSIBLE_BAD_PATTERN
"""The problem of a field that is surely meant, and of one of several."""

CHECKED: t.Final = (sa.String, sa.Integer, sa.Boolean, sa.Date, sa.Uuid)
"""The types whose values are checked before a database gets them."""

COLUMN_OF_MYSQL = re.compile(r"column (?:`[^`]*`\.`[^`]*`\.)?[`']([^`']+)[`'] at row")

MYSQL_PATTERN, POSTGRESQL_PATTERN = 1139, "2201B"
MYSQL_COLLATIONS = {1253, 1267, 1270, 1271}
POSTGRESQL_INDEX = "54000"
POSTGRESQL_SYNTAX, POSTGRESQL_INTERNAL = "42601", "XX000"
POSTGRESQL_INCOMPARABLE = {"42883", "0A000"}
POSTGRESQL_LONG_NAME = "42622"
POSTGRESQL_RANGE = "22003"

BIND_ERRORS: t.Final = (
    *(ValueError, TypeError, AttributeError),
    *(ArithmeticError, LookupError),
)
"""The errors of a type that gets a value which it is not made for."""

CODES: t.Final = frozenset(
    {
        *(167, 1264, 1292, 1365, 1411, 1416, 1467),
        *(MYSQL_PATTERN, *MYSQL_COLLATIONS),
        *(POSTGRESQL_INDEX, POSTGRESQL_LONG_NAME),
    }
)
"""The codes of a value that does not fit, for which the driver has no class."""


class Candidate(t.NamedTuple):
    """A value that the database may have refused."""

    name: str
    """The name of its field, after the place of the body in a list."""

    value: t.Any
    """The value."""

    type_: sa.types.TypeEngine[t.Any]
    """The type of its column."""

    is_pattern: bool = False
    """``True`` for a regular expression."""


def is_misfit(error: sa.exc.StatementError) -> bool:
    """Return ``True`` if a database, or the type of a column, refuses a value."""
    if not isinstance(error, sa.exc.DBAPIError):
        return isinstance(error.orig, BIND_ERRORS)

    # psycopg can't read a stored value, after the statement.
    if error.statement is None:
        return False

    is_data = isinstance(error, sa.exc.DataError) or code_of(error) in CODES
    return is_data or _is_syntax_of_value(error)


def misfit(error: sa.exc.StatementError, attempt: Attempt) -> BadRequest:
    """Return the error for values that a database refuses. It names their fields: those
    that may be meant if the database does not say which.
    """
    fields, bodies, client_fields, query, dialect = attempt
    candidates = [*_of_bodies(fields, bodies, client_fields), *_of_query(query)]
    is_pattern = code_of(error) in (MYSQL_PATTERN, POSTGRESQL_PATTERN)
    why, suspicion = BAD_PATTERN if is_pattern else MISFIT
    names = _in_message(error, fields)

    for narrow in (*NARROWER, lambda *_: candidates):
        if not names:
            suspects = narrow(error, candidates, dialect)
            names = list(dict.fromkeys(each.name for each in suspects))

    shown = ", ".join(f"'{name}'" for name in names)

    if len(names) > 1:
        text = f"One of {shown} {why}."
        return BadRequest(text, errors=dict.fromkeys(names, suspicion))

    text = f"{shown or 'A value'} {why}."
    return BadRequest(text, errors=dict.fromkeys(names, why))


def incomparable(
    error: sa.exc.DBAPIError, query: ResolvedQuery | None
) -> BadRequest | None:
    """Return the error for a field of a type that PostgreSQL does not compare, if one
    is compared or sorted by. ``None`` for another error.
    """
    if query is None or code_of(error) not in POSTGRESQL_INCOMPARABLE:
        return None

    fields = [*query.fields, *(field for field, _ in query.sort)]
    names = [field.name for field in fields if _is_foreign(field)]

    if not names:
        return None

    shown = ", ".join(f"'{name}'" for name in names)
    why = problems.INCOMPARABLE
    return BadRequest(f"{shown} {why}.", errors=dict.fromkeys(names, why))


def _is_foreign(field: Field) -> bool:
    """Return ``True`` for a field of a type that only the database knows, an array of
    one, or a column that was reflected from the database without its type.
    """
    type_ = field.column.type

    if isinstance(type_, sa.ARRAY):
        item = conversion_of(type_.item_type)
        return item is not None and item.is_foreign

    return field.conversion.is_foreign or isinstance(type_, NullType)


def _is_syntax_of_value(error: sa.exc.DBAPIError) -> bool:
    """Return ``True`` if PostgreSQL can't parse a value, such as a ``tsvector``, and
    not a statement, whose place it would name.
    """
    details = t.cast("t.Any", getattr(error.orig, "diag", None))

    if details is None or details.statement_position is not None:
        return False

    code = code_of(error)
    is_hstore = details.source_file == "hstore_io.c"
    return code == POSTGRESQL_SYNTAX or (code == POSTGRESQL_INTERNAL and is_hstore)


def _of_bodies(
    fields: Fields | None, bodies: Sequence[Record], client_fields: Collection[str]
) -> Iterable[Candidate]:
    columns = {} if fields is None else fields.columns
    candidates = [
        (name, Candidate(f"{index}.{name}" if len(bodies) > 1 else name, value, type_))
        for index, body in enumerate(bodies)
        for name, value in body.items()
        if value is not None and name in columns
        for type_ in [columns[name].type]
    ]
    sent = [each for name, each in candidates if name in client_fields]
    return sent or [each for _, each in candidates]


def _of_query(query: ResolvedQuery | None) -> Iterator[Candidate]:
    if query is None:
        return

    for comparison, value in zip(query.comparisons, query.values, strict=True):
        field, is_pattern = comparison.field, comparison.operator.read is pattern

        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield Candidate(field.name, item, field.column.type, is_pattern)


def _in_message(error: sa.exc.StatementError, fields: Fields | None) -> list[str]:
    """Return the field whose column MariaDB names."""
    match = COLUMN_OF_MYSQL.search(str(error.orig))

    if match is None or fields is None:
        return []

    return [
        name
        for name, column in fields.columns.items()
        if column.name == match[1]
        and (name in fields.names or fields.body.is_written(name))
    ]


def _refused_by_types(
    error: sa.exc.StatementError,
    candidates: Sequence[Candidate],
    dialect: sa.Dialect | None,
) -> list[Candidate]:
    """Return the values that the types of their columns refuse."""
    if isinstance(error, sa.exc.DBAPIError) or dialect is None:
        return []

    return [each for each in candidates if _is_refused(each, dialect)]


def _is_refused(candidate: Candidate, dialect: sa.Dialect) -> bool:
    bind = candidate.type_.dialect_impl(dialect).bind_processor(dialect)

    try:
        if bind is not None:
            bind(candidate.value)
    except BIND_ERRORS:
        return True

    return False


def _quoted(
    error: sa.exc.StatementError, candidates: Sequence[Candidate], dialect: t.Any
) -> list[Candidate]:
    """Return the values that the message of the database has."""
    message = str(error.orig)
    return [
        each
        for each in candidates
        if f'"{each.value}"' in message or f"'{each.value}'" in message
    ]


def _of_kind(
    error: sa.exc.StatementError, candidates: Sequence[Candidate], dialect: t.Any
) -> list[Candidate]:
    """Return the values of the kind that the error is about."""
    code = code_of(error)

    if code in (MYSQL_PATTERN, POSTGRESQL_PATTERN):
        return [each for each in candidates if each.is_pattern]

    texts = [each for each in candidates if isinstance(each.value, str)]

    if code in MYSQL_COLLATIONS:
        return [each for each in texts if not each.value.isascii()]

    # An index holds short texts only.
    return [max(texts, key=_length)] if texts and code == POSTGRESQL_INDEX else []


def _foreign(
    error: sa.exc.StatementError, candidates: Sequence[Candidate], dialect: t.Any
) -> list[Candidate]:
    """Return the values of types that only one database has."""
    if code_of(error) == POSTGRESQL_RANGE:
        return []

    conversions = [conversion_of(each.type_, dialect) for each in candidates]
    return [
        each
        for each, conversion in zip(candidates, conversions, strict=True)
        if conversion is not None and conversion.is_foreign
    ]


def _unchecked(
    error: sa.exc.StatementError, candidates: Sequence[Candidate], dialect: t.Any
) -> list[Candidate]:
    """Return the values that only the database can check."""
    return [each for each in candidates if not isinstance(each.type_, CHECKED)]


def _length(candidate: Candidate) -> int:
    return len(candidate.value)


NARROWER: Sequence[Callable[..., list[Candidate]]] = (
    _refused_by_types,
    _quoted,
    _of_kind,
    _foreign,
    _unchecked,
)
"""The ways to find the values that are meant, each used if those before find none."""
