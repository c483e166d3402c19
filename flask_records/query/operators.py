"""The operators, each a row in a table: the SQL of a condition, and its test in Python.

Python decides as far as all databases compare values alike. What it can't decide is
``None``, and left to the database.
"""

from __future__ import annotations

import datetime as dt
import enum
import operator
import typing as t
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa
from sqlalchemy.sql import operators

from ..settings import mapping_of
from .bounds import POPULATE as POPULATE
from .conversions import is_json
from .field import Field
from .readers import contained, ESCAPE, flag, listed, many, one, pair, pattern, text

Column: t.TypeAlias = "sa.ColumnElement[t.Any]"
Expression: t.TypeAlias = "sa.ColumnElement[bool]"
ToSQL: t.TypeAlias = Callable[[t.Any, t.Any], Expression]
Test: t.TypeAlias = Callable[[t.Any, t.Any], bool | None]

AND: t.Final = "$and"
OR: t.Final = "$or"

NOT: t.Final = "$not"
"""Negates a condition. It stands below a field or before a query."""

LIMIT: t.Final = "$limit"
"""Bounds the number of records."""

SELECT: t.Final = "$select"
"""Names the fields that are shown."""

SKIP: t.Final = "$skip"
SORT: t.Final = "$sort"

PAGING: t.Final = (LIMIT, SKIP, SORT, SELECT)
"""The special parameters of every service that are not conditions."""

ORDERED: t.Final = (bool, int, dt.date, dt.time)
"""The types whose values all databases order as Python does."""

EXACT: t.Final = (*ORDERED, uuid.UUID, enum.Enum)
"""The types whose values are equal on all databases if they are in Python."""


# Two operators are equal only if they are the same object.
@dataclass(frozen=True, eq=False)
class Operator:
    """An operator below a field of a query, such as ``$gt``. An application gives a
    service its own ones: ``operators={"$startsWith": Operator(starts_with)}``.
    """

    compare: ToSQL
    """Returns the condition for the column and the value that was read."""

    read: Callable[[Field, t.Any], t.Any] = one
    """Reads the value: ``one`` of :mod:`.readers`, which is the default, ``many``,
    ``pair``, ``text``, ``flag``, or a function like these.
    """

    needs_order: bool = False
    """``True`` if the values of the field need an order."""

    is_bound: bool = False
    """``True`` if the condition is the same for all values but null, so that its
    statement is built once: ``compare`` then gets ``None``, or a parameter. By default
    it gets the value itself, and a statement is built for each call.
    """

    test: Test | None = None
    """Compares a value of a record with the value that was read, without the database:
    ``None`` if only the database can. By default only the database can.
    """

    fields: Collection[str] | None = None
    """The names of the fields that the operator is for. All by default."""


def _equals(column: Column, value: t.Any) -> Expression:
    if value is not None:
        return t.cast(Expression, column == value)

    # An identifier of several columns, none of which is null.
    if isinstance(column, sa.Tuple):
        return sa.false()

    if not is_json(column.type):
        return column.is_(None)

    return sa.or_(column.is_(None), sa.cast(column, sa.Text) == "null")


def _differs(column: Column, value: t.Any) -> Expression:
    if value is not None:
        return column.is_distinct_from(value)

    return sa.not_(_equals(column, None))


def _is_not_true(condition: Expression) -> Expression:
    """Return the opposite of a condition that may be null, which counts as false."""
    return sa.not_(sa.func.coalesce(condition, sa.false()))


def _like(column: Column, pattern: t.Any) -> Expression:
    return column.like(_text(pattern), escape=ESCAPE)


def _like_any_case(column: Column, pattern: t.Any) -> Expression:
    return column.ilike(_text(pattern), escape=ESCAPE)


def _text(pattern: t.Any) -> t.Any:
    # A type of the application may change what is compared with its column.
    return sa.type_coerce(pattern, sa.String())


def _bind(column: Column, value: t.Any) -> t.Any:
    """Return a value as an expression of the column's type."""
    is_expression = isinstance(value, sa.ColumnElement)
    return value if is_expression else sa.literal(value, column.type)


