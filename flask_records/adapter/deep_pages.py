"""Pages after many other records, on SQLite.

To skip a record, SQLite reads all of it, unless an index has all that the order needs.
An index ends in the primary key, so that ties in it are broken in the direction of the
last field; but ties of a page are broken by ascending primary keys. So the keys of the
page are read in the direction of the index, together with those of its two neighbours.
As long as neither neighbour ties with the page, both orders make the same page.
"""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from .calls import ResolvedCall
    from .reading import Reading
    from .rows import Rows

MIN_SKIP: t.Final = 1000
"""The number of skipped records from which on a page is read by its primary keys."""

MAX_LIMIT: t.Final = 10_000
"""The largest page that is."""

COMPARABLE: t.Final = (sa.Integer, sa.Numeric, sa.Boolean, sa.DateTime, sa.Date)
"""The types whose values differ in Python only if they differ in SQLite."""


def deep_page(reading: Reading, call: ResolvedCall, limit: int) -> Rows | None:
    """Return the rows of a query that skips many, or ``None`` to read the usual way."""
    query, selection, plans = call.query, call.selection, call.view.plans

    if reading.dialect.name != "sqlite" or limit > MAX_LIMIT or not _is_simple(call):
        return None

    if not query.sort or not query.sort[-1][1]:
        return reading.rows(plans.neighbours(query, selection, limit, query.skip))

    plan = plans.neighbours(query, selection, limit + 2, query.skip - 1)
    rows, fields = reading.rows(plan), len(query.sort)

    is_full = len(rows) == limit + 2

    if _is_tie(rows[:2], fields) or (is_full and _is_tie(rows[-2:], fields)):
        return None

    return rows[1 : limit + 1]


def _is_simple(call: ResolvedCall) -> bool:
    columns = [field.column for field, _ in call.query.sort]
    is_comparable = all(isinstance(column.type, COMPARABLE) for column in columns)
    return is_comparable and not call.view.plans.has_composite_key


def _is_tie(neighbours: Sequence[sa.Row[t.Any]], fields: int) -> bool:
    """Return ``True`` if two records are equal in the fields of the sort."""
    if len(neighbours) < 2:
        return False

    left, right = neighbours
    return tuple(left[-fields:]) == tuple(right[-fields:])
