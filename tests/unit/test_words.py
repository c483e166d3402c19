"""The phrases that the style avoids, in the package and in the documentation."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FILES = [
    *ROOT.glob("flask_records/**/*.py"),
    *ROOT.glob("docs/*.md"),
    ROOT / "README.md",
]

PHRASES = re.compile(
    r"\b(those|that) of\b|(?<!here )\b(is|are) (none|no (?!longer|more))\b|\btells\b"
    r"|\b(he|him|his)\b|^ *# (It|They|Others|Those) |\"\"\"(What|Who|Whether) ",
    re.MULTILINE,
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_phrase_makes_a_reader_stop(path):
    assert [match[0] for match in PHRASES.finditer(path.read_text())] == []
