"""The optional parts of the object of a service."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_records import FlaskRecords


class Things:
    """Has one method."""

    def create(self, data, params):
        return data


def serve(**attributes):
    """A client of a service of an object with attributes."""
    records, things = FlaskRecords(), Things()
    vars(things).update(attributes)
    records.add("things", things, public=True)
    app = Flask("tests")
    records.init_app(app)
    return app.test_client()


@pytest.mark.parametrize("hidden", [["secret"], ("secret",), {"secret": "a reason"}])
def test_hidden_fields_are_a_collection_of_any_type(hidden):
    client = serve(hidden=hidden)

    answer = client.post("/things", json={"id": 1, "secret": "x"})

    assert answer.json == {"id": 1}


def test_method_named_hidden_hides_no_field():
    client = serve(hidden=lambda data, params: data)

    assert client.post("/things", json={"hidden": 1}).json == {"hidden": 1}
