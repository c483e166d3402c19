"""Indexes that a statement would need."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

import sqlalchemy as sa

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from .plans import Plan
    from .plans import Scan

MANY: t.Final = 1000
"""The number of rows from which on a table needs an index."""

NAME: t.Final = r'[`"]?(?P<{0}>[\w$]+)[`"]?'

TABLES: t.Final = re.compile(
    r"\b(?:FROM|JOIN|(?<!FOR )UPDATE|INTO)\s+(?:[\w\"`]+\.)?"
    + NAME.format("table")
    + r"(?:\s+AS\s+"
    + NAME.format("alias")
    + ")?",
    re.I,
)
"""The tables of a statement, with their aliases."""

WHERE: t.Final = re.compile(
    r"\bWHERE\b(.*?)(?:\bORDER BY\b|\bGROUP BY\b|\Z)", re.I | re.S
)
SORT: t.Final = re.compile(r"\bORDER BY\b(.*?)(?:\bLIMIT\b|\bFETCH\b|\Z)", re.I | re.S)
LIMITED: t.Final = re.compile(r"\bLIMIT\b|\bFETCH\b", re.I)
PLAIN: t.Final = re.compile(r"[\w\s,.`\"]+")
"""An order by columns alone."""

OWNER: t.Final = r'(?:(?P<owner>[\w$]+|"[^"]+"|`[^`]+`)\.)?'
COMPARED: t.Final = r"\s*(?:=|<(?!>)|>|\bIN\b|\bIS\b|\bBETWEEN\b)"

ADD: t.Final = (
    "The statement may read all rows of {table}, more than {many:,}. Add {indexes}."
)

NO_COLUMN: t.Final = """\
The statement may read all rows of {table}, more than {many:,}, to find some. No plain \
index serves this condition: a text search needs an index for text.\
"""


@dataclass(frozen=True)
class ScannedTable:
    """A table whose rows a statement may all read."""

    name: str
    """Its name."""

    alias: str
    """Its name in the statement."""

    schema: str | None
    """Its schema, if it is known."""

    is_only: bool
    """``True`` if the statement has no other table."""

    def columns_in(self, text: str, columns: list[str], end: str = "") -> list[str]:
        """Return its columns that a part of a statement names, in that order.

        :param end: The pattern that has to follow the name.
        """
        places = {name: self._place(text, name, end) for name in columns}
        found = {name: place for name, place in places.items() if place is not None}
        return sorted(found, key=found.__getitem__)

    def _place(self, text: str, column: str, end: str) -> int | None:
        pattern = rf'(?<![\w.]){OWNER}["`]?{re.escape(column)}["`]?(?![\w"`.(]){end}'

        for match in re.finditer(pattern, text, re.I):
            owner = match["owner"]

            if owner.strip('"`') == self.alias if owner else self.is_only:
                return match.start()

        return None


def missing_indexes(connection: sa.Connection, sql: str, plan: Plan) -> Iterator[str]:
    """Yield a sentence for each table whose many rows may all be read.

    :param sql: The statement of the plan, without values.
    """
    for scan in dict.fromkeys(plan.scans):
        table = _table(scan, sql)

        if table is not None and _has_many(connection, table):
            sentence = _sentence(connection, table, sql, plan)

            if sentence:
                yield sentence


def _table(scan: Scan, sql: str) -> ScannedTable | None:
    tables = {m["alias"] or m["table"]: m["table"] for m in TABLES.finditer(sql)}
    name = tables.get(scan.table)

    if name is None:
        return None

    return ScannedTable(name, scan.table, scan.schema, len(tables) == 1)


def _has_many(connection: sa.Connection, table: ScannedTable) -> bool:
    row: sa.Select[t.Any] = sa.select(sa.literal_column("1")).select_from(
        sa.table(table.name, schema=table.schema)
    )
    return connection.execute(row.limit(1).offset(MANY)).first() is not None


def _sentence(
    connection: sa.Connection, table: ScannedTable, sql: str, plan: Plan
) -> str | None:
    inspector = sa.inspect(connection)
    place = table.name, table.schema
    columns = [each["name"] for each in inspector.get_columns(*place)]
    indexed = _leading(inspector, place)
    condition = WHERE.search(sql)

    if condition is not None:
        return _for_condition(table, columns, indexed, condition[1])

    return _for_sort(table, columns, indexed, sql) if plan.sorts else None


def _for_condition(
    table: ScannedTable, columns: list[str], indexed: set[str], condition: str
) -> str | None:
    """Return a sentence about the index that finds rows."""
    wanted = table.columns_in(condition, columns, COMPARED)

    if not wanted:
        return NO_COLUMN.format(table=table.name, many=MANY)

    # The database knows why it does not use an index that is there.
    if not indexed.isdisjoint(wanted):
        return None

    is_either = " OR " in condition.upper()
    indexes = (_each if is_either else _one)(table.name, wanted)
    return ADD.format(table=table.name, many=MANY, indexes=indexes)


def _for_sort(
    table: ScannedTable, columns: list[str], indexed: set[str], sql: str
) -> str | None:
    """Return a sentence about the index that gives the first rows in order."""
    sort = SORT.search(sql)

    if sort is None or not LIMITED.search(sql) or not PLAIN.fullmatch(sort[1]):
        return None

    wanted = table.columns_in(sort[1], columns)

    if not wanted or wanted[0] in indexed:
        return None

    # It is usually qualified.
    order = sort[1].strip().replace(f"{table.alias}.", "")
    indexes = f"an index on {table.name} in this order: {order}"
    return ADD.format(table=table.name, many=MANY, indexes=indexes)


def _one(table: str, columns: list[str]) -> str:
    if len(columns) == 1:
        return f"an index on {table}.{columns[0]}: mapped_column(index=True)"

    return f"an index on {', '.join(columns)} of {table}: Index(...)"


def _each(table: str, columns: list[str]) -> str:
    named = " and one on ".join([f"{table}.{column}" for column in columns])
    return f"an index on {named}: mapped_column(index=True)"


def _leading(inspector: sa.Inspector, place: tuple[str, str | None]) -> set[str]:
    """Return the first columns of the indexes of a table."""
    indexes: list[Sequence[str | None]] = [
        *(each["column_names"] for each in inspector.get_indexes(*place)),
        *(each["column_names"] for each in inspector.get_unique_constraints(*place)),
        inspector.get_pk_constraint(*place)["constrained_columns"],
    ]
    return {names[0] for names in indexes if names and names[0]}
