"""Expressions that each database spells in its own way."""

from __future__ import annotations

import json
import re
import typing as t

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

ESCAPE: t.Final = "\\"
"""The character that escapes a wildcard in a LIKE pattern."""

WILDCARDS = re.compile(r"[%_\\]")
GLOB_PARTS = re.compile(r"\\(.)|(%)|(_)|([\[\]*?])", re.DOTALL)

SORTED_JSON: t.Final = "records_sorted_json"
"""The name of our function on SQLite that returns JSON text with its names in order."""

LOWER: t.Final = "records_lower"
"""The name of our function on SQLite that returns text in lower case."""

HAS_FUNCTIONS: t.Final = "records_functions"
"""The key in the ``info`` of a connection that has our functions."""

CONTAINS: t.Final = "records_contains"
"""The name of our function on SQLite that looks for text without regard to case."""


def contains_any_case(column: t.Any, text: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column contains a text, without regard to case."""
    escaped = WILDCARDS.sub(lambda match: ESCAPE + match[0], text)
    return ContainsAnyCase(column, sa.literal(f"%{escaped}%"), sa.literal(text.lower()))


def like_any_case(column: t.Any, pattern: str) -> sa.ColumnElement[bool]:
    """Return LIKE without regard to case, on every database."""
    return LikeAnyCase(column, sa.literal(pattern))


def like_exactly(column: t.Any, pattern: str) -> sa.ColumnElement[bool]:
    """Return LIKE with regard to case, on every database."""
    return LikeExactly(column, sa.literal(pattern), sa.literal(_glob(pattern)))


class LikeExactly(FunctionElement[bool]):
    """LIKE with regard to case, on every database."""

    type = sa.Boolean()
    inherit_cache = True


@compiles(LikeExactly)
def _like_exactly(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    column, like, _ = element.clauses
    return str(compiler.process(column.like(like, escape=ESCAPE), **options))


@compiles(LikeExactly, "sqlite")
def _like_exactly_sqlite(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    # SQLite's LIKE ignores the case of ASCII letters, its GLOB does not.
    column, _, glob = element.clauses
    return str(compiler.process(column.op("GLOB")(glob), **options))


@compiles(LikeExactly, "mysql", "mariadb")
def _like_exactly_mysql(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    column, like, _ = element.clauses
    binary = sa.collate(column, "utf8mb4_bin").like(like, escape=ESCAPE)
    return str(compiler.process(binary, **options))


class LikeAnyCase(FunctionElement[bool]):
    """LIKE without regard to case."""

    type = sa.Boolean()
    inherit_cache = True


@compiles(LikeAnyCase)
def _like_any_case(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    column, like = element.clauses
    return str(compiler.process(column.ilike(like, escape=ESCAPE), **options))


@compiles(LikeAnyCase, "sqlite")
def _like_any_case_sqlite(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    column, like = (sa.Function(LOWER, clause) for clause in element.clauses)
    return str(compiler.process(column.like(like, escape=ESCAPE), **options))


class ContainsAnyCase(FunctionElement[bool]):
    """A condition that a text contains another, without regard to case."""

    type = sa.Boolean()
    inherit_cache = True


@compiles(ContainsAnyCase)
def _contains_any_case(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    column, like, _ = element.clauses
    return str(compiler.process(column.ilike(like, escape=ESCAPE), **options))


@compiles(ContainsAnyCase, "sqlite")
def _contains_any_case_sqlite(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    # SQLite's LIKE compares a long text with a long pattern at each place.
    column, _, text = element.clauses
    contains = sa.Function(CONTAINS, column, text, type_=sa.Boolean())
    return str(compiler.process(contains, **options))


class Returned(FunctionElement[t.Any]):
    """A column of floats in the ``RETURNING`` of a write."""

    inherit_cache = True

    def __init__(self, column: sa.Column[t.Any]) -> None:
        super().__init__(column)
        self.type = column.type


@compiles(Returned)
def _returned(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    (column,) = element.clauses
    return str(compiler.process(column, **options))


@compiles(Returned, "sqlite")
def _returned_sqlite(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    # SQLite stores whole numbers as integers there, and returns them so.
    (column,) = element.clauses
    return f"CAST({compiler.process(column, **options)} AS REAL)"


def add_functions(connection: sa.Connection) -> None:
    """Add the functions that these expressions call to a connection to SQLite, whose
    own lower() knows the letters of ASCII only, and whose json() keeps the order of
    names. Nothing is done for other databases.
    """
    if connection.dialect.name != "sqlite" or HAS_FUNCTIONS in connection.info:
        return

    driver = t.cast("t.Any", connection.connection.dbapi_connection)
    driver.create_function(LOWER, 1, _lower, deterministic=True)
    driver.create_function(CONTAINS, 2, _contains, deterministic=True)
    driver.create_function(SORTED_JSON, 1, _sorted_json, deterministic=True)
    connection.info[HAS_FUNCTIONS] = True


def _lower(value: t.Any) -> t.Any:
    return value.lower() if isinstance(value, str) else value


def _contains(value: t.Any, text: t.Any) -> t.Any:
    if value is None or text is None:
        return None

    is_bytes = isinstance(value, bytes)
    value = value.decode(errors="replace") if is_bytes else str(value)
    return text in value.lower()


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _sorted_json(value: t.Any) -> t.Any:
    # A column of JSON has the affinity of a number, and holds some documents as one.
    if value is None:
        return None

    is_text = isinstance(value, str)

    try:
        document = json.loads(value, parse_float=_number) if is_text else value
        return json.dumps(document, sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        # Another program has stored text that is not JSON, or that Python can't read.
        return None


class SameJSON(FunctionElement[bool]):
    """A condition that two JSON texts hold the same value."""

    type = sa.Boolean()
    inherit_cache = True


@compiles(SameJSON)
def _same_json(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    left, right = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({SORTED_JSON}({left}) = {SORTED_JSON}({right}))"


@compiles(SameJSON, "postgresql")
def _same_json_postgresql(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    left, right = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(CAST({left} AS JSONB) = CAST({right} AS JSONB))"


@compiles(SameJSON, "mysql", "mariadb")
def _same_json_mysql(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    left, right = (compiler.process(clause, **options) for clause in element.clauses)

    if compiler.dialect.is_mariadb:
        return f"JSON_EQUALS({left}, {right})"

    return f"(CAST({left} AS JSON) = CAST({right} AS JSON))"


def _glob(like: str) -> str:
    """Return the GLOB pattern that is equivalent to a LIKE pattern."""

    def part(match: re.Match[str]) -> str:
        escaped, percent, underscore, special = match.groups()

        if percent or underscore:
            return "*" if percent else "?"

        plain = escaped or special
        return f"[{plain}]" if plain in "[]*?" else str(plain)

    return GLOB_PARTS.sub(part, like)
