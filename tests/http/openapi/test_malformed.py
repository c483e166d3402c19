"""Bodies that do not fit the document of an application are refused by name."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from hypothesis import given
from hypothesis import strategies as st
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
