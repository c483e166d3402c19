"""The operators, each a row in a table."""

from __future__ import annotations

import operator
import re
import typing as t
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from ..errors import BadRequest
from .fields import Field
from .fields import shown
from .syntax import items_of

Expression: t.TypeAlias = "sa.ColumnElement[bool]"

MAX_PATTERN: t.Final = 200
"""The longest regular expression that is run."""

ESCAPE = "\\"
WILDCARDS = re.compile(r"[%_\\]")
GLOB_PARTS = re.compile(r"\\(.)|(%)|(_)|([\[\]*?])", re.DOTALL)


def one(field: Field, value: t.Any) -> t.Any:
    """Read one value of the field's type."""
    return field.compared(value)


def many(field: Field, value: t.Any) -> list[t.Any]:
    """Read a list of values of the field's type. One value is a list of one."""
    items = items_of(value)
    return [field.compared(item) for item in ([value] if items is None else items)]


def pair(field: Field, value: t.Any) -> list[t.Any]:
    """Read two values of the field's type."""
    values = many(field, value)

    if len(values) != 2 or None in values:
        raise _wrong(field, value, "is not a list of two values")

    return values


def text(field: Field, value: t.Any) -> str:
    """Read text for a field that holds text."""
    if not field.conversion.is_text:
        raise BadRequest(
            f"'{field.name}' is not text.", errors={field.name: "is not text"}
        )

    if not isinstance(value, str):
        raise _wrong(field, value, "is not text")

    return t.cast(str, field.compared(value))


def pattern(field: Field, value: t.Any) -> str:
    """Read a regular expression for a field that holds text."""
    expression = text(field, value)

    try:
        re.compile(expression)
    except (re.error, RecursionError, OverflowError):
        raise _wrong(field, value, "is not a regular expression") from None

    if len(expression) > MAX_PATTERN:
        raise _wrong(field, value, f"has more than {MAX_PATTERN} characters")

    return expression


def flag(field: Field, value: t.Any) -> bool:
    """Read ``true`` or ``false``, whatever the field holds."""
    known = {"true": True, "false": False, True: True, False: False}

    if not isinstance(value, (str, bool)) or value not in known:
        raise _wrong(field, value, "is neither true nor false")

    return known[value]


def _wrong(field: Field, value: t.Any, why: str) -> BadRequest:
    return BadRequest(
        f"'{field.name}' can't be compared with {shown(value)}, which {why}.",
        errors={field.name: why},
    )


Read: t.TypeAlias = Callable[[Field, t.Any], t.Any]
Compare: t.TypeAlias = Callable[[t.Any, t.Any], Expression]


@dataclass(frozen=True)
class Operator:
    """What stands below a field in a query, such as ``$gt``.

    An application gives a service its own ones:

    .. code-block:: python

        starts_with = Operator(lambda column, value: column.startswith(value), text)
        SQLAlchemyService(Message, operators={"$startsWith": starts_with})
    """

    compare: Compare
    """Makes the condition of the column and the value that was read."""

    read: Read = one
    """Reads the value: :func:`one`, :func:`many`, :func:`pair`, :func:`text`,
    :func:`pattern`, :func:`flag` or a function like these.
    """

    needs_order: bool = False
    """Whether the values of the field have to be less or greater than others."""


class LikeExactly(FunctionElement[bool]):
    """LIKE that minds upper and lower case on every database."""

    type = sa.Boolean()
    inherit_cache = True


