"""Records that meet some of many queries."""

from __future__ import annotations

import typing as t

from ..query.field_conditions import FieldCondition
from ..query.plans import Selection
from ..query.syntax import Query
from .chunks import CHUNK
from .chunks import chunks
from .reads import identifier

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from ..query.resolution import ResolvedQuery
    from ..typing import Id
    from ..typing import Record
    from .served_model import ServedModel
    from .view import View

MAX_QUERIES: t.Final = 50
"""The number of queries in one statement."""


def met_queries(
    model: ServedModel, queries: Sequence[Record], ids: Sequence[Id]
) -> list[list[bool]] | None:
    """Return for each of some queries which records meet it, or ``None`` if the
    database has another form of an identifier. A record that is not there meets none.
    One statement asks for many queries and records.

    :param queries: Queries of the application.
    :param ids: The identifiers of the records.
    :raises BadRequest: A query is not understood.
    :raises NotFound: There can't be such an identifier.
    """
    reading = model.database.reading()
    view = model.application.on(reading.dialect)
    parsed = [view.resolve(Query.parse(query, model.syntax)) for query in queries]
    keys = [identifier(view.fields, id) for id in ids]
    columns = tuple([field.column for field in view.fields.identifying])
    met: list[list[bool]] = []

    with reading:
        for part in _parts(parsed):
            conditions = tuple([FieldCondition((), query) for query in part])
            selection = Selection((), conditions=conditions, primary_key=columns)
            rows: dict[t.Any, Sequence[t.Any]] = {}
            count = len(part)

            for chunk in chunks(list(dict.fromkeys(ids))):
                query = _of_records(view, model, chunk)
                plan = view.plans.page(query, selection, None)
                rows |= {tuple(row[count:]): row for row in reading.rows(plan)}

            if not rows.keys() <= set(keys):
                return None

            absent = (False,) * count
            found = [rows.get(key, absent) for key in keys]
            met += [[bool(row[index]) for row in found] for index in range(count)]

    return met


def _of_records(view: View, model: ServedModel, ids: Sequence[Id]) -> ResolvedQuery:
    query = {view.fields.id.name: {"$in": list(ids)}}
    return view.resolve(Query.parse(query, model.syntax))


def _parts(queries: Sequence[ResolvedQuery]) -> Iterator[list[ResolvedQuery]]:
    """Yield queries in their order, as many as one statement has room for."""
    part: list[ResolvedQuery] = []
    weight = 0

    for query in queries:
        own = sum([len(v) if isinstance(v, list) else 1 for v in query.values])

        if part and (len(part) == MAX_QUERIES or weight + own > CHUNK):
            yield part
            part, weight = [], 0

        part.append(query)
        weight += own

    if part:
        yield part
