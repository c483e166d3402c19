"""The names that the documentation imports are those that the package exports."""

import re
from pathlib import Path

import flask_records

ROOT = Path(__file__).parents[2]

FILES = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("docs/*.py"), ROOT / "README.md"]

TEXT = "\n".join(
    [f.read_text() for f in (*FILES, ROOT / "wsgi.py") if f.name != "changes.md"]
)

FEATURES = {
    f"flask_records.{name}" for name in ("accounts", "explorer", "openapi", "realtime")
}
"""The packages that applications import apart, if they need them."""


def test_docs_import_from_packages_alone():
    modules = set(re.findall(r"from (flask_records[.\w]*) import", TEXT))

    assert modules == {"flask_records", *FEATURES}


def test_docs_name_all_that_is_exported():
    named = set(re.findall(r"\w+", TEXT))

    assert {*flask_records.__all__} - named == set()