def is_equal(value: t.Any, other: t.Any) -> bool | None:
    """Return ``True`` if values are the same, ``None`` if that is unknown."""
    if value is None or other is None:
        return value is other

    if isinstance(value, EXACT):
        return bool(value == other)

    if not isinstance(value, str):
        return None

    return value == other or (None if _may_equal(value, other) else False)


def _may_equal(value: str, other: str) -> bool:
    """Return ``False`` if texts differ by more than case, accents and spaces at the
    end. Only the database knows which accents and control characters it ignores.
    """
    texts = value, other
    is_vague = not all([each.isascii() and each.isprintable() for each in texts])
    return is_vague or value.casefold().rstrip() == other.casefold().rstrip()


def _is_among(value: t.Any, values: Sequence[t.Any]) -> bool | None:
    return some(is_equal(value, each) for each in values)


def some(results: Iterable[bool | None]) -> bool | None:
    """Return ``True`` if one of some results is, ``None`` if one may be."""
    answer: bool | None = False

    for result in results:
        if result:
            return True

        if result is None:
            answer = None

    return answer


def every(results: Iterable[bool | None]) -> bool | None:
    """Return ``True`` if all results are, ``None`` if all may be."""
    return opposite(some(map(opposite, results)))


def opposite(result: bool | None) -> bool | None:
    """Return the opposite of a result, if it is known."""
    return None if result is None else not result


def _compare_by(compare: Callable[[t.Any, t.Any], t.Any]) -> Operator:
    """Return the operator of less, greater or the like, by Python's function."""

    # Null is neither less nor greater than anything.
    def in_sql(column: Column, value: t.Any) -> Expression:
        return sa.false() if value is None else compare(column, _bind(column, value))

    def in_python(value: t.Any, other: t.Any) -> bool | None:
        if value is None or other is None:
            return False

        return compare(value, other) if isinstance(value, ORDERED) else None

    return Operator(in_sql, needs_order=True, is_bound=True, test=in_python)


def _is_time(column: Column, value: t.Any) -> Expression:
    return column.between(_short(column, value), _bind(column, value))


def _short(column: Column, value: t.Any) -> t.Any:
    """Return the text of a time on SQLite without the zeros at its end."""
    return sa.func.rtrim(sa.func.rtrim(_bind(column, value), "0"), ".")


def _whole(column: Column) -> Column:
    """Return the text of a column of times on SQLite with the zeros at its end."""
    text = _text(column)
    digits = sa.func.length(text) - sa.func.instr(text + ".", ".")
    whole = text + sa.func.substr(".000000", digits + 2)
    return sa.type_coerce(whole, column.type)


def _negate(test: Test) -> Test:
    return lambda value, other: opposite(test(value, other))


EQUAL: t.Final = Operator(_equals, is_bound=True, test=is_equal)
DIFFERENT: t.Final = Operator(_differs, is_bound=True, test=_negate(is_equal))
NULL: t.Final = Operator(_equals, flag)
"""``$null``, which is resolved to one of these two and null."""

IN: t.Final = Operator(operators.in_op, many, is_bound=True, test=_is_among)
NOT_IN: t.Final = Operator(
    lambda c, v: _is_not_true(c.in_(v)), many, is_bound=True, test=_negate(_is_among)
)

LISTS: t.Final = {IN: OR, NOT_IN: "$nor"}
"""The operators of lists, and the groups that lists with null are split into."""

LESS: t.Final = _compare_by(operator.lt)
AT_LEAST: t.Final = _compare_by(operator.ge)
AT_MOST: t.Final = _compare_by(operator.le)
BETWEEN: t.Final = Operator(operators.in_op, pair, needs_order=True)
"""``$between``, which is resolved to these two."""

BUILT_IN: dict[str, Operator] = {
    "$eq": EQUAL,
    "$ne": DIFFERENT,
    "$in": IN,
    "$nin": NOT_IN,
    "$lt": LESS,
    "$lte": AT_MOST,
    "$gt": _compare_by(operator.gt),
    "$gte": AT_LEAST,
}
"""The operators that every service has. See section 4.2 of the specification."""

