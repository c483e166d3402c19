"""A page after many other records, on SQLite.

To skip a record, SQLite reads all of it, unless an index has what the order needs. An
index ends in the primary key, which then comes the way of the last field; but equal
records are sorted by their primary keys in ascending order. So the keys of the page are
read the way of the index, with those of its two neighbours. As long as neither is equal
to its neighbour in the page, both orders make the same page.
"""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..query.statements import LIMIT
from ..query.statements import SKIP

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..query import Field
    from .reading import Reader

ALIKE: t.Final = (sa.Integer, sa.Numeric, sa.Boolean, sa.DateTime, sa.Date)
"""The types whose values Python takes for different only if SQLite does, too."""

LONGEST: t.Final = 10_000
"""How many records a page has at most that is read so."""


def deep_page(reader: Reader, limit: int) -> Sequence[sa.Row[t.Any]] | None:
    """Return the rows of a query that skips many, or ``None`` if they have to be read
    the usual way.

    :param reader: The reader of the query.
    :param limit: How many records at most.
    """
    selection, reading = reader.selection, reader.reading
    sort, skip = reading.sort, reader.query.skip

    if limit > LONGEST or not _can_be_used(reader, [field for field, _ in sort]):
        return None

    statement = reader.audience.statements.deep(
        reading,
        [*selection.columns, *(field.column for field, _ in sort)],
        selection.key,
    )
    has_neighbours = bool(sort) and sort[-1][1]
    page = {
        LIMIT: limit + 2 if has_neighbours else limit,
        SKIP: skip - 1 if has_neighbours else skip,
    }
    rows = selection.rows(statement, {**reading.parameters, **page})

    if not has_neighbours:
        return rows

    if _is_cut(rows[:2], len(sort)) or (
        len(rows) == limit + 2 and _is_cut(rows[-2:], len(sort))
    ):
        return None

    return rows[1 : limit + 1]


def _can_be_used(reader: Reader, fields: Sequence[Field]) -> bool:
    is_sqlite = reader.dialect.name == "sqlite"
    has_one_key = len(reader.audience.fields.primary_key) == 1
    return (
        is_sqlite
        and has_one_key
        and all(isinstance(field.column.type, ALIKE) for field in fields)
    )


def _is_cut(neighbours: Sequence[sa.Row[t.Any]], fields: int) -> bool:
    """Return whether two records are equal in what they are sorted by."""
    if len(neighbours) < 2:
        return False

    one, other = neighbours
    return tuple(one[-fields:]) == tuple(other[-fields:])
