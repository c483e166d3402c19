"""The types of the example's client, checked by mypy."""

from __future__ import annotations

from pathlib import Path
from shutil import copy

import pytest
from mypy import api

TYPED = Path(__file__).parent / "typed"


@pytest.fixture(scope="module")
def checked(example, tmp_path_factory):
    """The messages of mypy about the client, right uses and wrong uses."""
    folder = tmp_path_factory.mktemp("types")
    runner = example.app.test_cli_runner()
    printed = runner.invoke(args=["records", "types", "--lang", "py"])
    (folder / "client.py").write_text(printed.output)
    files = [copy(path, folder) for path in sorted(TYPED.glob("*.py"))]

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        options = ["--strict", "--cache-dir", str(folder / "cache")]
        messages, problems, _ = api.run([*options, "client.py", *map(str, files)])

    return f"{messages}{problems}".splitlines()


def test_client_is_typed(checked):
    assert [line for line in checked if line.startswith("client.py")] == []


def test_right_uses_have_no_errors(checked):
    assert [line for line in checked if line.startswith("right.py")] == []


def test_wrong_uses_are_errors_line_by_line(checked):
    assert [line for line in checked if line.startswith("wrong.py")] == []
    assert checked[-1].startswith("Success")
