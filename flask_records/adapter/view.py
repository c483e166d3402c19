"""The part of a model that one kind of caller may name, and the calls that it makes."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..query import Fields
from ..query import Operator
from ..query.field_conditions import FieldCondition
from ..query.plans import Plans
from ..query.plans import Selection
from ..query.resolution import resolve
from ..query.resolution import ResolvedQuery
from ..query.restriction import trusted
from ..query.syntax import EVERYTHING
from ..query.syntax import Query
from .bodies import Bodies
from .guards import Guards
from .guards import UNGUARDED

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from ..context import Params
    from ..query import Syntax
    from ..query.field_rules import Permissions
    from ..typing import Record
    from .database import Database
    from .populate import Link
    from .related import Relations
    from .rows import Rows


class Views:
    """The views of one kind of caller by database, each made at its first use. Several
    applications with different databases may share a service.

    :param operators: The operators that may stand below a field, by name.
    :param relations: The relationships that bodies may name.
    """

    def __init__(
        self,
        fields: Fields,
        operators: Mapping[str, Operator],
        relations: Relations,
    ) -> None:
        self.fields = fields
        """The fields, as far as they are the same on every database."""
        self._operators = operators
        self._relations = relations
        self._views: dict[str, View] = {}

    def on(self, dialect: sa.Dialect) -> View:
        """Return the view on a database.

        :raises ValueError: The database changes the values of a column.
        """
        view = self._views.get(dialect.name)

        if view is None:
            new = View(self.fields.on(dialect), self._operators, self._relations)
            view = self._views.setdefault(dialect.name, new)

        return view


class View:
    """The part of a model that clients, or the application itself, may name, on one
    kind of database.

    :param operators: The operators that may stand below a field, by name.
    :param relations: The relationships that bodies may name.
    """

    def __init__(
        self,
        fields: Fields,
        operators: Mapping[str, Operator],
        relations: Relations,
    ) -> None:
        self.fields = fields
        """The fields."""
        self.plans = Plans(fields)
        """The plans of reads."""
        self.bodies = Bodies(fields, relations)
        """The checks of bodies."""
        self.writable = relations.writable
        """The relationships that can be written, by name."""
        self._operators = operators
        self._everything = ResolvedQuery(fields.selected(None))
        self._all_fields = Selection(fields.selected(None))

    def resolve(self, query: Query) -> ResolvedQuery:
        """Return a query with its fields looked up and its values cast.

        :raises BadRequest: The query does not fit the fields.
        """
        if query is EVERYTHING:
            return self._everything

        return resolve(query, self.fields, self._operators)

    def selection(self, query: ResolvedQuery, links: Sequence[Link]) -> Selection:
        """Return the columns of a query."""
        is_plain = not links and not query.conditions

        if is_plain and query.selected is self._all_fields.fields:
            return self._all_fields

        columns = tuple([(link.name, link.column) for link in links])
        return Selection(query.selected, columns, conditions=query.conditions)

    def conditions(
        self, queries: Mapping[str, Record], syntax: Syntax
    ) -> list[FieldCondition]:
        """Return the conditions of fields, each once.

        :param queries: The queries of the application by the names of the fields.
        :raises BadRequest: A query does not fit the fields.
        """
        names_of: list[tuple[Record, list[str]]] = []

        for name, condition in queries.items():
            same = [names for other, names in names_of if other == condition]

            if same:
                same[0].append(name)
            else:
                names_of.append((condition, [name]))

        return [
            FieldCondition(
                tuple(names), self.resolve(Query.parse(trusted(condition), syntax))
            )
            for condition, names in names_of
        ]


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
    """What the rules for fields say for the caller, if there are any."""

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

        for name, show in self.selection.shown:
            for record in records:
                if record[name] is not None:
                    record[name] = show(record[name])

        for index, link in enumerate(self.links, len(names)):
            keys = [row[index] for row in rows]
            link.fill(self.database, records, keys, self.params)

        if self.selection.conditions:
            self._leave_out(records, rows, len(names) + len(self.links))

        return records

    def _leave_out(self, records: list[Record], rows: Rows, start: int) -> None:
        """Remove the fields whose conditions are not met.

        :param start: The number of columns before those of the conditions.
        """
        for index, condition in enumerate(self.selection.conditions, start):
            for record, row in zip(records, rows, strict=True):
                if not row[index]:
                    for name in condition.names:
                        record.pop(name, None)
