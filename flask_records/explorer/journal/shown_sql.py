"""SQL without the values in its text."""

from __future__ import annotations

import re
import typing as t
from collections import defaultdict

MAX_LENGTH: t.Final = 10_000
"""The number of characters of a statement that are shown."""

VALUE: t.Final = "?"

NUMBER: t.Final = r"(?<![\w$:%.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b"

STANDARD: t.Final = re.compile(
    r"""
    (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<name>"(?:[^"]|"")*")
    |[eE]'(?:[^'\\]|''|\\.)*(?:'|\Z)
    |[bBnNxX]?'(?:[^']|'')*(?:'|\Z)
    |\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)
    |"""
    + NUMBER,
    re.DOTALL | re.VERBOSE,
)
"""Values and comments, and the quoted names that may look like these."""

# Text in double quotes is a value there.
MYSQL: t.Final = re.compile(
    r"""
    (?P<comment>--[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<name>`(?:[^`]|``)*`)
    |[bBnNxX]?'(?:[^'\\]|''|\\.)*(?:'|\Z)
    |"(?:[^"\\]|""|\\.)*(?:"|\Z)
    |"""
    + NUMBER,
    re.DOTALL | re.VERBOSE,
)

TOKENS: t.Final = defaultdict(lambda: STANDARD, mysql=MYSQL, mariadb=MYSQL)
"""The values by the name of the database."""


def without_values(sql: str, database: str) -> str:
    """Return SQL with a question mark for each value in its text, without comments.

    :param database: The name of the dialect.
    """
    shown = TOKENS[database].sub(_shown, sql[:MAX_LENGTH])
    return f"{shown} …" if len(sql) > MAX_LENGTH else shown


def _shown(match: re.Match[str]) -> str:
    if match["comment"]:
        return ""

    return match["name"] or VALUE
