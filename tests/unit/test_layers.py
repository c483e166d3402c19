"""Each room of the package knows the rooms below it alone, by their types, too."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "flask_records"

ROOMS = (
    *("names", "settings", "problems", "errors", "typing", "signals", "pagination"),
    *("query", "database", "service", "adapter", "http", "authentication", "accounts"),
    *("extension", "readiness", "openapi", "cli", "explorer", "realtime"),
    *("start", "__main__"),
)
"""The rooms from the ground up: packages, and modules that are in none."""

SWITCHED_ON = {("extension", "cli"), ("extension", "openapi")}
"""Rooms that are imported inside of functions by one that they do not know."""


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path):
    """The rooms that a module imports, for types, too, and inside of functions."""
    depth = len(path.relative_to(PACKAGE).parts)

    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module or alias.name for alias in node.names]
            yield from {name.partition(".")[0] for name in names}


def test_rooms_know_the_rooms_below_them_alone():
    modules = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE]
    modules += [path for path in PACKAGE.glob("*.py") if path.stem != "__init__"]
    known = {(room_of(path), name) for path in modules for name in imported(path)}

    assert {room_of(path) for path in modules} == {*ROOMS}
    assert {
        (room, name)
        for room, name in known - SWITCHED_ON
        if ROOMS.index(name) > ROOMS.index(room)
    } == set()
    assert {(name, room) for room, name in SWITCHED_ON} & known == set()
