"""Writes by a single statement that returns the rows that it has written."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..query.write_plans import WritePlans
from .database_errors import not_kept
from .reads import identifier

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Id
    from ..typing import Record
    from .eligibility import Eligibility
    from .session import Rows
    from .session import Writing
    from .view import ResolvedCall
    from .view import View


class SingleStatement:
    """Writes records of a model by single statements, where it is eligible for them."""

    def __init__(self, view: View, eligibility: Eligibility) -> None:
        self._fields = view.fields
        self._plans = WritePlans(view.fields)
        self._eligibility = eligibility

    def create(
        self, writing: Writing, call: ResolvedCall, bodies: Sequence[Record]
    ) -> list[Record]:
        """Return new records.

        :raises BadRequest: The database does not keep a primary key.
        :raises Conflict: The values contradict a record that is there.
        """
        inserted = t.cast("list[Record]", list(map(self._eligibility.row, bodies)))
        rows = self._insert(writing, call, inserted, bodies)
        self._check_keys(inserted, rows)
        return call.records(rows)

    def patch(
        self, writing: Writing, call: ResolvedCall, id: Id, values: Record
    ) -> list[Record]:
        """Return the record with its new values, or none if it does not meet the query.

        :raises Conflict: The values contradict another record.
        """
        plan = self._plans.update(call.query, identifier(self._fields, id), values)
        return call.records(writing.rows(plan, [values]))

    def remove(self, writing: Writing, call: ResolvedCall, id: Id) -> list[Record]:
        """Return the record that is removed, or none if it does not meet the query.

        :raises Conflict: Other records refer to it.
        """
        plan = self._plans.delete(call.query, identifier(self._fields, id))
        return call.records(writing.rows(plan))

    def _insert(
        self,
        writing: Writing,
        call: ResolvedCall,
        inserted: Sequence[Record],
        bodies: Sequence[Record],
    ) -> Rows:
        selected, number = call.query.selected, len(inserted)

        # SQLite promises no order of the rows that a statement returns. As it counts
        # the keys up, the keys tell the order.
        if number > 1 and self._has_counted_key(writing.dialect, inserted[0]):
            plan = self._plans.insert(selected, inserted, in_order=False)
            rows = writing.rows_if(
                plan, lambda rows: _are_counted(rows, number), bodies
            )

            if rows is not None:
                return sorted(rows, key=_last)

        plan = self._plans.insert(selected, inserted, in_order=number > 1)
        return writing.rows(plan, bodies)

    def _has_counted_key(self, dialect: sa.Dialect, row: Record) -> bool:
        """Return ``True`` if SQLite gives many records ascending keys."""
        table = t.cast("sa.Table", self._fields.mapper.local_table)
        key = table.autoincrement_column
        return (
            dialect.name == "sqlite"
            and key is not None
            and isinstance(key.type, sa.Integer)
            and str(key.key) not in row
        )

    def _check_keys(self, inserted: Sequence[Record], rows: Rows) -> None:
        """Refuse primary keys that the database changed, and rows that it dropped."""
        if len(rows) < len(inserted):
            raise not_kept(self._fields)

        keys = [str(column.key) for column in self._fields.mapper.primary_key]

        if not any(key in inserted[0] for key in keys):
            return

        for values, row in zip(inserted, rows, strict=True):
            for key, value in zip(keys, row[-len(keys) :], strict=True):
                if values.get(key, value) != value:
                    raise not_kept(self._fields)


def _last(row: sa.Row[t.Any]) -> int:
    return t.cast(int, row[-1])


def _are_counted(rows: Rows, number: int) -> bool:
    """Return ``True`` if the primary keys, which come last, follow each other."""
    # A trigger may have inserted other rows, or dropped some.
    keys = sorted(map(_last, rows))
    return len(keys) == number and keys[-1] - keys[0] == number - 1
