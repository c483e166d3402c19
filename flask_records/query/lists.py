"""Lists in a column, as arrays or as JSON: the condition that one has an item."""

from __future__ import annotations

import json
import typing as t

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

Expression: t.TypeAlias = "sa.ColumnElement[bool]"


def has_item_of_array(column: t.Any, item: t.Any) -> Expression:
    """Return the condition that an array has an item, for which an index is used."""
    return t.cast(Expression, column.bool_op("@>")(sa.literal([item], column.type)))


def has_item_on_postgresql(column: t.Any, item: t.Any) -> Expression:
    """Return the condition that a list of JSON has an item, on PostgreSQL."""
    # An index of a column of this type is used all the same.
    documents = sa.cast(column, JSONB())
    return t.cast(Expression, documents.bool_op("@>")(sa.literal([item], JSONB())))


TYPES_ON_SQLITE: t.Final[dict[type[t.Any], tuple[str, ...]]] = {
    str: ("text",),
    int: ("integer", "real"),
    float: ("integer", "real"),
}
"""The types of JSON that items of a class have on SQLite."""


def has_item_on_sqlite(column: t.Any, item: t.Any) -> Expression:
    """Return the condition that a list of JSON has an item, on SQLite."""
    each = sa.func.json_each(column).table_valued("value", "type")

    if isinstance(item, bool):
        condition = each.c.type == json.dumps(item)
    else:
        types = TYPES_ON_SQLITE[type(item)]
        condition = sa.and_(each.c.type.in_(types), each.c.value == item)

    found = sa.select(each.c.value).where(condition)
    # A value that is not a list is its own only item.
    return sa.and_(sa.func.json_type(column) == "array", found.exists())


def has_item_on_mariadb(column: t.Any, item: t.Any) -> Expression:
    """Return the condition that a list of JSON has an item, on MariaDB or MySQL."""
    # MariaDB compares the spelling of texts, with escapes or without.
    spellings = {json.dumps(item), json.dumps(item, ensure_ascii=False)}
    items = sa.literal(f"[{', '.join(sorted(spellings))}]", sa.Text())
    return sa.and_(
        sa.func.json_type(column) == "ARRAY",
        sa.func.json_overlaps(column, items) == 1,
    )


HAS_ITEM: t.Final[t.Mapping[str, t.Callable[[t.Any, t.Any], Expression]]] = {
    "sqlite": has_item_on_sqlite,
    "postgresql": has_item_on_postgresql,
    "mariadb": has_item_on_mariadb,
    "mysql": has_item_on_mariadb,
}
"""The functions for lists of JSON, by the names of dialects."""
