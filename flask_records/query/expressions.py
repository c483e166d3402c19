"""SQL expressions of the conditions and the order of a resolved query."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

import sqlalchemy as sa

from .operators import GROUPS
from .operators import Listed
from .resolution import Kind
from .resolution import ResolvedComparison
from .resolution import ResolvedQuery
from .resolution import Term

if t.TYPE_CHECKING:
    from .field import Field

    Expression: t.TypeAlias = sa.ColumnElement[bool]

ValueOf: t.TypeAlias = Callable[[ResolvedComparison], t.Any]
"""Returns the value of the next comparison, or the parameter that stands for it."""


def conditions(
    query: ResolvedQuery, columns: Mapping[str, t.Any] | None = None
) -> list[Expression]:
    """Return the conditions of a query, all of which have to hold. Parameters stand for
    the values if the query has a shape.

    :param columns: The column of each field, by its name. The attributes of the model
        by default.
    """
    values = iter(query.values)
    value_of = _parameters() if query.has_shape else lambda term: next(values)
    return [_expression(term, value_of, columns) for term in query.terms]


def order(
    sort: Sequence[tuple[Field, bool]],
    primary_key: Sequence[t.Any],
    *,
    nulls: bool = False,
    same_direction: bool = False,
) -> list[t.Any]:
    """Return the order of records. The primary key breaks ties, so that pages never
    overlap.

    :param sort: Fields, and ``True`` for those in descending order.
    :param nulls: State that null is less than everything else, for a database where it
        is not.
    :param same_direction: Break ties in the direction of the last field, so that an
        index on it serves the whole sort.
    """
    columns = [_direction(field, descending, nulls) for field, descending in sort]

    if same_direction and sort and sort[-1][1]:
        return [*columns, *(column.desc() for column in primary_key)]

    return [*columns, *primary_key]


def _expression(
    term: Term, value_of: ValueOf, columns: Mapping[str, t.Any] | None
) -> Expression:
    if isinstance(term, ResolvedComparison):
        field = term.field
        column = field.column if columns is None else columns[field.name]
        return term.operator.compare(column, value_of(term))

    return GROUPS[term.operator](
        [_expression(each, value_of, columns) for each in term.terms]
    )


def _parameters() -> ValueOf:
    index = -1

    def parameter(term: ResolvedComparison) -> t.Any:
        nonlocal index
        index += 1
        name, type_ = f"records_{index}", term.field.column.type

        if term.kind is Kind.NULL:
            return None

        if term.kind is Kind.VALUE:
            return sa.bindparam(name, type_=type_)

        items = sa.bindparam(name, type_=type_, expanding=True)
        return Listed(items, term.kind is Kind.LIST_WITH_NULL)

    return parameter


def _direction(field: Field, descending: bool, nulls: bool) -> t.Any:
    column = field.column.desc() if descending else field.column.asc()

    if not nulls or not field.is_nullable:
        return column

    return column.nulls_last() if descending else column.nulls_first()
