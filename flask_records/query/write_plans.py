"""Statements that write to one table and return the rows that they have written."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .expressions import conditions
from .plans import ID
from .plans import NO_CACHE
from .plans import Plan
from .plans import StatementCache

if t.TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from .field import Field
    from .fields import Fields
    from .resolution import ResolvedQuery

    Statement: t.TypeAlias = sa.Insert | sa.Update | sa.Delete


class WritePlans:
    """Plans of the writes of one kind of caller, for a model that is one table."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._table = t.cast("sa.Table", fields.mapper.local_table)
        self._cache = StatementCache()
        # As for reads.
        self._options = NO_CACHE if fields.has_comparators else None

    def insert(
        self,
        selected: tuple[Field, ...],
        rows: Sequence[Mapping[str, t.Any]],
        *,
        in_order: bool,
    ) -> Plan:
        """Return the plan that inserts rows. It returns the primary keys after the
        selected fields.
        """
        statement = self._cache.get(
            ("insert", selected, in_order),
            lambda: self._insert(selected, in_order),
            len(selected),
        )
        return Plan(statement, rows, self._options)

    def update(
        self, query: ResolvedQuery, id: t.Any, values: Mapping[str, t.Any]
    ) -> Plan:
        """Return the plan that updates the record of an identifier, if it meets the
        query.
        """
        names = tuple(values)
        statement = self._cache.get(
            ("update", names, query.selected),
            lambda: self._update(query, names),
            len(names) + len(query.selected),
            query,
        )
        new = {_new(index): value for index, value in enumerate(values.values())}
        return self._plan(query, statement, {ID: id, **new})

    def delete(self, query: ResolvedQuery, id: t.Any) -> Plan:
        """Return the plan that deletes the record of an identifier, if it meets the
        query.
        """
        statement = self._cache.get(
            ("delete", query.selected),
            lambda: self._matching(query, sa.delete(self._table)),
            len(query.selected),
            query,
        )
        return self._plan(query, statement, {ID: id})

    def _plan(
        self, query: ResolvedQuery, statement: Statement, parameters: dict[str, t.Any]
    ) -> Plan:
        parameters.update(query.parameters)
        options = self._options if query.is_cacheable else NO_CACHE
        return Plan(statement, parameters, options)

    def _insert(self, selected: Sequence[Field], in_order: bool) -> Statement:
        return sa.insert(self._table).returning(
            *self._returned(selected),
            *self._fields.mapper.primary_key,
            sort_by_parameter_order=in_order,
        )

    def _update(self, query: ResolvedQuery, names: Sequence[str]) -> Statement:
        columns = self._fields.columns
        new = {
            columns[name]: sa.bindparam(_new(index), type_=columns[name].type)
            for index, name in enumerate(names)
        }
        return self._matching(query, sa.update(self._table).values(new))

    def _matching(
        self, query: ResolvedQuery, statement: sa.Update | sa.Delete
    ) -> Statement:
        """Return a statement for the record of an identifier that meets the query."""
        columns = self._fields.columns
        id = columns[self._fields.id.name]
        return statement.where(
            id == sa.bindparam(ID, type_=id.type), *conditions(query, columns)
        ).returning(*self._returned(query.selected))

    def _returned(self, selected: Sequence[Field]) -> list[t.Any]:
        columns = self._fields.columns
        return [field.returned(columns[field.name]) for field in selected]


def _new(index: int) -> str:
    return f"records_new_{index}"
