"""The commands of ``flask records`` that write files."""

from __future__ import annotations

import click
import pytest
from flask import Flask

from flask_records import FlaskRecords

COMMANDS = [
    (["openapi"], "openapi.json"),
    (["types"], "api.ts"),
]


class Bell:
    def find(self, params):
        return []

    def create(self, data, params):
        return data


@pytest.fixture
def run():
    def run(*arguments, methods=("find",)):
        app = Flask("bells")
        records = FlaskRecords()
        records.add("bells", Bell(), methods=methods, public=True)
        records.init_app(app)
        return app.test_cli_runner().invoke(args=["records", *map(str, arguments)])

    return run


def test_commands_of_the_application_of_this_name_stay():
    app = Flask("tests")
    own = click.Group("records")
    app.cli.add_command(own)

    FlaskRecords(app)

    assert app.cli.commands["records"] is own


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_a_file_has_what_is_printed(run, tmp_path, command, name):
    run(*command, "--output", tmp_path / name)

    assert (tmp_path / name).read_text() == run(*command).stdout


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_a_stale_file_fails(run, tmp_path, command, name):
    file = tmp_path / name
    run(*command, "--output", file)
    stored = file.read_bytes()

    result = run(*command, "--check", file, methods=["find", "create"])

    assert result.stdout == ""
    assert "\n+" in result.stderr
    assert result.stderr.endswith(
        f"Error: {file} is stale. Make it again: run this command with --output in"
        " place of --check.\n"
    )
    assert result.exit_code == 1
    assert file.read_bytes() == stored


def test_a_file_that_is_not_there_fails(run, tmp_path):
    result = run("types", "--check", tmp_path / "api.ts")

    assert f"{tmp_path / 'api.ts'} does not exist." in result.stderr
    assert result.exit_code == 1


def test_ends_of_lines_make_no_difference(run, tmp_path):
    file = tmp_path / "api.ts"
    run("types", "--output", file)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))

    assert run("types", "--check", file).exit_code == 0


def test_a_file_is_either_written_or_compared(run, tmp_path):
    file = tmp_path / "api.ts"

    result = run("types", "--check", file, "--output", file)

    assert "Use either --output or --check." in result.stderr
    assert result.exit_code == 2


def test_a_file_that_can_not_be_written_is_named(run, tmp_path):
    file = tmp_path / "gone" / "api.ts"

    result = run("types", "--output", file)

    assert f"Could not open file '{file}': No such file or directory" in result.stderr
    assert result.exit_code == 1
