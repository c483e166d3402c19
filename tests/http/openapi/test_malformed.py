"""Bodies, queries and identifiers that do not fit the document of an application are
refused by name.
"""

from __future__ import annotations

import datetime as dt
import json
import typing as t
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.openapi import document

from ...databases import served
from ...models import Base, Everything, User

HUGE = 10**400
DEEP = 150
NULL = {"type": "null"}


def nested(depth):
    """A list in lists, and objects in them."""
    value = "x"

    for level in range(depth):
        value = {"a": value} if level % 2 else [value]

    return value


def malformed(schema):
    """The values of a body that a schema refuses. Text may stand for values of other
    types, and numbers for text.
    """
    options = [each for each in schema.get("anyOf", ()) if each != NULL]

    if options:
        return intersection(*map(malformed, options))

    kinds = schema.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else {*kinds}

    if not kinds:
        # Only a size can be wrong.
        return [nested(DEEP)]

    return [
        *([] if "object" in kinds else [{"a": 1}, {}, nested(DEEP)]),
        *([] if "array" in kinds else [[1], []]),
        *intersection(*[OF_KIND[kind](schema) for kind in sorted(kinds - {"null"})]),
    ]


def intersection(first, *others):
    return [each for each in first if all(each in other for other in others)]


def malformed_text(schema):
    """Other texts than a schema of text allows."""
    values = ["\ud800", "a\ud800"]

    if "enum" in schema:
        return [*values, "nonsense", "x" * 10_000, True, HUGE]

    if "format" in schema or "contentEncoding" in schema:
        return [*values, "nonsense!", "9" * 10_000 + "!", "\0"]

    return [
        *values,
        *(["x" * (schema["maxLength"] + 1)] if "maxLength" in schema else []),
    ]


def malformed_number(schema):
    return ["nonsense", "1x", HUGE, "9" * 1_000 + "x", "\0", "\ud800"]


def malformed_integer(schema):
    limits = [schema.get("minimum"), schema.get("maximum")]
    steps = zip(limits, (-1, 1), strict=True)
    beyond = [limit + step for limit, step in steps if limit is not None]
    huge = HUGE if beyond else 1.5
    numbers = [huge if each is HUGE else each for each in malformed_number(schema)]
    return [*numbers, 1.5, "1.5", True, *beyond, *map(str, beyond)]


def malformed_boolean(schema):
    return ["maybe", 2, 1.5, "\0", "\ud800", HUGE]


def malformed_array(schema):
    items = malformed(schema.get("items", {}))
    return ["nonsense", 1, {"a": 1}, *([each] for each in items)]


OF_KIND = {
    "string": malformed_text,
    "number": malformed_number,
    "integer": malformed_integer,
    "boolean": malformed_boolean,
    "array": malformed_array,
    "object": lambda schema: ["nonsense", 1, [1]],
}


JSON = "application/json"


class Seat(Base):
    """A model with several columns in its primary key."""

    __tablename__ = "malformed_seat"

    row = mapped_column(sa.Integer, primary_key=True, autoincrement=False)
    place = mapped_column(sa.String(5), primary_key=True)


class Ring(BaseModel):
    """The data of a custom method."""

    times: int
    loud: bool
    tone: t.Literal["high", "low"]
    at: dt.datetime
    song: str
    price: Decimal
    names: list[str]
    notes: list[int]
    bell: uuid.UUID


class Bell:
    def ring(self, data, params):
        return {"rung": True}


class Site:
    """An application, its document, and a client of it."""

    def __init__(self, app):
        self.app = app
        self.client = app.test_client()

        with app.app_context():
            self.document = document()

    def body(self, name):
        return self.document["components"]["schemas"][name]

    def send(self, verb, path, body):
        """The problems of a body by name, with their codes."""
        # Flask's client does not write halves of surrogate pairs.
        data = json.dumps(body)
        answer = self.client.open(path, method=verb, data=data, content_type=JSON)
        return codes_of(answer)

    def ask(self, query, path="/things"):
        """The same for a query."""
        return codes_of(self.client.get(f"{path}?{query}"))


def codes_of(answer):
    """The codes of a 400 by name, or else the answer."""
    if answer.status_code != 400:
        return answer.status_code, answer.text

    return {name: each["code"] for name, each in answer.json["errors"].items()}


def services(records, model, path):
    service = SQLAlchemyService(model, multi=True, whitelist=["$and", "$not", "$like"])
    records.add(path, service, public=True)


@pytest.fixture(scope="module")
def site(module_url):
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    services(records, Everything, "things")
    services(records, User, "people")
    services(records, Seat, "seats")
    schemas = {"ring": Ring}
    records.add("bell", Bell(), methods=["ring"], schemas=schemas, public=True)

    with served(db, records, module_url, RECORDS_ERRORS={"codes": True}) as app:
        yield Site(app)


METHODS = [("POST", "Create"), ("PUT", "Update"), ("PATCH", "Patch")]


def accepted_bodies(site, verb, schema):
    """The malformed values that are not refused by the names of their fields."""
    id = site.client.post("/things", json={}).json["id"]
    path = "/things" if verb == "POST" else f"/things/{id}"
    sent = [
        (name, value, site.send(verb, path, {name: value}))
        for name, each in schema["properties"].items()
        # The checks of both verbs are those of a new record.
        for value in malformed(each)[: None if verb == "POST" else 3]
    ]
    assert sent
    return [each for each in sent if [*each[2]] != [each[0]]]


