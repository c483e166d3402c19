"""Schemas that are Structs of msgspec."""

from __future__ import annotations

import datetime as dt
import enum
import typing as t

import msgspec
import pytest
from flask import Flask

from flask_records import FlaskRecords
from flask_records import InvalidData
from flask_records import Problem
from flask_records.validation.msgspec_schemas import StructSchema


class Color(enum.Enum):
    red = "red"


class Address(msgspec.Struct, forbid_unknown_fields=True):
    zip: t.Annotated[str, msgspec.Meta(pattern="^[0-9]{5}$")]


class Person(msgspec.Struct, rename="camel"):
    full_name: t.Annotated[str, msgspec.Meta(min_length=2, max_length=9)]
    born: dt.date | None = None
    seen: dt.date | None = None
    stars: t.Annotated[int, msgspec.Meta(le=5)] = 3
    color: Color = Color.red
    picture: bytes | None = None
    addresses: list[Address] = []

    def __post_init__(self):
        if self.born and self.seen and self.seen < self.born:
            raise ValueError(Problem("is before 'born'", "order"))


class Node(msgspec.Struct):
    nodes: list[Node] = []


class Persons:
    def create(self, data, params):
        return data

    def patch(self, id, data, params):
        return data

    def get(self, id, params):
        return {"full_name": "Ann", "fullName": "Ann", "secret": 1}


@pytest.fixture
def call():
    records = FlaskRecords()
    schemas = {"create": Person, "patch": Person, "get": {"result": Person}}
    records.add("persons", Persons(), schemas=schemas, public=True)
    app = Flask("tests")
    app.config["RECORDS_ERRORS"] = {"codes": True}
    records.init_app(app)
    client = app.test_client()
    return lambda verb, path, data=None: client.open(path, method=verb, json=data)


def codes_of(answer):
    assert answer.status_code == 400, answer.text
    return {name: each["code"] for name, each in answer.json["errors"].items()}


def test_values_are_converted_and_defaults_filled_in(call):
    data = {"fullName": "Ann", "born": "2000-01-01", "addresses": [{"zip": "12345"}]}

    assert call("POST", "/persons", data).json == {
        "full_name": "Ann",
        "born": "2000-01-01",
        "stars": 3,
        "color": "red",
        "addresses": [{"zip": "12345"}],
    }


def test_all_problems_have_paths_and_codes(call):
    data = {
        "born": "soon",
        "stars": 6,
        "color": "blue",
        "picture": "*",
        "addresses": [{"zip": "1"}],
        "x": 1,
    }

    assert codes_of(call("POST", "/persons", data)) == {
        "fullName": "required",
        "born": "invalid",
        "stars": "out_of_range",
        "color": "choice",
        "picture": "invalid",
        "addresses.0.zip": "format",
        "x": "unknown_field",
    }


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("fullName", 1, {"fullName": "type"}),
        ("fullName", "x", {"fullName": "too_short"}),
        ("fullName", "x" * 10, {"fullName": "too_long"}),
        ("stars", "x", {"stars": "type"}),
        ("addresses", {}, {"addresses": "type"}),
        ("addresses", [{}], {"addresses.0.zip": "required"}),
        ("addresses", [{"zip": "12345", "a": 1}], {"addresses.0.a": "unknown_field"}),
    ],
)
def test_value_of_another_form_has_a_code(call, name, value, problem):
    assert codes_of(call("PATCH", "/persons/1", {name: value})) == problem


def test_problem_of_the_whole(call):
    data = {"fullName": "Ann", "born": "2000-01-01", "seen": "1999-01-01"}

    assert codes_of(call("POST", "/persons", data)) == {"data": "order"}


def test_patch_checks_what_is_sent(call):
    assert call("PATCH", "/persons/1", {"stars": "4"}).json == {"stars": 4}


def test_result_has_what_the_class_has(call):
    person = call("GET", "/persons/1").json

    assert (person["fullName"], "secret" in person) == ("Ann", False)


@pytest.mark.parametrize("is_partial", [False, True])
def test_objects_in_each_other_are_bounded(is_partial):
    data = {}

    for _ in range(5000):
        data = {"nodes": [data]}

    with pytest.raises(InvalidData) as error:
        StructSchema(Node).check(data, is_partial=is_partial)

    assert [each.code for each in error.value.problems.values()] == ["too_deep"]


def test_json_schema_has_names_on_the_wire():
    whole = StructSchema(Person).json_schema("whole")
    part = StructSchema(Person).json_schema("partial")

    assert whole["required"] == ["fullName"]
    assert whole["properties"]["stars"] == {
        "type": "integer",
        "maximum": 5,
        "default": 3,
    }
    assert "required" not in part and "default" not in part["properties"]["stars"]
