"""Unions, lists and plain values as schemas."""

from __future__ import annotations

import typing as t

import pytest
from openapi_spec_validator import validate
from pydantic import BaseModel
from pydantic import Field
from pydantic import RootModel

from flask_records.openapi import document
from flask_records.openapi.python import python
from flask_records.openapi.typescript import typescript
from flask_records.validation import pydantic_problems
from flask_records.validation.pydantic_problems import problems_of

from .zoo import add as add
from .zoo import AnyPet
from .zoo import Cat
from .zoo import Circle
from .zoo import codes_of
from .zoo import Dog
from .zoo import Pet
from .zoo import Point
from .zoo import Shape
from .zoo import Square


@pytest.mark.parametrize("pet", [Pet, AnyPet, Cat | Dog])
def test_object_is_checked_by_the_class_of_the_union_that_it_has(add, pet):
    call = add(create=pet)

    assert call("POST", data={"kind": "cat", "photo": "AAH/"})[1]["photo"] == "AAH/"
    assert call("POST", data={"kind": "cat", "lives": "3"}) == (
        201,
        {"kind": "cat", "lives": 3},
    )
    assert call("POST", data={"kind": "dog", "born": "2020-01-02"}) == (
        201,
        {"kind": "dog", "born": "2020-01-02", "friends": []},
    )


@pytest.mark.parametrize("pet", [Pet, AnyPet, Cat | Dog])
@pytest.mark.parametrize(
    ("data", "problems"),
    [
        ({"kind": "cat", "lives": 0}, {"lives": "out_of_range"}),
        ({"kind": "cat", "born": "2020-01-01"}, {"born": "unknown_field"}),
        ({"kind": "cat", "photo": "*"}, {"photo": "type"}),
        ({"kind": "cat", "x": 1}, {"x": "unknown_field"}),
        (
            {"kind": "dog", "born": "x", "lives": 1, "x": 2},
            {"born": "type", "lives": "unknown_field", "x": "unknown_field"},
        ),
        ({"kind": "dog"}, {"born": "required"}),
        (
            {"kind": "dog", "born": "2020-01-01", "friends": [{"kind": "dog"}]},
            {"friends.0.born": "required"},
        ),
        (
            {
                "kind": "dog",
                "born": "2020-01-01",
                "friends": [{"kind": "cow"}, {}, {"kind": "cat", "lives": "x"}],
            },
            {
                "friends.0.kind": "choice",
                "friends.1.kind": "required",
                "friends.2.lives": "type",
            },
        ),
    ],
)
def test_problems_are_those_of_this_class(add, pet, data, problems):
    assert codes_of(add(create=pet)("POST", data=data)) == problems


def test_name_of_the_class_has_to_be_one_of_the_union(add):
    call = add(create=Pet)

    status, body = call("POST", data={"kind": "cow"})

    assert (status, body["errors"]["kind"]) == (
        400,
        {
            "code": "choice",
            "message": "is none of cat, dog",
            "data": {"choices": ["cat", "dog"]},
        },
    )
    assert codes_of(call("POST", data={"lives": 1})) == {"kind": "required"}


class Train(BaseModel):
    kind: t.Literal["train"] = Field(alias="vehicleKind")


class Plane(BaseModel):
    kind: t.Literal["plane"] = Field(alias="vehicleKind")


Vehicle = t.Annotated[Train | Plane, Field(discriminator="kind")]


@pytest.mark.parametrize(
    ("data", "code"), [({}, "required"), ({"vehicleKind": "ship"}, "choice")]
)
def test_name_of_the_class_may_have_an_alias(add, data, code):
    call = add(create=Vehicle)

    assert codes_of(call("POST", data=data)) == {"vehicleKind": code}


@pytest.mark.parametrize(
    ("extra", "expected"), [("allow", {"a": 1, "x": 1}), ("ignore", {"a": 1})]
)
def test_fate_of_other_names_is_that_of_all_classes(add, extra, expected):
    class First(BaseModel, extra=extra):
        a: int

    class Second(BaseModel, extra=extra):
        b: int

    class Strict(BaseModel):
        c: int

    data = {"a": "1", "x": 1}

    assert add(create=First | Second)("POST", data=data) == (201, expected)
    refused = add(create=First | Second | Strict)("POST", data=data)
    assert codes_of(refused) == {"x": "unknown_field"}


