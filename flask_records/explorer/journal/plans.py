"""The plans of databases for statements, which are asked for and not run."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from ...query.dialects import add_functions
from .shown_sql import without_values

if t.TYPE_CHECKING:
    from .recorded import Question

    Rows: t.TypeAlias = list[dict[str, t.Any]]

BEGINNING: t.Final = re.compile(r"\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE)\b", re.I)
"""The statements that have plans."""

TIMEOUTS: t.Final = (
    "SET TRANSACTION READ ONLY",
    "SET LOCAL statement_timeout = '2s'",
    "SET LOCAL lock_timeout = '500ms'",
)
"""The limits of a plan on PostgreSQL."""

FULL_SCAN: t.Final = re.compile(
    r"SCAN (?:TABLE )?(?P<table>\S+)(?: AS (?P<alias>\S+))?"
)

INDENT: t.Final = "  "


class Scan(t.NamedTuple):
    """A table whose rows may all be read."""

    table: str
    """The name of the table, or its alias."""

    schema: str | None = None
    """Its schema, if the database tells."""


@dataclass(frozen=True)
class Plan:
    """The plan of a database for a statement, without values."""

    lines: tuple[str, ...] = ()
    """Its steps, as text."""

    scans: tuple[Scan, ...] = ()
    """The tables whose rows may all be read."""

    sorts: bool = False
    """``True`` if rows are sorted that no index has in order."""

    problem: str | None = None
    """The reason for which there is no plan."""

    advice: tuple[str, ...] = ()
    """The indexes that would help, as sentences."""


def explain(connection: sa.Connection, question: Question) -> Plan:
    """Return the plan of a database for a statement, which is not run.

    :param connection: A connection of its own, whose transaction is rolled back.
    """
    database = connection.dialect.name
    ask = ASK.get(database)

    if ask is None:
        return Plan(problem=f"Plans of {database} are not read.")

    # The second of two statements would be run.
    if not BEGINNING.match(question.sql) or ";" in question.sql.rstrip("; \n"):
        return Plan(problem="Only statements that read or write rows have plans.")

    return ask(connection, question)


def _rows(connection: sa.Connection, prefix: str, question: Question) -> Rows:
    sql = f"{prefix} {question.sql}"
    result = connection.exec_driver_sql(sql, question.parameters)
    return [dict(row) for row in result.mappings()]


def _ask_sqlite(connection: sa.Connection, question: Question) -> Plan:
    add_functions(connection)
    rows = _rows(connection, "EXPLAIN QUERY PLAN", question)
    depths = {0: 0}

    for row in rows:
        depths[row["id"]] = depths.get(row["parent"], 0) + 1

    lines = [INDENT * (depths[row["id"]] - 1) + row["detail"] for row in rows]
    found = [FULL_SCAN.match(row["detail"]) for row in rows]
    scans = [Scan(match["alias"] or match["table"]) for match in found if match]
    sorts = any("TEMP B-TREE FOR ORDER BY" in line for line in lines)
    return Plan(tuple(lines), tuple(scans), sorts)


def _ask_postgresql(connection: sa.Connection, question: Question) -> Plan:
    for sql in TIMEOUTS:
        connection.exec_driver_sql(sql)

    rows = _rows(connection, "EXPLAIN (FORMAT JSON, VERBOSE)", question)
    nodes = list(_nodes(rows[0]["QUERY PLAN"][0]["Plan"]))
    lines = [INDENT * depth + _line(node) for depth, node in nodes]
    scans = [
        Scan(node["Alias"], node.get("Schema")) for _, node in nodes if _reads_all(node)
    ]
    sorts = any(node["Node Type"].endswith("Sort") for _, node in nodes)
    return Plan(tuple(lines), tuple(scans), sorts)


def _nodes(node: dict[str, t.Any], depth: int = 0) -> Iterator[tuple[int, t.Any]]:
    yield depth, node

    for each in node.get("Plans", ()):
        yield from _nodes(each, depth + 1)


def _reads_all(node: dict[str, t.Any]) -> bool:
    """Return whether a step reads a table, or an index, from end to end."""
    is_ordered = node["Node Type"].startswith("Index") and "Filter" in node
    is_ordered = is_ordered and "Index Cond" not in node
    return node["Node Type"] == "Seq Scan" or is_ordered


def _line(node: dict[str, t.Any]) -> str:
    """Return a step in the words of PostgreSQL."""
    words = [node["Node Type"]]

    if "Index Name" in node:
        words.append(f"using {node['Index Name']}")

    if "Relation Name" in node:
        words.append(f"on {node['Relation Name']}")

    words.append(f"({node['Plan Rows']} rows, cost {node['Total Cost']})")
    keys = ("Index Cond", "Recheck Cond", "Filter", "Hash Cond", "Join Filter")
    conditions = [f"{key}: {node[key]}" for key in keys if key in node]
    conditions += [f"Sort: {', '.join(node[k])}" for k in ("Sort Key",) if k in node]
    # The conditions have the parameters in them.
    shown = [without_values(each, "postgresql") for each in conditions]
    return "; ".join([" ".join(words), *shown])


def _ask_mariadb(connection: sa.Connection, question: Question) -> Plan:
    rows = _rows(connection, "EXPLAIN", question)
    lines = [
        " ".join(f"{name}={row[name]}" for name in row if row[name] is not None)
        for row in rows
    ]
    # The second reads an index from end to end.
    scans = [Scan(row["table"]) for row in rows if row.get("type") in ("ALL", "index")]
    sorts = any("filesort" in str(row.get("Extra")) for row in rows)
    return Plan(tuple(lines), tuple(scans), sorts)


ASK: t.Final[dict[str, Callable[[sa.Connection, Question], Plan]]] = {
    "sqlite": _ask_sqlite,
    "postgresql": _ask_postgresql,
    "mysql": _ask_mariadb,
    "mariadb": _ask_mariadb,
}
"""The functions that ask for a plan, by the name of the dialect."""
