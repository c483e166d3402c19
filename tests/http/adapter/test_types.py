"""Values of all types make the round trip, and others are refused."""

from __future__ import annotations

import json
import time
import uuid
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served
from ...models import Base, Everything
from ...zones import go_far_east

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
FIELDS = [name for name in Everything.__mapper__.columns.keys() if name != "id"]
NULLS = dict.fromkeys(FIELDS)

VALUES = [
    ("integer", -5, -5),
    ("integer", 2**31 - 1, 2**31 - 1),
    ("big", 2**63 - 1, 2**63 - 1),
    ("small", -(2**15), -(2**15)),
    ("big", -(2**63), -(2**63)),
    ("text", 'Zoë\'s "50%_" \\ 🎉\n\t', 'Zoë\'s "50%_" \\ 🎉\n\t'),
    ("text", "", ""),
    ("short", "0123456789", "0123456789"),
    ("short", "ÄÖÜäöüß€🎉é", "ÄÖÜäöüß€🎉é"),
    ("boolean", True, True),
    ("boolean", "false", False),
    ("real", 0.1, 0.1),
    ("real", -1.5e300, -1.5e300),
    ("price", "12.50", "12.50"),
    ("price", 0.1, "0.10"),
    ("price", "-99999999.99", "-99999999.99"),
    ("naive", "2024-02-29T12:30:15Z", "2024-02-29T12:30:15.000Z"),
    ("naive", "2024-03-01T01:30:15+13:00", "2024-02-29T12:30:15.000Z"),
    ("naive", "2024-02-29T12:30:15", "2024-02-29T12:30:15.000Z"),
    ("aware", "2024-02-29T12:30:15Z", "2024-02-29T12:30:15.000Z"),
    ("aware", "2024-02-28T23:30:15-13:00", "2024-02-29T12:30:15.000Z"),
    ("aware", 1709209815000, "2024-02-29T12:30:15.000Z"),
    ("day", "2024-02-29", "2024-02-29"),
    ("clock", "23:59:58", "23:59:58"),
    ("span", 90061, 90061.0),
    ("unique_id", UUID, UUID),
    ("unique_id", UUID.upper(), UUID),
    ("color", "red", "red"),
    ("word", "yes", "yes"),
    ("blob", "AP8Qgw==", "AP8Qgw=="),
    ("document", {"b": [1, {"c": None}], "a": "ë"}, {"b": [1, {"c": None}], "a": "ë"}),
    ("document", [], []),
    ("document", -1e300, -1e300),
    ("document", [2**63, 2**64 + 1], [2**63, 2**64 + 1]),
    ("document", 'it\'s "text"', 'it\'s "text"'),
    ("document", False, False),
]
"""Fields, what is sent for them, and what is read."""

WRONG = {
    "integer": ["x", "1.5", "1e3", "2147483648", "-2147483649", "0x1", "true"],
    "small": ["32768", "-32769"],
    "big": ["9223372036854775808", "9" * 40],
    "boolean": ["maybe", "2"],
    "real": ["x", "nan", "inf", "1e999"],
    "price": ["x", "NaN", "Infinity", "1,5"],
    "naive": ["soon", "2024-13-01", "2024-02-30T00:00:00Z", "9" * 16],
    "aware": ["soon", "0001-01-01T00:00:00+14:00"],
    "day": ["2024-02-30", "2024-02-29T10:00:00Z", "soon"],
    "clock": ["25:00", "10:00:00Z", "soon"],
    "span": ["long", "1e30"],
    "unique_id": ["1234", f"{UUID}0"],
    "color": ["blue", "RED", "1"],
    "word": ["maybe", "YES"],
    "blob": ["!", "abc"],
}
"""Values that are of the type of a field neither in a query nor in a body."""

WRONG_BODIES = {
    "integer": [1.5, True, [1], 2**31],
    "text": [{}, ["a"]],
    "short": ["0123456789x"],
    "boolean": [[]],
    "real": [True],
    "price": ["1.234", "100000000"],
    "naive": [True],
    "aware": [{"$date": 1}],
    "day": [1.5],
    "clock": [5],
    "span": ["1e30"],
    "unique_id": [5],
    "color": [1, ["red"]],
    "blob": [[1]],
}
"""Values that a body can have, and that are not of the type of their field."""


@pytest.fixture(scope="module")
def served_everything(module_url):
    """A client of each database, whose connections are in another time zone."""
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    service = SQLAlchemyService(Everything, multi=True, whitelist=["$null"])
    records.add("all", service, public=True)

    with served(db, records, module_url) as app:
        with app.app_context():
            sa.event.listen(db.engine, "checkout", go_far_east)

        yield app.test_client()


@pytest.fixture(scope="module")
def client():
    """A client of SQLite, for what the database does not see."""
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    records.add("all", SQLAlchemyService(Everything), public=True)

    with served(db, records, "sqlite://") as app:
        yield app.test_client()


@pytest.fixture
def everything(served_everything):
    """A client of a service that has one record, of nulls."""
    served_everything.delete("/all")
    served_everything.post("/all", json={"id": str(uuid.uuid4())})
    return served_everything


@pytest.fixture
def in_tokyo():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield

    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize(("field", "sent", "read"), VALUES)
