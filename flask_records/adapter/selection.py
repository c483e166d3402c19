"""What one call selects, and how its rows become records."""

from __future__ import annotations

import typing as t
from functools import cached_property

from .database_errors import translated

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from ..typing import Record
    from .populate import Link
    from .reading import Reader


class Selection:
    """What a reader selects: the fields of the records, and what the answer needs
    besides.

    :param reader: The reader.
    :param with_keys: Select the primary keys, too.
    :raises BadRequest: The query names an unknown field or relationship.
    """

    def __init__(self, reader: Reader, *, with_keys: bool = False) -> None:
        query, audience = reader.query, reader.audience
        self.fields = audience.fields.selected(query.select)
        """The fields of the records."""
        self._reader = reader
        self._links: list[Link] = []

        if query.populate:
            self._links = reader.populate.links(query.populate, reader.params)

        self.key = (self.fields, tuple([link.name for link in self._links]), with_keys)
        """What the columns are known by."""
        self._names = [field.name for field in self.fields]
        self._with_keys = with_keys

    @cached_property
    def columns(self) -> list[t.Any]:
        """The columns of the statement."""
        keys = self._reader.audience.fields.primary_key if self._with_keys else ()
        return [
            *(field.selected for field in self.fields),
            *(link.column for link in self._links),
            *keys,
        ]

    def read(
        self, statement: sa.Select[t.Any], parameters: dict[str, t.Any]
    ) -> list[Record]:
        """Return the records.

        :param statement: The statement, which selects :attr:`columns`.
        :param parameters: Its parameters.
        """
        return self.records(self.rows(statement, parameters))

    def read_by_key(
        self, statement: sa.Select[t.Any], parameters: dict[str, t.Any]
    ) -> dict[tuple[t.Any, ...], Record]:
        """Return the records by their primary keys.

        :param statement: The statement, which selects :attr:`columns`.
        :param parameters: Its parameters.
        """
        rows = self.rows(statement, parameters)
        start = len(self._names) + len(self._links)
        keys = [tuple(row[start:]) for row in rows]
        return dict(zip(keys, self.records(rows), strict=True))

    def records(self, rows: Sequence[sa.Row[t.Any]]) -> list[Record]:
        """Return the records of rows, which begin with :attr:`columns`.

        :param rows: The rows.
        """
        names, reader = self._names, self._reader
        # Rows may have more. To say so to zip() takes a third longer.
        records: list[Record] = [dict(zip(names, row)) for row in rows]  # noqa: B905

        for place, link in enumerate(self._links, len(names)):
            keys = [row[place] for row in rows]
            link.fill(reader.scope.session, records, keys, reader.params)

        return records

    def rows(
        self, statement: sa.Select[t.Any], parameters: dict[str, t.Any]
    ) -> Sequence[sa.Row[t.Any]]:
        """Return the rows of a statement.

        :param statement: The statement.
        :param parameters: Its parameters.
        """
        reader = self._reader

        with translated(), reader.scope.reading(reader.mapper) as connection:
            found = connection.execute(
                statement, parameters, execution_options=reader.options
            )
            return found.all()
