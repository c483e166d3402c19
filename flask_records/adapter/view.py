"""The part of a model that one kind of caller may name."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..query import Fields, Operator
from ..query.field_conditions import FieldCondition
from ..query.plans import Plans, Selection
from ..query.resolution import resolve
from ..query.restriction import trusted
from ..query.syntax import EVERYTHING, Query
from .bodies import Bodies

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from ..query import Syntax
    from ..query.resolution import ResolvedQuery
    from ..typing import Record
    from .populate import Link
    from .related import Relations


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
        self.relations = relations
        """The relationships that bodies may name."""
        self._operators = operators
        self._views: dict[str, View] = {}

    def on(self, dialect: sa.Dialect) -> View:
        """Return the view on a database.

        :raises ValueError: The database changes the values of a column.
        """
        view = self._views.get(dialect.name)

        if view is None:
            new = View(self.fields.on(dialect), self._operators, self.relations)
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
        self._everything = resolve(EVERYTHING, fields, operators)
        self._all_fields = Selection(self._everything.selected)

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
