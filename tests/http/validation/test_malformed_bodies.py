"""Malformed, deep and huge values for schemas, each of which is a 400."""

from __future__ import annotations

import datetime as dt
import typing as t
import uuid
from decimal import Decimal

import pytest
from flask import Flask
from pydantic import Base64Bytes, BaseModel, field_validator

from flask_records import FlaskRecords


class Node(BaseModel):
    text: str = ""
    number: int = 0
    real: float = 0
    flag: bool = False
    amount: Decimal = Decimal(0)
    moment: dt.datetime | None = None
    day: dt.date | None = None
    hour: dt.time | None = None
    pause: dt.timedelta | None = None
    key: uuid.UUID | None = None
    data: Base64Bytes = b""
    kind: t.Literal["a", "b"] = "a"
    names: list[str] = []
    counts: dict[str, int] = {}
    nodes: list[Node] = []
    place: tuple[float, float] = (0, 0)
    anything: t.Any = None

    @field_validator("text")
    @classmethod
    def check(cls, text):
        assert text != "assert"

        if text == "raise":
            raise ValueError

        return text


class Nodes:
    def create(self, data, params):
        return {}


@pytest.fixture(scope="module")
def client():
    records = FlaskRecords()
    records.add("nodes", Nodes(), schemas={"create": Node}, public=True)
    app = Flask("tests")
    app.config["RECORDS_ERRORS"] = {"codes": True}
    records.init_app(app)
    return app.test_client()


def errors_of(client, text):
    answer = client.post("/nodes", data=text, content_type="application/json")
    assert answer.status_code == 400, answer.text
    return {name: each["code"] for name, each in answer.json["errors"].items()}


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("text", "1", "type"),
        ("text", "null", "type"),
        ("text", '"assert"', "invalid"),
        ("text", '"raise"', "invalid"),
        ("number", '"x"', "type"),
        ("number", "1.5", "type"),
        ("number", f'"{"9" * 5000}"', "out_of_range"),
        ("real", '"x"', "type"),
        ("flag", "7", "type"),
        ("amount", '"x"', "type"),
        ("amount", '"NaN"', "out_of_range"),
        ("moment", '"2026-13-01"', "type"),
        ("day", '"2026-01-01T10:00:00"', "type"),
        ("hour", '"25:00"', "type"),
        ("pause", '"long"', "type"),
        ("key", '"x"', "type"),
        ("data", '"AAA"', "type"),
        ("data", "[]", "type"),
        ("kind", '"c"', "choice"),
        ("names", '"x"', "type"),
        ("names", "{}", "type"),
        ("counts", "[]", "type"),
        ("nodes", "[1]", "type"),
        ("place", "[1]", "required"),
        ("place", "[1, 2, 3]", "too_long"),
        ("anything", f"{'[' * 900}{']' * 900}", "too_deep"),
    ],
)
def test_value_of_another_form_has_a_code(client, name, value, code):
    errors = errors_of(client, f'{{"{name}": {value}}}')

    assert list(errors.values()) == [code]
    assert next(iter(errors)).partition(".")[0] == name


def test_objects_in_each_other_are_bounded(client):
    deep = '{"nodes":[' * 400 + "{}" + "]}" * 400

    assert list(errors_of(client, deep).values()) == ["too_deep"]


def listed(count):
    return f'{{"names": [{",".join("1" * count)}]}}'


def named(count):
    pairs = ",".join(f'"{number}":null' for number in range(count))
    return f'{{"counts": {{{pairs}}}}}'


@pytest.mark.parametrize("text_of", [listed, named])
def test_only_the_first_of_many_problems_are_named(client, text_of):
    some, many = errors_of(client, text_of(500)), errors_of(client, text_of(5_000))

    assert len(some) == 101
    assert some["..."] == "more"
    assert many == {"data": "more"}


def test_names_of_any_form_are_refused(client):
    names = ["", "nodes.0.text", "x" * 5000]
    text = ",".join(f'"{name}": 1' for name in names)

    assert set(errors_of(client, f"{{{text}}}").values()) == {"unknown_field"}
