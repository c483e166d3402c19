"""The types of computed fields, and their options."""

from __future__ import annotations

import pytest

from flask_records import SQLAlchemyService

from .computed import open_app as open_app
from .computed import Person


def test_schemas_have_the_type(open_app):
    def names(records) -> list[str | None]:
        """The whole name."""
        return [None for _ in records]

    client, people = open_app(computed={"fullName": names})

    with client.application.app_context():
        schemas = people.target.schemas_for(None)

    assert schemas.record["properties"]["fullName"] == {
        "type": ["string", "null"],
        "description": "The whole name.",
        "readOnly": True,
    }
    assert "fullName" in schemas.query["properties"]["$select"]["items"]["enum"]
    assert "fullName" not in schemas.query["properties"]
    assert "fullName" not in schemas.patch["properties"]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (bool, {"type": "boolean"}),
        (str | None, {"type": ["string", "null"]}),
        (dict[str, int], {"type": "object"}),
        (list[int], {"type": "array"}),
        (int | str, {}),
        (Person, {}),
    ],
)
def test_annotations_are_schemas(open_app, hint, schema):
    def values(records):
        return [None for _ in records]

    values.__annotations__["return"] = list[hint]
    client, people = open_app(computed={"value": values})

    with client.application.app_context():
        schemas = people.target.schemas_for(None)

    assert schemas.record["properties"]["value"] == {**schema, "readOnly": True}


@pytest.mark.parametrize("option", [["fullName"], {"fullName": 1}, {"$name": print}])
def test_options_of_another_form_are_refused(option):
    with pytest.raises(TypeError, match="'computed'"):
        SQLAlchemyService(Person, computed=option)


@pytest.mark.parametrize("name", ["first", "secret", "team"])
def test_names_of_the_model_are_refused(name):
    service = SQLAlchemyService(Person, computed={name: lambda records: []})

    with pytest.raises(ValueError, match=f"'computed' names '{name}'"):
        service.id  # noqa: B018
