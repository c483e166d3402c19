"""The commands of ``flask records`` that print documents."""

from __future__ import annotations

import json

import click
from flask import Flask

from flask_records import FlaskRecords


class Bell:
    """Rings in the café."""

    def find(self, params):
        return []


def run(*arguments):
    app = Flask("bells")
    records = FlaskRecords()
    records.add("bells", Bell(), public=True)
    records.init_app(app)
    return app.test_cli_runner().invoke(args=["records", *arguments])


def test_commands_of_the_application_of_this_name_stay():
    app = Flask("tests")
    own = click.Group("records")
    app.cli.add_command(own)

    FlaskRecords(app)

    assert app.cli.commands["records"] is own


def test_shell_has_the_extension():
    app = Flask("tests")
    records = FlaskRecords(app)

    with app.app_context():
        assert app.make_shell_context()["current_records"] == records


def test_document_is_printed_as_json():
    printed = run("openapi").stdout

    assert list(json.loads(printed)["paths"]) == ["/bells"]
    assert "Rings in the café." in printed


def test_types_are_printed():
    printed = run("types").stdout

    assert "export interface BellsService" in printed
    assert printed.endswith("as unknown as ClientApplication\n}\n")
