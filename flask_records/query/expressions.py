"""SQL expressions of the conditions and the order of a resolved query."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .operators import all_of, GROUPS, Listed, MAX_WIDTH
from .resolution import Kind, PREFIX, ResolvedComparison

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .field import Field
    from .resolution import ResolvedQuery, Term

    Expression: t.TypeAlias = sa.ColumnElement[bool]


def conditions(
    query: ResolvedQuery,
    columns: Mapping[str, t.Any] | None = None,
    *,
    prefix: str = PREFIX,
) -> list[Expression]:
    """Return the conditions of a query, all of which have to hold. Parameters stand for
    the values if the query has a shape.

    :param columns: The column of each field, by its name. The attributes of the model
        by default.
    :param prefix: The beginning of the names of the parameters.
    """
    values = iter(_parameters(query, prefix) if query.has_shape else query.values)
    terms = [_expression(term, values, columns) for term in query.terms]
    return terms if len(terms) <= MAX_WIDTH else [all_of(terms)]


def order(
    sort: Sequence[tuple[Field, bool]],
    primary_key: Sequence[t.Any],
    *,
    nulls: bool = False,
) -> list[t.Any]:
    """Return the order of records. The primary key breaks ties, so that pages never
    overlap, in the direction of the last field, so that an index on it serves the
    whole sort.

    :param sort: Fields, and ``True`` for those in descending order.
    :param nulls: State that null is less than everything else, for a database where it
        is not.
    """
    columns = [_direction(field, descending, nulls) for field, descending in sort]

    if sort and sort[-1][1]:
        return [*columns, *(column.desc() for column in primary_key)]

    return [*columns, *primary_key]


def _expression(
    term: Term, values: Iterator[t.Any], columns: Mapping[str, t.Any] | None
) -> Expression:
    if isinstance(term, ResolvedComparison):
        field = term.field
        column = field.column if columns is None else columns[field.name]
        return term.operator.compare(column, next(values))

    terms = [_expression(each, values, columns) for each in term.terms]
    return GROUPS[term.operator](terms)


def _parameters(query: ResolvedQuery, prefix: str) -> Iterator[t.Any]:
    """Yield the parameters that stand for the values of a query."""
    for index, (field, kind) in enumerate(zip(query.fields, query.kinds, strict=True)):
        name, type_ = f"{prefix}{index}", field.column.type

        if kind is Kind.NULL:
            yield None
        elif kind is Kind.VALUE:
            yield sa.bindparam(name, type_=type_)
        else:
            items = sa.bindparam(name, type_=type_, expanding=True)
            yield Listed(items, kind is Kind.LIST_WITH_NULL)


def _direction(field: Field, descending: bool, nulls: bool) -> t.Any:
    column = field.column.desc() if descending else field.column.asc()

    if not nulls or not field.is_nullable:
        return column

    return column.nulls_last() if descending else column.nulls_first()
