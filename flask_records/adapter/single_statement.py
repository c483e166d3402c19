"""Writes by a single statement that returns the rows that it has written."""

from __future__ import annotations

import typing as t

from ..query.write_plans import WritePlans
from .database_errors import not_kept
from .reads import identifier

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Id, Record
    from .calls import ResolvedCall
    from .reading import Rows
    from .view import View
    from .writing import Writing


class SingleStatement:
    """Writes records of a model by single statements, where it is eligible for them."""

    def __init__(self, view: View) -> None:
        self._fields = view.fields
        self._plans = WritePlans(view.fields)
        columns = view.fields.columns.items()
        self._column_keys = {name: str(column.key) for name, column in columns}
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
        keys = self._column_keys
        inserted = [{keys[name]: body[name] for name in body} for body in bodies]
        plan = self._plans.insert(call.query.selected, inserted)
        rows = writing.rows(plan, bodies)
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

    def _check_keys(self, inserted: Sequence[Record], rows: Rows) -> None:
        """Refuse primary keys that the database changed, and rows that it dropped."""
        if len(rows) < len(inserted):
            raise not_kept(self._fields)

        keys = self._keys

        if not any(key in inserted[0] for key in keys):
            return

        for values, row in zip(inserted, rows, strict=True):
            pairs = zip(keys, row[-len(keys) :], strict=True)

            if any(values.get(key, read) != read for key, read in pairs):
                raise not_kept(self._fields)
