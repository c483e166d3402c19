"""Computed fields of objects that are no models."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_records import FlaskRecords, Page
from flask_records.openapi import document


class Store:
    """Records in memory, whose find gives what it is told."""

    def __init__(self):
        self.records = {"1": {"id": "1", "price": 2}, "2": {"id": "2", "price": 3}}
        self.found = None
        self.queries = []

    def find(self, params):
        self.queries.append(params.query)
        return self.found or list(self.records.values())

    def get(self, id, params):
        return self.records[id]

    def create(self, data, params):
        return data

    def update(self, id, data, params):
        self.records[id] = {**data, "id": id}
        return self.records[id]

    def patch(self, id, data, params):
        self.records[id] |= data
        return self.records[id]

    def remove(self, id, params):
        return self.records.pop(id)

    def count(self, data, params):
        return {"number": len(self.records)}


class Calls(list):
    def doubled(self, records) -> list[int]:
        """Twice the price."""
        self.append(len(records))
        return [2 * each["price"] for each in records]


@pytest.fixture
def calls():
    return Calls()


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def client(store, calls):
    app, records = Flask("tests"), FlaskRecords()
    records.add(
        "things",
        store,
        computed={"double": calls.doubled},
        public=True,
        methods=["find", "get", "create", "update", "patch", "remove", "count"],
    )
    records.init_app(app)
    return app.test_client()


def test_answers_have_the_value_computed_once(client, calls):
    answers = [
        client.get("/things/1").json,
        client.post("/things", json={"price": 4}).json,
        client.put("/things/1", json={"price": 5}).json,
        client.patch("/things/1", json={"price": 6}).json,
        client.delete("/things/1").json,
    ]

    assert [each["double"] for each in answers] == [4, 8, 10, 12, 12]
    assert client.get("/things").json == [{"id": "2", "price": 3, "double": 6}]
    assert calls == [1] * 6


def test_records_of_pages_have_the_value(client, store, calls):
    store.found = Page(9, 2, 0, [{"id": "3", "price": 1}, {"id": "4", "price": 2}])

    assert [each["double"] for each in client.get("/things").json["data"]] == [2, 4]
    assert calls == [2]


def test_select_decides_what_is_computed(client, store, calls):
    client.get("/things?$select[]=price")
    assert calls == []

    [thing, _] = client.get("/things?$select[]=double").json
    assert thing == {"id": "1", "double": 4}
    assert store.queries == [{"$select": ["price"]}, {}]


def test_custom_methods_are_not_touched(client, calls):
    headers = {"X-Service-Method": "count"}

    assert client.post("/things", json={}, headers=headers).json == {"number": 2}
    assert calls == []


@pytest.mark.parametrize("verb", ["put", "patch"])
def test_unchanged_value_is_left_out(client, store, verb):
    body = {"price": 7, "double": 4}

    assert getattr(client, verb)("/things/1", json=body).json["double"] == 14
    assert store.records["1"] == {"id": "1", "price": 7}


@pytest.mark.parametrize(
    ("verb", "path", "body", "name"),
    [
        ("post", "", {"price": 1, "double": 2}, "double"),
        ("post", "", [{"price": 1}, {"price": 1, "double": 2}], "1.double"),
        ("put", "/1", {"price": 1, "double": 2}, "double"),
        ("patch", "/1", {"double": 5}, "double"),
        ("patch", "", {"double": 4}, "double"),
    ],
)
def test_other_values_are_refused(client, verb, path, body, name):
    answer = getattr(client, verb)(f"/things{path}", json=body)

    assert answer.status_code == 400
    assert answer.json["errors"] == {name: "is read-only"}


def test_document_has_the_type(client):
    with client.application.app_context():
        schema = document()["components"]["schemas"]["Things"]

    assert schema["properties"]["double"] == {
        "type": "integer",
        "description": "Twice the price.",
        "readOnly": True,
    }