OF_SHORT_TIMES: t.Final = {
    EQUAL: replace(EQUAL, compare=_is_time),
    DIFFERENT: replace(DIFFERENT, compare=lambda *of: _is_not_true(_is_time(*of))),
    LESS: replace(LESS, compare=lambda c, v: LESS.compare(c, _short(c, v))),
    AT_LEAST: replace(AT_LEAST, compare=lambda c, v: AT_LEAST.compare(c, _short(c, v))),
    # A condition for each value would be too deep for SQLite.
    IN: replace(IN, compare=lambda c, v: IN.compare(_whole(c), v)),
    NOT_IN: replace(NOT_IN, compare=lambda c, v: NOT_IN.compare(_whole(c), v)),
}
"""The operators that find a time of SQLite in each form: SQL such as ``now()`` stores
fewer digits than SQLAlchemy does, and SQLite compares the texts. Indexes serve them,
except operators of lists.
"""

ON_WHITELIST: dict[str, Operator] = {
    "$like": Operator(_like, text, is_bound=True),
    "$notLike": Operator(lambda c, v: _is_not_true(_like(c, v)), text, is_bound=True),
    "$ilike": Operator(_like_any_case, text, is_bound=True),
    "$regex": Operator(lambda c, v: c.regexp_match(_text(v)), pattern, is_bound=True),
    "$search": Operator(_like_any_case, contained, is_bound=True),
    # A list has all of some items, or any of them.
    "$contains": Operator(lambda c, items: all_of([has(c) for has in items]), listed),
    "$overlap": Operator(lambda c, items: _any_of([has(c) for has in items]), listed),
    "$null": NULL,
    "$between": BETWEEN,
}
"""The operators that a service has if its ``whitelist`` names them."""


class Join(t.NamedTuple):
    """A way to join conditions."""

    in_sql: Callable[[Sequence[Expression]], Expression]
    """Returns the condition for some conditions."""

    in_python: Callable[[Iterable[bool | None]], bool | None]
    """Returns the result for the results of these."""


def all_of(terms: Sequence[Expression]) -> Expression:
    """Return the condition that all conditions hold."""
    return sa.and_(sa.true(), *terms)


def _any_of(terms: Sequence[Expression]) -> Expression:
    # An or_() of nothing is deprecated. A leading false() leaves no trace in the SQL.
    return sa.or_(sa.false(), *terms)


def _none_of(terms: Sequence[Expression]) -> Expression:
    return _is_not_true(_any_of(terms))


NONE: t.Final = Join(_none_of, lambda results: opposite(some(results)))

GROUPS: dict[str, Join] = {
    AND: Join(all_of, every),
    OR: Join(_any_of, some),
    "$nor": NONE,
    NOT: NONE,
}
"""The groups of conditions, by name."""


class Syntax:
    """The names that queries of a service may use.

    :param whitelist: The names besides the ones that every service has.
    :param own: The operators of the application.
    :raises TypeError: The operators are not a mapping.
    :raises ValueError: The whitelist has an unknown name.
    """

    def __init__(
        self, whitelist: Collection[str], operators: Mapping[str, Operator] | None
    ) -> None:
        example = '{"$startsWith": Operator(...)}'
        own = mapping_of("operators", operators, example, Operator)

        for name in whitelist:
            if name not in {*ON_WHITELIST, *BUILT_IN, *own, *GROUPS, POPULATE}:
                names = ", ".join([*ON_WHITELIST, "$nor", NOT, POPULATE])
                raise ValueError(
                    f"'whitelist' names '{name}', which is not known. Choose from:"
                    f" {names}. Give an operator of your own in 'operators', and let a"
                    " before hook take anything else out of the query."
                )

        optional = {n: each for n, each in ON_WHITELIST.items() if n in whitelist}
        self.operators = {**BUILT_IN, **optional, **own}
        """The operators below a field, such as ``$gt``, by name."""
        self.groups = frozenset({OR, AND, *GROUPS.keys() & whitelist})
        """The groups of conditions, such as ``$or``."""
        self.populates = POPULATE in whitelist
        """``True`` if ``$populate`` is among the names."""