def test_patch_of_a_union_checks_what_is_sent(add):
    call = add(patch=Pet)

    assert call("PATCH", "/zoo/1", {"lives": "2"}) == (200, {"lives": 2})
    assert call("PATCH", "/zoo/1", {"kind": "dog", "friends": []})[0] == 200
    assert codes_of(call("PATCH", "/zoo/1", {"lives": 0})) == {"lives": "out_of_range"}
    assert codes_of(call("PATCH", "/zoo/1", {"kind": "dog", "lives": 1})) == {
        "lives": "unknown_field"
    }
    assert codes_of(call("PATCH", "/zoo/1", {"lives": 1, "born": "2020-01-01"})) == {
        "born": "unknown_field"
    }


def test_annotated_union_of_dataclasses_runs_its_validator(add):
    call = add(create=Shape)

    assert call("POST", data={"side": "2"}) == (201, {"side": 2.0})
    assert codes_of(call("POST", data={"radius": 101})) == {"data": "invalid"}
    assert codes_of(call("POST", data={"radius": 1, "side": 1})) == {
        "side": "unknown_field"
    }


def test_query_may_be_a_union(add):
    class ByName(BaseModel):
        name: str

    class ByAge(BaseModel):
        age: int

    call = add(find={"query": ByName | ByAge})

    assert call("GET", "/zoo?age=5") == (200, [{"age": 5}])
    assert call("GET", "/zoo?name=x") == (200, [{"name": "x"}])
    assert codes_of(call("GET", "/zoo?age=x")) == {"age": "type"}
    assert codes_of(call("GET", "/zoo?age=1&name=x")) == {"age": "unknown_field"}


def test_result_may_be_a_union(add):
    call = add(get={"result": Pet})

    assert call("GET", "/zoo/cat") == (
        200,
        {"kind": "cat", "lives": 3, "photo": None},
    )
    assert call("GET", "/zoo/cow")[0] == 500


Points = RootModel[list[Point]]


@pytest.mark.parametrize(
    "points", [list[Point], Points, t.Annotated[list[Point], Field(max_length=2)]]
)
def test_custom_method_takes_a_list(add, points):
    call = add(count={"data": points, "result": int}, draw={"data": points})
    data = [{"x": "1"}, {"x": 2, "y": "2020-01-01"}]

    assert call("POST", data=data, method="count") == (200, 2)
    assert call("POST", data=data, method="draw") == (
        200,
        [{"x": 1, "y": 0}, {"x": 2, "y": "2020-01-01"}],
    )
    bad = [{"x": "a", "y": "b"}, {}]
    assert codes_of(call("POST", data=bad, method="draw")) == {
        "0.x": "type",
        "0.y": "type",
        "1.x": "required",
    }
    assert codes_of(call("POST", data={"x": 1}, method="draw")) == {"data": "type"}


def test_too_many_problems_of_a_list_are_bounded(add):
    call = add(draw={"data": list[Point]})

    problems = codes_of(call("POST", data=[{}] * 50_000, method="draw"))

    assert len(problems) == 101


def test_errors_of_a_union_are_not_all_read(add, monkeypatch):
    read = []

    def noting(error, *args):
        read.append(error.error_count())
        return problems_of(error, *args)

    monkeypatch.setattr(pydantic_problems, "problems_of", noting)

    class First(BaseModel):
        names: list[str]

    class Second(First):
        number: int

    call = add(create=First | Second)

    problems = codes_of(call("POST", data={"names": [1] * 300_000}))

    assert len(problems) == 101
    assert 0 < sum(read) <= 1000


@pytest.mark.parametrize(
    ("hint", "status"),
    [(int, 500), (list[Point], 200), (Point | list[Point], 200), (dict[str, int], 500)],
)
def test_result_that_does_not_fit_a_type_is_an_error(add, hint, status, caplog):
    call = add(draw={"result": hint})

    assert call("POST", data=[{"x": 1}], method="draw")[0] == status
    assert ("does not fit its schema" in caplog.text) == (status == 500)


def test_documents_have_the_types(add):
    call = add(
        create=Pet,
        patch=Pet,
        find={"query": Circle | Square, "result": Pet},
        count={"data": list[Point], "result": int},
    )

    with call.app.app_context():
        made, types, module = document(), typescript(has_client=False), python()

    validate(made)
    schemas = made["components"]["schemas"]
    kinds = [each["properties"]["kind"] for each in schemas["ZooCreate"]["anyOf"]]
    queried = made["paths"]["/zoo"]["get"]["parameters"]
    assert [each["const"] for each in kinds] == ["cat", "dog"]
    assert [each["name"] for each in queried if each["in"] == "query"] == [
        "radius",
        "side",
    ]
    assert "export type ZooData = { kind?:" in types
    assert (
        "  count(data: ({ x: number; y?: number | string })[],"
        " params?: CallParams<ZooQuery>): Promise<number>\n"
    ) in types
    compile(module, "module", "exec")
