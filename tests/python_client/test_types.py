"""The types of clients, checked by mypy. A test of tests/clients does so by pyright."""

from __future__ import annotations

from pathlib import Path
from shutil import copy

import pytest
from mypy import api

from .tasks_app import create_app

COMMAND = ["records", "types", "--lang", "py"]
MODULES = ["client.py", "tasks.py"]
TYPED = Path(__file__).parent / "typed"


@pytest.fixture(scope="module")
def checked(example, tmp_path_factory):
    """The messages of mypy about the client, right uses and wrong uses."""
    folder = tmp_path_factory.mktemp("types")

    for name, app in (("client", example.app), ("tasks", create_app())):
        printed = app.test_cli_runner().invoke(args=COMMAND)
        (folder / f"{name}.py").write_text(printed.output)

    files = [copy(path, folder) for path in sorted(TYPED.glob("*.py"))]

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        options = ["--strict", "--cache-dir", str(folder / "cache")]
        messages, problems, _ = api.run([*options, *MODULES, *map(str, files)])

    return f"{messages}{problems}".splitlines()


@pytest.mark.parametrize("module", MODULES)
def test_client_is_typed(checked, module):
    assert [line for line in checked if line.startswith(module)] == []


@pytest.mark.parametrize("module", ["right.py", "right_tasks.py"])
def test_right_uses_have_no_errors(checked, module):
    assert [line for line in checked if line.startswith(module)] == []


@pytest.mark.parametrize("module", ["wrong.py", "wrong_tasks.py"])
def test_wrong_uses_are_errors_line_by_line(checked, module):
    assert [line for line in checked if line.startswith(module)] == []
    assert checked[-1].startswith("Success")
