"""The phrases and names that the style avoids, in the package and the documentation."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MODULES = [*ROOT.glob("flask_records/**/*.py")]

FILES = [*MODULES, *ROOT.glob("docs/*.md"), ROOT / "README.md"]

PHRASES = re.compile(
    r"\b(those|that) of\b|(?<!here )\b(is|are) (none|no (?!longer|more))\b|\btells\b"
    r"|\b(he|him|his)\b|^ *# (It|They|Others|Those) |\"\"\"(What|Who|Whether) ",
    re.MULTILINE,
)

PARTICIPLES = set(
    "asked found given kept known left made said seen taken told wanted".split()
)

RETURNED = set(
    "changed checked compared converted counted created drawn encoded loaded merged"
    " opened parsed related resolved selected sent shortened shown stored".split()
)

PUBLIC = {ROOT / "flask_records" / "service" / "schemas.py": {"found"}}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_phrase_makes_a_reader_stop(path):
    assert [match[0] for match in PHRASES.finditer(path.read_text())] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_variables_are_not_named_by_participles(path):
    names = set()

    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.alias(asname=str(name))
                | ast.ClassDef(name=name)
            ):
                names.add(name.strip("_").lower())

    assert names & PARTICIPLES - PUBLIC.get(path, set()) == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_functions_are_named_by_verbs(path):
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if hasattr(n, "returns")]
    names = {each.name.strip("_") for each in nodes if not each.decorator_list}

    assert names & (PARTICIPLES | RETURNED) == set()