def test_a_value_makes_the_round_trip(everything, field, sent, read):
    created = everything.post("/all", json={field: sent})
    record = {"id": created.json["id"]} | NULLS | {field: read}

    assert (created.status_code, created.json) == (201, record)
    assert everything.get(f"/all/{record['id']}").json == record
    assert everything.get(f"/all?{equals(field, read)}").json == [record]
    assert everything.patch(f"/all/{record['id']}", json={field: read}).json == record


def equals(field, value):
    is_text = isinstance(value, str) and field != "document"
    return f"{field}={quote(value if is_text else json.dumps(value))}"


def test_moments_are_ordered_whatever_their_zone(everything):
    bodies = [{"integer": n, "aware": f"2024-01-0{n}T00:00:00+05:00"} for n in (2, 1)]
    everything.post("/all", json=bodies)

    after = everything.get("/all?aware[$gt]=2023-12-31T19:00:00Z&$select=integer")
    ordered = everything.get("/all?$sort[aware]=1&$select=integer")

    assert [record["integer"] for record in after.json] == [2]
    assert [record["integer"] for record in ordered.json] == [None, 1, 2]


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_number_that_is_too_large_is_refused_by_its_field(client, number):
    body = "{" + ", ".join(f'"{field}": {number}' for field in FIELDS) + "}"

    response = client.post("/all", data=body, content_type="application/json")

    assert (response.status_code, sorted(response.json["errors"])) == (
        400,
        sorted(FIELDS),
    )


def test_null_makes_the_round_trip(everything):
    values = {name: read for name, _, read in VALUES}
    created = everything.post("/all", json=values).json

    patched = everything.patch(f"/all/{created['id']}", json=NULLS)

    assert patched.json == {"id": created["id"]} | NULLS

    for field, value in values.items():
        is_text = field in ("text", "short", "blob")
        is_null = f"{field}[$null]=true" if is_text else f"{field}=null"
        found = everything.get(f"/all?{is_null}&id={created['id']}")

        assert found.json == [patched.json]
        assert everything.get(f"/all?{equals(field, value)}").json == []


@pytest.mark.parametrize(("field", "values"), WRONG.items())
def test_a_wrong_value_is_refused_with_the_name_of_its_field(client, field, values):
    for value in values:
        queried = client.get(f"/all?{field}[$ne]={quote(value)}")
        written = client.post("/all", json={field: value})

        for answer in (queried, written):
            assert (answer.status_code, [*answer.json["errors"]]) == (400, [field])
            assert f"'{field}'" in answer.json["message"]


@pytest.mark.parametrize(("field", "values"), WRONG_BODIES.items())
def test_a_wrong_value_in_a_body_is_refused_with_the_name_of_its_field(
    client, field, values
):
    for value in values:
        response = client.post("/all", json={field: value})

        assert (response.status_code, [*response.json["errors"]]) == (400, [field])


DOCUMENTS = [
    {"b": 1, "a": {"d": [1, 2], "c": None}},
    [1, 2],
    [1, 1, 2],
    "text",
    1,
    "1",
    True,
    {"a": [1]},
    {"a": [1, 1]},
    {"a": []},
    [],
    {},
]

SAME_DOCUMENTS = [
    ({"a": {"c": None, "d": [1, 2]}, "b": 1}, [0]),
    ({"a": {"c": None, "d": [2, 1]}, "b": 1}, []),
    ([1, 2], [1]),
    ([1], []),
    ("text", [3]),
    (1, [4]),
    ("1", [5]),
    (True, [6]),
    ({"a": [1, 1]}, [8]),
    ([], [10]),
    ({}, [11]),
    ("'; --", []),
]


@pytest.fixture
def documents(everything):
    bodies = [{"integer": n, "document": each} for n, each in enumerate(DOCUMENTS)]
    # The test client would sort the keys.
    body = json.dumps(bodies)
    everything.post("/all", data=body, content_type="application/json")
    return everything


@pytest.mark.parametrize(("document", "numbers"), SAME_DOCUMENTS)
def test_documents_are_equal_whatever_the_order_of_their_keys(
    documents, document, numbers
):
    text = quote(json.dumps(document))
    others = [number for number in range(len(DOCUMENTS)) if number not in numbers]

    same = documents.get(f"/all?document={text}&$sort[integer]=1")
    among = documents.get(f"/all?document[$in][]={text}&$sort[integer]=1")
    differing = documents.get(f"/all?document[$ne]={text}&$sort[integer]=1")

    assert [record["integer"] for record in same.json] == numbers
    assert [record["integer"] for record in among.json] == numbers
    assert [record["integer"] for record in differing.json] == [None, *others]


@pytest.mark.parametrize("query", ["$sort[document]=1", "document[$gt]=1"])
def test_documents_have_no_order(client, query):
    response = client.get(f"/all?{query}")

    assert (response.status_code, [*response.json["errors"]]) == (400, ["document"])


def test_a_uuid_names_a_record(everything):
    created = everything.post("/all", json={"id": UUID, "integer": 1})

    assert created.json["id"] == UUID
    assert everything.get(f"/all/{UUID.upper()}").json == created.json
    assert everything.get(f"/all/{UUID.replace('-', '')}").json == created.json
    assert everything.get("/all/1").json["message"] == "No record found for id '1'"


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**200])
def test_large_number_of_json_is_found_as_it_is_answered(everything, number):
    created = everything.post("/all", json={"document": number}).json

    answered = everything.get(f"/all/{created['id']}").json
    found = everything.get(f"/all?document={quote(str(answered['document']))}")
    as_sent = everything.get(f"/all?document={number}")

    assert found.json == as_sent.json == [answered]
