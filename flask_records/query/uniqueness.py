"""Columns whose values the database keeps apart."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa


def is_unique(column: t.Any) -> bool:
    """Return ``True`` if no two rows of a table have the same value of a column."""
    table = getattr(column, "table", None)

    if not isinstance(table, sa.Table):
        return False

    kinds = (sa.UniqueConstraint, sa.PrimaryKeyConstraint)
    constraints = [each for each in table.constraints if isinstance(each, kinds)]
    indexes = [each for each in table.indexes if each.unique and not _is_partial(each)]
    return any(list(each.columns) == [column] for each in (*constraints, *indexes))


def _is_partial(index: sa.Index) -> bool:
    """Return ``True`` for an index of some of the rows."""
    return any(
        name.endswith("_where") and value is not None
        for name, value in index.dialect_kwargs.items()
    )
