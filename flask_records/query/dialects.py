"""LIKE with and without regard to case, which each database spells in its own way."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

ESCAPE: t.Final = "\\"
"""The character that escapes a wildcard in a LIKE pattern."""

GLOB_PARTS = re.compile(r"\\(.)|(%)|(_)|([\[\]*?])", re.DOTALL)

LOWER: t.Final = "records_lower"
"""The name of our function on SQLite, whose own ``lower`` knows ASCII only."""

HAS_FUNCTIONS: t.Final = "records_functions"
"""The key in the ``info`` of a connection that has it."""


class LikeExactly(FunctionElement[bool]):
    """A condition that a text matches a LIKE pattern, with regard to case."""

    type = sa.Boolean()
    inherit_cache = True


class LikeAnyCase(FunctionElement[bool]):
    """A condition that a text matches a LIKE pattern, without regard to case."""

    type = sa.Boolean()
    inherit_cache = True


class Glob(TypeDecorator[str]):
    """LIKE patterns, which become those of GLOB."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: t.Any, dialect: sa.Dialect) -> str:
        """Return the pattern of GLOB."""
        return GLOB_PARTS.sub(_glob_part, value)


def _glob_part(match: re.Match[str]) -> str:
    escaped, percent, underscore, special = match.groups()

    if percent or underscore:
        return "*" if percent else "?"

    plain = escaped or special
    return f"[{plain}]" if plain in "[]*?" else str(plain)


def _spell(element: type[t.Any], spelling: Callable[..., t.Any], *names: str) -> None:
    """Let a function of the column and the pattern return what stands for an element.

    :param names: The databases where it does. All by default.
    """

    @compiles(element, *names)
    def compile_element(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
        return str(compiler.process(spelling(*element.clauses), **options))


def _like(column: t.Any, pattern: t.Any) -> t.Any:
    # A type of the application may change what is compared with the column.
    return column.like(sa.type_coerce(pattern, sa.String()), escape=ESCAPE)


def _glob(column: t.Any, pattern: t.Any) -> t.Any:
    return column.op("GLOB")(sa.type_coerce(pattern, Glob()))


def _like_of_bytes(column: t.Any, pattern: t.Any) -> t.Any:
    # Other applications need not wait for the import.
    from sqlalchemy.dialects.mysql import CHAR

    # The column may have another character set, which has no such collation.
    text = sa.cast(column, CHAR(charset="utf8mb4"))
    return _like(sa.collate(text, "utf8mb4_bin"), pattern)


def _ilike(column: t.Any, pattern: t.Any) -> t.Any:
    return column.ilike(sa.type_coerce(pattern, sa.String()), escape=ESCAPE)


def _like_in_lower_case(column: t.Any, pattern: t.Any) -> t.Any:
    lower: t.Any = sa.Function(LOWER, sa.type_coerce(pattern, sa.String()))
    return _like(sa.Function(LOWER, column), lower)


# SQLite's LIKE ignores the case of ASCII letters, its GLOB does not.
_spell(LikeExactly, _like)
_spell(LikeExactly, _glob, "sqlite")
_spell(LikeExactly, _like_of_bytes, "mysql", "mariadb")
_spell(LikeAnyCase, _ilike)
_spell(LikeAnyCase, _like_in_lower_case, "sqlite")


def add_functions(connection: sa.Connection) -> None:
    """Add the function that these conditions call to a connection to SQLite."""
    if connection.dialect.name != "sqlite" or HAS_FUNCTIONS in connection.info:
        return

    driver = t.cast("t.Any", connection.connection.dbapi_connection)
    driver.create_function(LOWER, 1, _lower, deterministic=True)
    connection.info[HAS_FUNCTIONS] = True


def _lower(value: t.Any) -> t.Any:
    # Python makes another letter of a sigma at the end of a word, databases do not.
    return value.replace("Σ", "σ").lower() if isinstance(value, str) else value
