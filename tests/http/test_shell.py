"""The names that `flask shell` has."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_records import FlaskRecords


class Empty:
    def find(self, params):
        return []


def app_with(*paths):
    app = Flask("tests")
    records = FlaskRecords(app)

    for path in paths:
        records.add(path, Empty(), public=True)

    return app


def test_shell_has_the_extension_and_the_services():
    app = app_with("messages", "rooms")

    with app.app_context():
        context = app.make_shell_context()
        records = app.extensions["records"]
        assert context["current_records"] == records
        assert context["messages"] is records["messages"]
        assert context["rooms"].find() == []


@pytest.mark.parametrize("path", ["rooms/:id/users", "my-things", "class", "list", "5"])
def test_services_that_are_no_names_are_not_in_the_shell(path):
    context = app_with(path).make_shell_context()

    assert set(context) == {"app", "g", "current_records"}


@pytest.mark.parametrize("is_early", [True, False])
def test_names_of_the_application_replace_services(is_early):
    app = Flask("tests")
    records = FlaskRecords()
    records.add("messages", Empty(), public=True)
    steps = [
        lambda: app.shell_context_processor(lambda: {"messages": "its own"}),
        lambda: records.init_app(app),
    ]

    for step in steps if is_early else reversed(steps):
        step()

    assert app.make_shell_context()["messages"] == "its own"


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        ((), "<FlaskRecords without services>"),
        (("messages", "rooms/:id"), "<FlaskRecords messages, rooms/:id>"),
    ],
)
def test_extension_shows_its_services(paths, text):
    assert repr(app_with(*paths).extensions["records"]) == text
