"""Expressions that each database spells in its own way."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

ESCAPE: t.Final = "\\"
"""The character that escapes a wildcard in a LIKE pattern."""

WILDCARDS = re.compile(r"[%_\\]")
GLOB_PARTS = re.compile(r"\\(.)|(%)|(_)|([\[\]*?])", re.DOTALL)

# The names of our functions on SQLite.
SORTED_JSON: t.Final = "records_sorted_json"
LOWER: t.Final = "records_lower"
CONTAINS: t.Final = "records_contains"

HAS_FUNCTIONS: t.Final = "records_functions"
"""The key in the ``info`` of a connection that has our functions."""

SAME_JSON: t.Final = {
    "sqlite": f"({SORTED_JSON}({{}}) = {SORTED_JSON}({{}}))",
    "postgresql": "(CAST({} AS JSONB) = CAST({} AS JSONB))",
    "mysql": "(CAST({} AS JSON) = CAST({} AS JSON))",
    # It misreads some numbers that are not within a document.
    "mariadb": "JSON_EQUALS(CONCAT('[', {}, ']'), CONCAT('[', {}, ']'))",
}
"""The forms of :class:`SameJSON` by database."""


def contains_any_case(column: t.Any, text: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column contains a text, without regard to case."""
    escaped = WILDCARDS.sub(lambda match: ESCAPE + match[0], text)
    return ContainsAnyCase(column, sa.literal(f"%{escaped}%"), sa.literal(_lower(text)))


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


class LikeAnyCase(FunctionElement[bool]):
    """LIKE without regard to case."""

    type = sa.Boolean()
    inherit_cache = True


class ContainsAnyCase(FunctionElement[bool]):
    """A condition that a text contains another, without regard to case."""

    type = sa.Boolean()
    inherit_cache = True


class AsUnicode(FunctionElement[str]):
    """A text of MariaDB or MySQL in the character set that has all characters."""

    type = sa.String()
    inherit_cache = True


class Grouped(FunctionElement[bool]):
    """A condition in parentheses, which SQLAlchemy leaves as they are."""

    type = sa.Boolean()
    inherit_cache = True


class SameJSON(FunctionElement[bool]):
    """A condition that two JSON texts hold the same value."""

    type = sa.Boolean()
    inherit_cache = True


class Returned(FunctionElement[t.Any]):
    """A column of floats in the ``RETURNING`` of a write."""

    inherit_cache = True

    def __init__(self, column: sa.Column[t.Any]) -> None:
        super().__init__(column)
        self.type = column.type


def _spell(element: type[t.Any], spelling: Callable[..., t.Any], *names: str) -> None:
    """Let a function return the expression that stands for an element.

    :param names: The databases where it does. All by default.
    """

    @compiles(element, *names)
    def compile_element(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
        return str(compiler.process(spelling(*element.clauses), **options))


def _like_any_case_sqlite(column: t.Any, like: t.Any) -> t.Any:
    lower = sa.Function(LOWER, column)
    return lower.like(sa.Function(LOWER, like), escape=ESCAPE)


def _like_exactly_mysql(column: t.Any, like: t.Any, _: t.Any) -> t.Any:
    # The column may have another character set, which has no such collation.
    return sa.collate(AsUnicode(column), "utf8mb4_bin").like(like, escape=ESCAPE)


_spell(LikeAnyCase, lambda column, like: column.ilike(like, escape=ESCAPE))
_spell(LikeAnyCase, _like_any_case_sqlite, "sqlite")

# SQLite's LIKE ignores the case of ASCII letters, its GLOB does not.
_spell(LikeExactly, lambda column, like, _: column.like(like, escape=ESCAPE))
_spell(LikeExactly, lambda column, _, glob: column.op("GLOB")(glob), "sqlite")
_spell(LikeExactly, _like_exactly_mysql, "mysql", "mariadb")

# SQLite's LIKE compares a long text with a long pattern at each place.
_spell(ContainsAnyCase, lambda column, like, _: column.ilike(like, escape=ESCAPE))
_spell(
    ContainsAnyCase,
    lambda column, _, text: sa.Function(CONTAINS, column, text, type_=sa.Boolean()),
    "sqlite",
)

# SQLite stores whole numbers as integers there, and returns them so.
_spell(Returned, lambda column: column)
_spell(Returned, lambda column: sa.cast(column, sa.REAL), "sqlite")


@compiles(AsUnicode)
def _as_unicode(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    return f"CONVERT({compiler.process(element.clauses, **options)} USING utf8mb4)"


@compiles(Grouped)
def _grouped(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    return f"({compiler.process(element.clauses, **options)})"


@compiles(SameJSON)
def _same_json(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    left, right = (compiler.process(clause, **options) for clause in element.clauses)
    is_mariadb = getattr(compiler.dialect, "is_mariadb", False)
    name = "mariadb" if is_mariadb else compiler.dialect.name
    return SAME_JSON.get(name, SAME_JSON["sqlite"]).format(left, right)


def add_functions(connection: sa.Connection) -> None:
    """Add the functions that these expressions call to a connection to SQLite."""
    # SQLite's own lower() knows ASCII only, and its json() keeps the order of names.
    if connection.dialect.name != "sqlite" or HAS_FUNCTIONS in connection.info:
        return

    driver = t.cast("t.Any", connection.connection.dbapi_connection)
    driver.create_function(LOWER, 1, _lower, deterministic=True)
    driver.create_function(CONTAINS, 2, _contains, deterministic=True)
    driver.create_function(SORTED_JSON, 1, _sorted_json, deterministic=True)
    connection.info[HAS_FUNCTIONS] = True


def _lower(value: t.Any) -> t.Any:
    # Python makes another letter of a sigma at the end of a word, databases do not.
    return value.replace("Σ", "σ").lower() if isinstance(value, str) else value


def _contains(value: t.Any, text: t.Any) -> t.Any:
    if value is None or text is None:
        return None

    is_bytes = isinstance(value, bytes)
    value = value.decode(errors="replace") if is_bytes else str(value)
    return text in _lower(value)


def _is_large(document: t.Any) -> bool:
    return isinstance(document, int) and not -(2**63) <= document < 2**63


def _number(text: str | float) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _sorted_json(value: t.Any) -> t.Any:
    # A column of JSON has the affinity of a number, and holds some documents as one.
    if value is None:
        return None

    is_text = isinstance(value, str)

    try:
        document = json.loads(value, parse_float=_number) if is_text else value

        # SQLite keeps numbers that are more than an integer or a text as floats.
        if isinstance(document, float) or _is_large(document):
            document = _number(document)

        return json.dumps(document, sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        # Another program has stored text that is not JSON, or that Python can't read.
        return None


def _glob(like: str) -> str:
    """Return the GLOB pattern that is equivalent to a LIKE pattern."""

    def part(match: re.Match[str]) -> str:
        escaped, percent, underscore, special = match.groups()

        if percent or underscore:
            return "*" if percent else "?"

        plain = escaped or special
        return f"[{plain}]" if plain in "[]*?" else str(plain)

    return GLOB_PARTS.sub(part, like)
