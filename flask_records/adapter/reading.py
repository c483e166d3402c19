"""From the rows of a select to records."""

from __future__ import annotations

import typing as t

from .database_errors import translated

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa
    from sqlalchemy import orm

    from ..context import Params
    from ..query import Field
    from ..typing import Record
    from .populate import Link


class Selection:
    """What one read selects: the fields of the records, and what the answer needs
    besides.

    :param fields: The fields of the records.
    :param links: The relationships to load.
    :param keys: More columns, by which the reader knows the records.
    """

    def __init__(
        self, fields: Sequence[Field], links: Sequence[Link], keys: Sequence[t.Any] = ()
    ) -> None:
        self._names = [field.name for field in fields]
        self._links = links
        self._keys_end = len(fields) + len(keys)
        self.columns = [
            *(field.selected for field in fields),
            *keys,
            *(link.column for link in links),
        ]
        """The columns of the statement."""

    def read(
        self, session: orm.Session, statement: sa.Select[t.Any], params: Params
    ) -> tuple[list[Record], list[tuple[t.Any, ...]]]:
        """Return the records and the keys of each.

        :param session: The session to read with.
        :param statement: The statement, which selects :attr:`columns`.
        :param params: The params of the call that asks.
        """
        with translated():
            rows = session.execute(statement).all()

        names, end = self._names, self._keys_end
        records: list[Record] = [dict(zip(names, row, strict=False)) for row in rows]

        for place, link in enumerate(self._links, end):
            link.fill(session, records, [row[place] for row in rows], params)

        return records, [tuple(row[len(names) : end]) for row in rows]
