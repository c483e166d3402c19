"""Paths and groups in the OpenAPI document, and in types."""

import pytest
from openapi_spec_validator import validate

from flask_records.openapi import document
from flask_records.openapi.typescript import typescript
from flask_records.service.schemas import schemas_of

from .test_statements import params_of


@pytest.fixture(scope="module")
def made(served_desk):
    with served_desk.app.test_request_context():
        return document()


def names_of(made, verb, path="/tickets"):
    return [each["name"] for each in made["paths"][path][verb]["parameters"]]


def test_document_has_paths_and_groups(made):
    names = names_of(made, "get")
    validate(made)

    assert {"organisation.name", "tags.color", "comments.text"} <= {*names}
    assert {"$sort[assignee.agent]", "$sort[$sum.cost]", "$count"} <= {*names}
    assert {"$group", "$group[createdAt]"} <= {*names}
    assert "organisation.secret" not in names
    assert not {"$sort[tags.name]", "$group[status]"} & {*names}
    # Its operators are those of the field there.
    assert not [name for name in names if name.startswith("tags.name[")]


def test_answer_of_find_may_be_groups(made):
    schemas = made["components"]["schemas"]
    page = schemas["TicketsPage"]["properties"]["data"]
    groups = schemas["TicketsGroups"]

    assert page["items"]["anyOf"] == [
        {"$ref": "#/components/schemas/Tickets"},
        {"$ref": "#/components/schemas/TicketsGroups"},
    ]
    assert groups["properties"]["$count"]["properties"]["id"] == {"type": "integer"}
    assert groups["properties"]["$sum"]["properties"].keys() == {
        *("cost", "organisationId", "id")
    }


def test_types_have_paths_and_groups(served_desk):
    with served_desk.app.test_request_context():
        types = typescript()

    assert '  "organisation.name"?: string | {' in types
    assert '  $group?: "status" | "cost"' in types
    assert '"$sum.cost"?: 1 | -1' in types
    assert "find(params: GroupsParams<TicketsQuery, " in types
    assert ">): Promise<Paginated<TicketsGroups>>" in types
    assert "$sum?: { cost?: number | null;" in types


def test_caller_has_the_paths_that_it_may_follow(desk):
    def properties(path, id):
        return schemas_of(desk.records[path], params_of(desk, id)).query["properties"]

    assert "ticket.status" in properties("comments", 2)
    populated = properties("comments", 2)["$populate"]["items"]["enum"]
    assert {"ticket", "ticket.tags", "ticket.organisation"} <= {*populated}
    assert "assignee.name" in properties("tickets", 2)
    # Its name is not visible in every record, so that the caller does not sort by it.
    assert "assignee.name" not in properties("tickets", 2)["$sort"]["properties"]
    assert "assignee.name" in properties("tickets", 1)["$sort"]["properties"]


def test_document_has_no_path_to_records_that_nobody_finds(open_desk):
    with open_desk(organisations={"methods": ["get"]}) as desk:
        with desk.app.test_request_context():
            names = names_of(document(), "get")

        answer = desk.client(1).http.get("/tickets?organisation.name=Acme")

    assert answer.status_code == 400
    assert "parent.status" in names
    assert "organisation.name" not in names
