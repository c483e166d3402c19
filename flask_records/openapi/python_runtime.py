"""The part of modules of Python that is the same for all applications."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

if t.TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: t.Final = Path(__file__).parent.parent / "client"

MODULES: t.Final = (
    "errors",
    "values",
    "calls",
    "retries",
    "session",
    "socket_login",
    "place",
    "receivers",
    "listener",
    "base",
    "threads",
    "event_loop",
)
"""The modules of the client, each after those that it needs."""

IMPORTS: t.Final = (ast.Import, ast.ImportFrom)


class Runtime(t.NamedTuple):
    """The modules of the client as one."""

    imports: str
    text: str
    """The lines after the imports."""
    names: frozenset[str]
    """All names that it has."""


def runtime() -> Runtime:
    """Return the modules of the client as one."""
    imports: set[str] = set()
    texts: list[str] = []
    names: set[str] = set()

    for module in MODULES:
        source = (FOLDER / f"{module}.py").read_text(encoding="utf-8")
        # The first one is the docstring.
        statements = ast.parse(source).body[1:]
        imported = [
            each
            for each in statements
            if isinstance(each, (ast.Import, ast.ImportFrom))
        ]
        imports |= {ast.unparse(each) for each in imported if _is_of_others(each)}
        lines = source.splitlines()[imported[-1].end_lineno :]
        texts.append("\n".join(lines).strip("\n"))
        names |= {name for each in statements for name in _names(each)}

    return Runtime("\n".join(sorted(imports)), "\n\n\n".join(texts), frozenset(names))


def _is_of_others(statement: ast.Import | ast.ImportFrom) -> bool:
    """Return whether an import is none of another module of the client."""
    return isinstance(statement, ast.Import) or (
        statement.level == 0 and statement.module != "__future__"
    )


def _names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module gives."""
    if isinstance(statement, IMPORTS):
        yield from (each.asname or each.name for each in statement.names)
    elif isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        yield from map(ast.unparse, statement.targets)
    elif isinstance(statement, ast.AnnAssign):
        yield ast.unparse(statement.target)
