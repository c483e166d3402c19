"""From a query and fields to a select."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import sqlalchemy as sa

from .field import Field
from .operators import Bound
from .operators import GROUPS
from .operators import Listed
from .shape import Compared
from .shape import Joined
from .shape import Kind
from .shape import Reading
from .syntax import Comparison

if t.TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from .fields import Fields
    from .operators import Operator
    from .shape import Term
    from .syntax import Condition
    from .syntax import Query

    Expression: t.TypeAlias = sa.ColumnElement[bool]
    Select: t.TypeAlias = sa.Select[t.Any]


MAX_TERMS: t.Final = 40
"""How many terms a query has if its statement is kept."""


Take: t.TypeAlias = Callable[[Compared], t.Any]


class Translator:
    """Makes statements of queries.

    :param fields: The fields that the caller knows of.
    :param operators: What may stand below a field.
    """

    def __init__(self, fields: Fields, operators: Mapping[str, Operator]) -> None:
        self._fields = fields
        self._operators = operators

    def read(self, query: Query) -> Reading:
        """Return a query with its fields looked up and its values cast.

        :raises BadRequest: A field is unknown or has no order, or a value is not of its
            type.
        """
        values: list[t.Any] = []
        kinds: list[Kind] = []
        terms = tuple([self._term(term, values, kinds) for term in query.where])
        sort = tuple([(self._fields.ordered(name), way) for name, way in query.sort])
        is_literal = Kind.LITERAL in kinds
        size = _size(terms) + len(sort) + (_size_of_lists(values) if is_literal else 0)
        is_cacheable = size <= MAX_TERMS
        is_kept = is_cacheable and not is_literal
        return Reading(terms, values, kinds, sort, size, is_cacheable, is_kept)

    def where(self, query: Query) -> list[Expression]:
        """Return the conditions of a query, all of which have to hold.

        :raises BadRequest: A field is unknown, or a value is not of its type.
        """
        return self.conditions(self.read(query), is_kept=False)

    def conditions(
        self,
        reading: Reading,
        *,
        is_kept: bool,
        columns: Mapping[str, t.Any] | None = None,
    ) -> list[Expression]:
        """Return the conditions of a query, all of which have to hold.

        :param reading: The query.
        :param is_kept: Leave parameters in place of the values.
        :param columns: What stands for each field, by its name. The attributes of the
            model by default.
        """
        values = iter(reading.values)
        take = _parameters() if is_kept else lambda term: next(values)
        return [_expression(term, take, columns) for term in reading.terms]

    def order_by(self, query: Query, *, nulls: bool = False) -> list[t.Any]:
        """Return what a query is sorted by. Equal records are sorted by the primary
        key, so that pages never overlap.

        :param nulls: Say in the statement that null is less than everything else, for
            a database that has it otherwise.
        :raises BadRequest: A field is unknown, or has no order.
        """
        sort = [(self._fields.ordered(name), way) for name, way in query.sort]
        return self.order(sort, nulls=nulls)

    def order(
        self,
        sort: Sequence[tuple[Field, bool]],
        *,
        nulls: bool = False,
        same_way: bool = False,
    ) -> list[t.Any]:
        """Return what records are sorted by.

        :param sort: Fields, and whether each is sorted descending.
        :param nulls: As for :meth:`order_by`.
        :param same_way: Sort equal records the way of the last field. An index of it
            ends in the primary key on some databases, and then does it all.
        """
        order = [_direction(field, descending, nulls) for field, descending in sort]
        is_descending = same_way and bool(sort) and sort[-1][1]
        keys = self._fields.primary_key
        return order + ([key.desc() for key in keys] if is_descending else keys)

    def select(self, query: Query, columns: Sequence[t.Any], **options: bool) -> Select:
        """Return the statement that reads the records of a query: where, order and
        skip, but no limit, which depends on the service.

        :param columns: The expressions to select.
        :param options: What :meth:`order` takes.
        :raises BadRequest: The query does not fit the fields.
        """
        statement = self.selected(self.read(query), columns, **options)
        return statement.offset(query.skip) if query.skip else statement

    def selected(
        self, reading: Reading, columns: Sequence[t.Any], **options: bool
    ) -> Select:
        """Return the statement that reads the records of a query, with its values in
        it: where and order.

        :param reading: The query.
        :param columns: The expressions to select.
        :param options: What :meth:`order` takes.
        """
        return (
            sa.select(*columns)
            .where(*self.conditions(reading, is_kept=False))
            .order_by(*self.order(reading.sort, **options))
        )

    def count(self, query: Query) -> Select:
        """Return the statement that counts the records of a query.

        :raises BadRequest: The query does not fit the fields.
        """
        return self.counted(self.where(query))

    def counted(self, conditions: Sequence[Expression]) -> Select:
        """Return the statement that counts the records that meet conditions.

        :param conditions: The conditions, all of which have to hold.
        """
        counted = sa.select(sa.func.count()).select_from(self._fields.model)
        return counted.where(*conditions)

    def _term(self, term: Condition, values: list[t.Any], kinds: list[Kind]) -> Term:
        if isinstance(term, Comparison):
            return self._compared(term, values, kinds)

        terms = [self._term(each, values, kinds) for each in term.terms]
        return Joined(term.operator, tuple(terms))

    def _compared(
        self, comparison: Comparison, values: list[t.Any], kinds: list[Kind]
    ) -> Term:
        operator = self._operators[comparison.operator]
        find = (
            self._fields.ordered if operator.needs_order else self._fields.__getitem__
        )
        field = find(comparison.field)
        value = operator.read(field, comparison.value)
        kind = _kind(field, operator, value)
        values.append(value)
        kinds.append(kind)
        return Compared(field, operator, kind)


def _expression(
    term: Term, take: Take, columns: Mapping[str, t.Any] | None
) -> Expression:
    if isinstance(term, Compared):
        field = term.field
        column = field.column if columns is None else columns[field.name]
        return term.operator.compare(column, take(term))

    return GROUPS[term.operator](
        [_expression(each, take, columns) for each in term.terms]
    )


def _size(terms: Sequence[Term]) -> int:
    """Return the number of comparisons and groups. A group of one is not written."""
    size = len(terms)

    for term in terms:
        if isinstance(term, Joined):
            size += _size(term.terms) - (len(term.terms) == 1)

    return size


def _size_of_lists(values: Sequence[t.Any]) -> int:
    # A term of its own may stand for each of the items.
    return sum([len(value) for value in values if isinstance(value, list)])


def _kind(field: Field, operator: Operator, value: t.Any) -> Kind:
    if operator.bound is None or not field.is_bindable:
        return Kind.LITERAL

    if value is None:
        return Kind.NULL

    if operator.bound is Bound.ONE:
        return Kind.VALUE

    return Kind.LIST_WITH_NULL if None in value else Kind.LIST


def _parameters() -> Take:
    """Return a function that gives each term in turn what stands for its value."""
    place = -1

    def take(term: Compared) -> t.Any:
        nonlocal place
        place += 1
        name, type_ = f"records_{place}", term.field.column.type

        if term.kind is Kind.NULL:
            return None

        if term.kind is Kind.VALUE:
            return sa.bindparam(name, type_=type_)

        every = sa.bindparam(name, type_=type_, expanding=True)
        return Listed(every, term.kind is Kind.LIST_WITH_NULL)

    return take


def _direction(field: Field, descending: bool, nulls: bool) -> t.Any:
    order = field.column.desc() if descending else field.column.asc()

    if not nulls or not field.is_nullable:
        return order

    return order.nulls_last() if descending else order.nulls_first()