@compiles(LikeExactly)
def _like_exactly(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    column, like, _ = element.clauses
    return str(compiler.process(column.like(like, escape=ESCAPE), **options))


@compiles(LikeExactly, "sqlite")
def _like_exactly_sqlite(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    # SQLite's LIKE takes upper and lower case of ASCII for the same, its GLOB doesn't.
    column, _, glob = element.clauses
    return str(compiler.process(column.op("GLOB")(glob), **options))


@compiles(LikeExactly, "mysql", "mariadb")
def _like_exactly_mysql(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    column, like, _ = element.clauses
    binary = sa.collate(column, "utf8mb4_bin").like(like, escape=ESCAPE)
    return str(compiler.process(binary, **options))


class SameJSON(FunctionElement[bool]):
    """Whether two JSON texts hold the same value."""

    type = sa.Boolean()
    inherit_cache = True


@compiles(SameJSON)
def _same_json(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    left, right = (compiler.process(clause, **options) for clause in element.clauses)
    return f"json({left}) = json({right})"


@compiles(SameJSON, "postgresql")
def _same_json_postgresql(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    left, right = (compiler.process(clause, **options) for clause in element.clauses)
    return f"CAST({left} AS JSONB) = CAST({right} AS JSONB)"


@compiles(SameJSON, "mysql", "mariadb")
def _same_json_mysql(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    left, right = (compiler.process(clause, **options) for clause in element.clauses)
    return f"JSON_CONTAINS({left}, {right}) AND JSON_CONTAINS({right}, {left})"


def _is_json(column: t.Any) -> bool:
    return isinstance(column.type, sa.JSON)


def _equals(column: t.Any, value: t.Any) -> Expression:
    if not _is_json(column):
        return t.cast(
            "Expression", column.is_(None) if value is None else column == value
        )

    same = SameJSON(column, sa.cast(sa.literal(value, column.type), sa.Text))
    return sa.or_(column.is_(None), same) if value is None else same


def _differs(column: t.Any, value: t.Any) -> Expression:
    if _is_json(column):
        return _is_not_true(_equals(column, value))

    if value is None:
        return t.cast("Expression", column.is_not(None))

    return t.cast("Expression", column.is_distinct_from(value))


def _is_in(column: t.Any, values: Sequence[t.Any]) -> Expression:
    if _is_json(column):
        return sa.or_(sa.false(), *(_equals(column, value) for value in values))

    known = [value for value in values if value is not None]
    found = column.in_(known)
    has_null = len(known) < len(values)
    return sa.or_(column.is_(None), found) if has_null else t.cast("Expression", found)


def _is_not_in(column: t.Any, values: Sequence[t.Any]) -> Expression:
    return _is_not_true(_is_in(column, values))


def _is_not_true(condition: Expression) -> Expression:
    """Return the opposite of a condition that may be null, which counts as false."""
    return sa.not_(sa.func.coalesce(condition, sa.false()))


def _ordered(compare: Compare) -> Operator:
    def compare_values(column: t.Any, value: t.Any) -> Expression:
        # Null is neither less nor greater than anything.
        return sa.false() if value is None else compare(column, value)

    return Operator(compare_values, needs_order=True)


def _like(column: t.Any, value: str) -> Expression:
    return LikeExactly(column, sa.literal(value), sa.literal(_glob(value)))


def _not_like(column: t.Any, value: str) -> Expression:
    return _is_not_true(_like(column, value))


def _ilike(column: t.Any, value: str) -> Expression:
    return t.cast("Expression", column.ilike(value, escape=ESCAPE))


def _search(column: t.Any, value: str) -> Expression:
    escaped = WILDCARDS.sub(lambda match: ESCAPE + match[0], value)
    return _ilike(column, f"%{escaped}%")


def _regex(column: t.Any, value: str) -> Expression:
    return t.cast("Expression", column.regexp_match(value))


def _is_null(column: t.Any, value: bool) -> Expression:
    return _equals(column, None) if value else _differs(column, None)


def _between(column: t.Any, value: Sequence[t.Any]) -> Expression:
    return t.cast("Expression", column.between(*value))


def _glob(like: str) -> str:
    """Return the GLOB pattern that means what a LIKE pattern means."""

    def part(match: re.Match[str]) -> str:
        escaped, percent, underscore, special = match.groups()

        if percent or underscore:
            return "*" if percent else "?"

        plain = escaped or special
        return f"[{plain}]" if plain in "[]*?" else str(plain)

    return GLOB_PARTS.sub(part, like)


BUILT_IN: dict[str, Operator] = {
    "$eq": Operator(_equals),
    "$ne": Operator(_differs),
    "$in": Operator(_is_in, many),
    "$nin": Operator(_is_not_in, many),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
}
"""The operators that every service has. See section 4.2 of the specification."""

ON_WHITELIST: dict[str, Operator] = {
    "$like": Operator(_like, text),
    "$notLike": Operator(_not_like, text),
    "$ilike": Operator(_ilike, text),
    "$regex": Operator(_regex, pattern),
    "$search": Operator(_search, text),
    "$null": Operator(_is_null, flag),
    "$between": Operator(_between, pair, needs_order=True),
}
"""The operators that a service has if its ``whitelist`` names them."""

Join: t.TypeAlias = Callable[[Sequence[Expression]], Expression]


def _all_of(terms: Sequence[Expression]) -> Expression:
    return sa.and_(sa.true(), *terms)


def _any_of(terms: Sequence[Expression]) -> Expression:
    # An or_() of nothing is deprecated. A leading false() leaves no trace in the SQL.
    return sa.or_(sa.false(), *terms)


def _none_of(terms: Sequence[Expression]) -> Expression:
    return _is_not_true(_any_of(terms))


GROUPS: dict[str, Join] = {
    "$and": _all_of,
    "$or": _any_of,
    "$nor": _none_of,
    "$not": _none_of,
}
"""What joins conditions."""

BUILT_IN_GROUPS: t.Final = ("$or",)
"""The groups that every service has."""
