"""Reads of many records, and of identifiers."""

from __future__ import annotations

import typing as t

from ..errors import NotFound
from ..query.field import shown
from ..query.values import cast
from .chunks import chunks
from .database_errors import not_kept

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from ..query import Fields
    from ..typing import Id
    from .calls import ResolvedCall
    from .reading import Reading, Rows


def read_many(reading: Reading, call: ResolvedCall, limit: int | None) -> Rows:
    """Return at most ``limit`` rows of a query, whose own limit does not count."""
    if limit == 0:
        return []

    dialect = reading.dialect
    plan = call.view.plans.page(
        call.query,
        call.selection,
        limit,
        nulls=has_great_nulls(dialect),
        by_keys=dialect.name == "sqlite",
    )
    return reading.rows(plan)


def read_keyed(
    reading: Reading, call: ResolvedCall, keys: Sequence[tuple[t.Any, ...]]
) -> Rows:
    """Return the rows of the primary keys that a call has locked, in their order.

    :raises BadRequest: A record is not found by its primary key any more.
    """
    fields, plans = call.view.fields, call.view.plans
    selection = call.selection.keyed(fields.primary_key)
    length = len(fields.primary_key)
    locking = reads_the_past(reading.dialect)
    rows: dict[tuple[t.Any, ...], sa.Row[t.Any]] = {}

    for chunk in chunks(keys):
        values = chunk if length > 1 else [key[0] for key in chunk]
        read = reading.rows(plans.keyed(selection, values, locking=locking))
        rows.update({tuple(row[-length:]): row for row in read})

    missing = [key for key in keys if key not in rows]

    # The database may read a key in another form, such as a text without its padding.
    for key in missing:
        value = key if length > 1 else key[0]
        read = reading.rows(plans.keyed(selection, [value], locking=locking))

        if len(read) != 1:
            raise not_kept(fields)

        rows[key] = read[0]

    return [rows[key] for key in keys]


def reads_the_past(dialect: sa.Dialect) -> bool:
    """Return ``True`` for a database where a transaction locks records as they are now,
    and reads them as they were when it first read anything.
    """
    return dialect.name in ("mysql", "mariadb")


def has_great_nulls(dialect: sa.Dialect) -> bool:
    """Return ``True`` for a database where null is greater than everything else."""
    return dialect.name == "postgresql"


def identifier(fields: Fields, id: Id) -> tuple[t.Any, ...]:
    """Return the values of an identifier: one, or those of its parts.

    :raises NotFound: The field can't have this value, so that there is no such record.
    """
    try:
        value = cast(fields.id.conversion, id, in_query=False)
    except ValueError:
        value = None

    if value is None:
        raise not_found(id)

    return (value,) if fields.composite is None else value


def not_found(id: Id) -> NotFound:
    """Return the error for a record that is not there, or that the query leaves out."""
    return NotFound(f"No record found for id {shown(id)}")
