"""From a query and fields to a select."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .operators import GROUPS
from .syntax import Comparison

if t.TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from .field import Field
    from .fields import Fields
    from .operators import Operator
    from .syntax import Condition
    from .syntax import Group
    from .syntax import Query

    Expression: t.TypeAlias = sa.ColumnElement[bool]
    Select: t.TypeAlias = sa.Select[t.Any]


class Translator:
    """Makes statements of queries.

    :param fields: The fields that the caller knows of.
    :param operators: What may stand below a field.
    """

    def __init__(self, fields: Fields, operators: Mapping[str, Operator]) -> None:
        self._fields = fields
        self._operators = operators

    def where(self, query: Query) -> list[Expression]:
        """Return the conditions of a query, all of which have to hold.

        :raises BadRequest: A field is unknown, or a value is not of its type.
        """
        return [self._condition(term) for term in query.where]

    def order_by(self, query: Query, *, nulls: bool = False) -> list[t.Any]:
        """Return what a query is sorted by. Equal records are sorted by the primary
        key, so that pages never overlap.

        :param nulls: Say in the statement that null is less than everything else, for
            a database that has it otherwise.
        :raises BadRequest: A field is unknown, or has no order.
        """
        order = [
            self._direction(self._fields.ordered(name), descending, nulls)
            for name, descending in query.sort
        ]
        return order + self._fields.primary_key

    def select(self, query: Query, columns: Sequence[t.Any], **options: bool) -> Select:
        """Return the statement that reads the records of a query: where, order and
        skip, but no limit, which depends on the service.

        :param columns: The expressions to select.
        :param options: What :meth:`order_by` takes.
        :raises BadRequest: The query does not fit the fields.
        """
        statement = (
            sa.select(*columns)
            .where(*self.where(query))
            .order_by(*self.order_by(query, **options))
        )
        return statement.offset(query.skip) if query.skip else statement

    def count(self, query: Query) -> Select:
        """Return the statement that counts the records of a query.

        :raises BadRequest: The query does not fit the fields.
        """
        counted = sa.select(sa.func.count()).select_from(self._fields.model)
        return counted.where(*self.where(query))

    def _condition(self, term: Condition) -> Expression:
        if isinstance(term, Comparison):
            return self._comparison(term)

        return self._group(term)

    def _group(self, group: Group) -> Expression:
        terms = [self._condition(term) for term in group.terms]
        return GROUPS[group.operator](terms)

    def _comparison(self, comparison: Comparison) -> Expression:
        operator = self._operators[comparison.operator]
        find = (
            self._fields.ordered if operator.needs_order else self._fields.__getitem__
        )
        field = find(comparison.field)
        return operator.compare(field.column, operator.read(field, comparison.value))

    def _direction(self, field: Field, descending: bool, nulls: bool) -> t.Any:
        order = field.column.desc() if descending else field.column.asc()

        if not nulls or not field.is_nullable:
            return order

        return order.nulls_last() if descending else order.nulls_first()
