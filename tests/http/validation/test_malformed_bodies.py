"""Malformed, deep and huge values for schemas, each of which is a 400."""

from __future__ import annotations

import typing as t

import pytest
from flask import Flask
from pydantic import Base64Bytes, BaseModel, Field, field_validator

from flask_records import FlaskRecords


class Circle(BaseModel):
    kind: t.Literal["circle"]


class Square(BaseModel):
    kind: t.Literal["square"]


class Node(BaseModel):
    text: str = ""
    number: int = 0
    data: Base64Bytes = b""
    names: list[str] = []
    counts: dict[str, int] = {}
    nodes: list[Node] = []
    place: tuple[float, float] = (0, 0)
    anything: t.Any = None
    shape: Circle | Square | None = Field(default=None, discriminator="kind")

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
        ("text", "1", "string_type"),
        ("text", "null", "string_type"),
        ("text", '"assert"', "invalid"),
        ("text", '"raise"', "invalid"),
        ("number", "1.5", "int_from_float"),
        ("number", f'"{"9" * 5000}"', "int_parsing_size"),
        ("data", '"AAA"', "base64_decode"),
        ("names", '"x"', "list_type"),
        ("counts", "[]", "dict_type"),
        ("nodes", "[1]", "model_type"),
        ("place", "[1]", "required"),
        ("place", "[1, 2, 3]", "too_long"),
        ("anything", f"{'[' * 900}{']' * 900}", "too_deep"),
    ],
)
def test_value_of_another_form_has_a_code(client, name, value, code):
    errors = errors_of(client, f'{{"{name}": {value}}}')

    assert list(errors.values()) == [code]
    assert next(iter(errors)).partition(".")[0] == name


def test_values_of_clients_are_not_repeated_at_length(client):
    text = f'{{"shape": {{"kind": "{"x" * 5000}"}}}}'
    answer = client.post("/nodes", data=text, content_type="application/json")

    assert answer.json["errors"]["shape"]["code"] == "union_tag_invalid"
    assert len(answer.text) < 1000


def test_objects_in_each_other_are_bounded(client):
    deep = '{"nodes":[' * 400 + "{}" + "]}" * 400

    [code] = errors_of(client, deep).values()

    assert code in ("recursion_loop", "recursion_depth_exceeded")


def listed(count):
    return f'{{"names": [{",".join("1" * count)}]}}'


def named(count):
    pairs = ",".join(f'"{number}":null' for number in range(count))
    return f'{{"counts": {{{pairs}}}}}'


@pytest.mark.parametrize("text_of", [listed, named])
def test_only_the_first_of_many_problems_are_named(client, text_of):
    some, many = errors_of(client, text_of(500)), errors_of(client, text_of(5_000))

    assert len(some) == 100
    assert many == {"data": "more"}


def test_names_of_any_form_are_refused(client):
    names = ["", "nodes.0.text", "x" * 5000]
    text = ",".join(f'"{name}": 1' for name in names)

    assert set(errors_of(client, f"{{{text}}}").values()) == {"unknown_field"}
