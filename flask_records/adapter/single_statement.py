"""Writes by a single statement that returns the rows that it has written."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..query.plans import Selection
from ..query.write_plans import WritePlans
from .database_errors import not_kept
from .reads import identifier

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Id
    from ..typing import Record
    from .calls import ResolvedCall
    from .eligibility import Eligibility
    from .rows import Rows
    from .view import View
    from .writing import Writing


PLAIN: t.Final = (sa.Integer, sa.String, sa.Uuid, sa.Date)
"""The types whose values all databases read as they were given, but for CHAR."""


class SingleStatement:
    """Writes records of a model by single statements, where it is eligible for them."""

    def __init__(self, view: View, eligibility: Eligibility) -> None:
        self._view = view
        self._fields = view.fields
        self._plans = WritePlans(view.fields)
        self._eligibility = eligibility
        self._keys = [str(column.key) for column in view.fields.mapper.primary_key]

    def create(
        self,
        writing: Writing,
        call: ResolvedCall,
        bodies: Sequence[Record],
        *,
        is_list: bool = False,
    ) -> list[Record]:
        """Return new records.

        :param is_list: Not used: nothing refuses a body before the database does.
        :raises BadRequest: The database does not keep a primary key.
        :raises Conflict: The values contradict a record that is there.
        """
        inserted = t.cast("list[Record]", list(map(self._eligibility.row, bodies)))
        rows = self._insert(writing, call, inserted, bodies)
        self._check_keys(writing, inserted, rows)
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

        if number > 1 and self._has_changing_key(inserted[0]):
            return [
                row
                for new, body in zip(inserted, bodies, strict=True)
                for row in self._insert(writing, call, [new], [body])
            ]

        plan = self._plans.insert(selected, inserted, in_order=number > 1)
        return writing.rows(plan, bodies)

    def _has_changing_key(self, row: Record) -> bool:
        """Return ``True`` if the database may read the given keys in another form, by
        which SQLAlchemy does not find the order of the rows.
        """
        return any(
            str(column.key) in row and not _is_plain(column.type)
            for column in self._fields.mapper.primary_key
        )

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

    def _check_keys(
        self, writing: Writing, inserted: Sequence[Record], rows: Rows
    ) -> None:
        """Refuse primary keys that the database changed, and rows that it dropped."""
        if len(rows) < len(inserted):
            raise not_kept(self._fields)

        keys = self._keys

        if not any(key in inserted[0] for key in keys):
            return

        for values, row in zip(inserted, rows, strict=True):
            read = tuple(row[-len(keys) :])
            pairs = zip(keys, read, strict=True)
            given = tuple([values.get(key, value) for key, value in pairs])

            if given != read and not self._is_same(writing, given, read):
                raise not_kept(self._fields)

    def _is_same(
        self, writing: Writing, given: tuple[t.Any, ...], read: tuple[t.Any, ...]
    ) -> bool:
        """Return ``True`` if two forms of a primary key belong to the same record."""
        # The database may pad a text, or drop a zone.
        selection = Selection((), primary_key=tuple(self._fields.primary_key))
        plan = self._view.plans.keyed(selection, [given if given[1:] else given[0]])

        with writing.reading() as reading:
            return [tuple(row) for row in reading.rows(plan)] == [read]


def _is_plain(type_: t.Any) -> bool:
    return isinstance(type_, PLAIN) and not isinstance(type_, (sa.CHAR, sa.Enum))


def _last(row: sa.Row[t.Any]) -> int:
    return t.cast(int, row[-1])


def _are_counted(rows: Rows, number: int) -> bool:
    """Return ``True`` if the primary keys, which come last, follow each other."""
    # A trigger may have inserted other rows, or dropped some.
    keys = sorted(map(_last, rows))
    return len(keys) == number and keys[-1] - keys[0] == number - 1
