"""Keys of text that a database takes for the same."""

from __future__ import annotations

import typing as t
from collections import defaultdict

import sqlalchemy as sa

from ..query.plans import Plan

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping
    from collections.abc import Sequence

    from .database import Database

CHUNK: t.Final = 100
"""The number of keys in one statement."""

LOOSE: t.Final = frozenset({"mysql", "mariadb"})
"""The databases that ignore case, accents and spaces unless a collation says more."""


def equal_keys(
    database: Database, column: t.Any, keys: Sequence[t.Any], found: Collection[t.Any]
) -> Mapping[t.Any, Sequence[t.Any]]:
    """Return the values of a column that are equal to each key in the database. These
    differ from the key where the database ignores case, accents or spaces.

    :param found: The values that the database has found by the keys.
    """
    if set(found).issuperset(keys) and len(found) == len(keys):
        return {key: [key] for key in keys}

    with database.reading() as reading:
        is_loose = reading.dialect.name in LOOSE or _has_collation(column)

        if not all(isinstance(key, str) for key in keys) or not (
            is_loose or set(found).difference(keys)
        ):
            return {key: [key] for key in keys}

        equal: dict[t.Any, list[t.Any]] = defaultdict(list)

        for start in range(0, len(keys), CHUNK):
            statement = _statement(column, keys[start : start + CHUNK])
            rows: Sequence[t.Any] = reading.rows(Plan(statement, {}))

            # A DISTINCT would leave out values that are spelt otherwise.
            for index, value in dict.fromkeys(map(tuple, rows)):
                equal[keys[start + index]].append(value)

    return equal


def _has_collation(column: t.Any) -> bool:
    return getattr(column.type, "collation", None) is not None


def _statement(column: t.Any, keys: Sequence[t.Any]) -> t.Any:
    """Return a statement of the place of each key, and the values equal to it."""
    # A literal is compared by the collation of the column.
    return sa.union_all(
        *(
            sa.select(sa.literal_column(str(index)), column).where(column == key)
            for index, key in enumerate(keys)
        )
    )