@pytest.mark.parametrize(("verb", "body"), METHODS)
def test_malformed_values_of_bodies_are_refused(site, verb, body):
    assert accepted_bodies(site, verb, site.body(f"Things{body}")) == []


RING = {
    "times": 1,
    "loud": True,
    "tone": "high",
    "at": "2026-01-02T03:04:05Z",
    "song": "a",
    "price": "1.5",
    "names": ["a"],
    "notes": [1],
    "bell": "00000000-0000-0000-0000-000000000001",
}


def ring(site, body):
    """The problems of the data of a custom method by name."""
    headers, data = {"X-Service-Method": "ring"}, json.dumps(body)
    answer = site.client.post("/bell", data=data, headers=headers, content_type=JSON)
    return codes_of(answer)


def names_of(codes):
    """The names of fields in codes, without the places of items."""
    return {str(name).partition(".")[0] for name in codes}


def is_taken_by_pydantic(value):
    """True stands for a number, and text may be no Unicode."""
    return any(each in repr(value) for each in ("True", "ud800"))


def test_malformed_values_of_custom_methods_are_refused(site):
    post = site.document["paths"]["/bell"]["post"]
    schema = post["requestBody"]["content"][JSON]["schema"]
    sent = [
        (name, value, ring(site, {**RING, name: value}))
        for name, each in schema["properties"].items()
        for value in malformed(each)
        if not is_taken_by_pydantic(value)
    ]

    assert len(sent) > 50
    assert [each for each in sent if names_of(each[2]) != {each[0]}] == []


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (RING, (200, '{"rung":true}')),
        ({}, dict.fromkeys(RING, "required")),
        ({**RING, "nope": 1}, {"nope": "unknown_field"}),
    ],
)
def test_missing_and_extra_values_of_custom_methods_are_refused(site, body, codes):
    assert ring(site, body) == codes


@pytest.mark.parametrize(("path", "body"), [("people", "People"), ("seats", "Seats")])
def test_missing_fields_are_refused(site, path, body):
    required = site.body(f"{body}Create")["required"]

    assert required
    for extra in ({}, dict.fromkeys(required)):
        codes = site.send("POST", f"/{path}", extra)
        assert codes == dict.fromkeys(required, "required")


@pytest.mark.parametrize("verb", ["POST", "PATCH"])
@pytest.mark.parametrize("name", ["nope", "__class__", "", "a.b", "$set", "x" * 5_000])
def test_extra_fields_are_refused(site, verb, name):
    id = site.client.post("/things", json={}).json["id"]
    codes = site.send(verb, "/things" if verb == "POST" else f"/things/{id}", {name: 1})

    assert [*codes.values()] == ["unknown_field"]
    assert all(len(each) < 200 for each in codes)


@pytest.mark.parametrize(
    "body", ["", "1", '"x"', "null", "{", "NaN", "[" * 100_000, f"[{'9' * 5_000}]"]
)
@pytest.mark.parametrize(
    ("path", "headers"), [("/things", {}), ("/bell", {"X-Service-Method": "ring"})]
)
def test_malformed_bodies_are_refused(site, path, headers, body):
    answer = site.client.post(path, data=body, headers=headers, content_type=JSON)

    assert answer.status_code == 400, answer.text
    assert len(answer.text) < 1_000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@given(st.data(), VALUES)
def test_no_value_is_an_error_of_the_server(site, data, value):
    properties = site.body("ThingsCreate")["properties"]
    name = data.draw(st.sampled_from(sorted({*properties} - {"id"})))
    answer = site.client.post(
        "/things", data=json.dumps({name: value}), content_type=JSON
    )
    codes = codes_of(answer)

    # Python writes numbers that JSON does not have.
    is_json = all(each not in json.dumps(value) for each in ("NaN", "Infinity"))
    is_refused = [*codes] == [name] or not is_json
    assert answer.status_code == 201 or (answer.status_code == 400 and is_refused)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *[(f"{each}={value}", each) for each in ("$limit", "$skip") for value in "x-"],
        *[("$limit=-1", "$limit"), ("$limit[]=1", "$limit"), ("$skip[a]=1", "$skip")],
        *[(f"$limit={'9' * 200}", "$limit"), ("$skip=1.5", "$skip")],
        *[("$sort=id", "$sort"), ("$sort[]=id", "$sort"), ("$sort[nope]=1", "nope")],
        *[("$select[a]=id", "$select"), ("$select[]=nope", "nope")],
        *[("$or=1", "$or"), ("$or[a]=1", "$or"), ("$or[0]=1", "$or")],
        *[("$and[0][$or][0][nope]=1", "nope"), ("nope=1", "nope")],
        *[(f"$or{'[0][$or]' * 30}=1", "$or"), ("$not=1", "$not")],
    ],
)
def test_malformed_parameters_of_queries_are_refused(site, query, name):
    assert [*site.ask(query)] == [name]


@pytest.mark.parametrize("path", ["things", "people", "seats"])
@pytest.mark.parametrize(
    "id", ["nope", "0x1", "1.5", "9" * 500, "%00", "%ED%A0%80", "{}", "1,2,3", "null"]
)
@pytest.mark.parametrize("verb", ["GET", "PATCH", "DELETE"])
def test_malformed_identifiers_name_no_record(site, path, id, verb):
    answer = site.client.open(f"/{path}/{id}", method=verb, json={})

    assert answer.status_code == 404
    assert len(answer.text) < 1_000
