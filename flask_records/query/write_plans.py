"""Statements that write to one table and return the rows that they have written."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .expressions import conditions
from .plans import have_id, id_parameters, Plan, PlanCache

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .field import Field
    from .fields import Fields
    from .resolution import ResolvedQuery


class WritePlans:
    """Plans of the writes of one kind of caller, for a model that is one table."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._table = t.cast("sa.Table", fields.mapper.local_table)
        self._cache = PlanCache(fields)

    def insert(
        self,
        selected: tuple[Field, ...],
        rows: Sequence[Mapping[str, t.Any]],
    ) -> Plan:
        """Return the plan that inserts rows and returns fields, then primary keys, in
        the order of the rows.
        """
        in_order = len(rows) > 1

        def build() -> sa.Insert:
            return sa.insert(self._table).returning(
                *self._returned(selected),
                *self._fields.mapper.primary_key,
                sort_by_parameter_order=in_order,
            )

        key = ("insert", selected, in_order)
        return self._cache.plan(key, build, rows, len(selected))

    def update(
        self, query: ResolvedQuery, id: Sequence[t.Any], values: Mapping[str, t.Any]
    ) -> Plan:
        """Return the plan that updates the record of an identifier within a query."""
        names = tuple(values)

        def build() -> sa.Update | sa.Delete:
            columns = [self._fields.columns[name] for name in names]
            new = {
                column: sa.bindparam(_new(index), type_=column.type)
                for index, column in enumerate(columns)
            }
            return self._matching(query, sa.update(self._table).values(new))

        key = ("update", names, query.selected)
        parameters = {_new(index): value for index, value in enumerate(values.values())}
        size = len(names) + len(query.selected)
        return self._cache.plan(
            key, build, {**id_parameters(id), **parameters}, size, query
        )

    def delete(self, query: ResolvedQuery, id: Sequence[t.Any]) -> Plan:
        """Return the plan that deletes the record of an identifier within a query."""

        def build() -> sa.Update | sa.Delete:
            return self._matching(query, sa.delete(self._table))

        key, size = ("delete", query.selected), len(query.selected)
        return self._cache.plan(key, build, id_parameters(id), size, query)

    def _matching(
        self, query: ResolvedQuery, statement: sa.Update | sa.Delete
    ) -> sa.Update | sa.Delete:
        """Return a statement for the record of an identifier that meets the query."""
        columns = self._fields.columns
        id = [columns[field.name] for field in self._fields.identifying]
        return statement.where(*have_id(id), *conditions(query, columns)).returning(
            *self._returned(query.selected)
        )

    def _returned(self, selected: Sequence[Field]) -> list[t.Any]:
        columns = self._fields.columns
        return [field.returned(columns[field.name]) for field in selected]


def _new(index: int) -> str:
    return f"records_new_{index}"
