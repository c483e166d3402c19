"""The calls of a service over a model, with their queries resolved."""

from __future__ import annotations

import typing as t

from ..query import Query
from ..query.computed_fields import compute
from ..query.field_conditions import show, unmet
from .guards import Guards, UNGUARDED

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import Params
    from ..query.field_rules import Permissions
    from ..query.plans import Selection
    from ..query.resolution import ResolvedQuery
    from ..typing import Record
    from .database import Database
    from .populate import Link
    from .reading import Reading, Rows
    from .served_model import ServedModel
    from .view import View
    from .writing import Writing


class ResolvedCall(t.NamedTuple):
    """A call whose query is resolved."""

    view: View
    """The part of the model that the caller knows."""

    params: Params
    """The params of the call."""

    query: ResolvedQuery
    """The query."""

    links: Sequence[Link]
    """The relationships to load."""

    selection: Selection
    """The columns to select."""

    database: Database
    """The database of the model."""

    permissions: Permissions | None = None
    """The rules for fields as they apply to the caller, if there are any."""

    guards: Guards = UNGUARDED
    """The fields of the body that have to be looked at by record."""

    def records(self, rows: Rows) -> list[Record]:
        """Return the records of rows, which begin with the selected columns."""
        names = self.selection.names
        # Rows may have more. To say so to zip() takes a third longer.
        records: list[Record] = [dict(zip(names, row)) for row in rows]  # noqa: B905
        composite = self.view.fields.composite

        if composite is not None:
            id = composite.name
            records = [{id: composite.text(each), **each} for each in records]

        for name, as_shown in self.selection.shown:
            for record in records:
                if record[name] is not None:
                    record[name] = as_shown(record[name])

        if self.query.computed:
            compute(records, self.query.computed)
            self._leave_out_unshown(records)

        for index, link in enumerate(self.links, len(names)):
            keys = [row[index] for row in rows]
            link.fill(self.database, records, keys, self.params)

        if self.selection.conditions:
            self._leave_out(records, rows, len(names) + len(self.links))

        return records

    def _leave_out_unshown(self, records: list[Record]) -> None:
        """Remove the fields that others were computed from."""
        for name in self.query.unshown:
            for record in records:
                record.pop(name, None)

    def _leave_out(self, records: list[Record], rows: Rows, start: int) -> None:
        """Remove the fields whose conditions are not met.

        :param start: The number of columns before those of the conditions.
        """
        for index, condition in enumerate(self.selection.conditions, start):
            for record, row in zip(records, rows, strict=True):
                if not row[index]:
                    for name in condition.names:
                        record.pop(name, None)


class Calls:
    """Resolves the calls on a model, each for the view of its caller."""

    def __init__(self, model: ServedModel) -> None:
        self._model = model

    def reading(self, params: Params) -> tuple[Reading, ResolvedCall]:
        """Return an object that reads, and the call with its query resolved.

        :raises BadRequest: A part of the query is not understood.
        """
        reading = self._model.database.reading()
        views, permissions = self._model.views_of(params)
        return reading, self._resolved(params, views.on(reading.dialect), permissions)

    def writing(self, params: Params) -> tuple[Writing, ResolvedCall]:
        """Return an object that writes, and the call with its query resolved.

        :raises BadRequest: A part of the query is not understood.
        """
        views, permissions = self._model.views_of(params)
        writing = self._model.database.writing(views.fields, params.client_fields)
        return writing, self._resolved(params, views.on(writing.dialect), permissions)

    def guarded(self, call: ResolvedCall) -> ResolvedCall:
        """Return a call that writes, with the guards of the fields in its body."""
        sent, view = call.params.client_fields, call.view
        permissions = call.permissions
        write_once = view.fields.write_once.intersection(sent)
        rules = {} if permissions is None else permissions.written_if
        written_if = {name: rules[name] for name in rules if name in sent}

        if not write_once and not written_if:
            return call

        conditions = view.conditions(written_if, self._model.syntax)
        # Who does not see a value must not find it out by guesses.
        hidden = {} if permissions is None else permissions.shown_if
        visible = view.fields.names - hidden.keys()
        return call._replace(guards=Guards(write_once, tuple(conditions), visible))

    def _resolved(
        self, params: Params, view: View, permissions: Permissions | None
    ) -> ResolvedCall:
        model = self._model
        parsed = Query.parse(params.query, model.syntax)
        query, names = view.resolve(parsed), view.fields.names

        if permissions is not None and permissions.shown_if:
            conditions = view.conditions(permissions.shown_if, model.syntax)
            conditions = unmet(query, conditions)
            query = show(query, parsed, conditions)
            names -= {name for each in conditions for name in each.names}

        links = (
            model.populate.links(query.populate, params, names)
            if query.populate
            else ()
        )
        selection = view.selection(query, links)
        return ResolvedCall(
            view, params, query, links, selection, model.database, permissions
        )
