"""Each type of column that the page on databases lists is tried on each database."""

from __future__ import annotations

import re
from pathlib import Path

from .column_types import TYPES

PAGE = Path(__file__).parents[3] / "docs" / "databases.md"
ROW = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)


def test_each_row_of_the_table_is_run():
    rows = ROW.findall(PAGE.read_text())
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]

    assert names
    assert [name for name in names if name not in TYPES] == []
