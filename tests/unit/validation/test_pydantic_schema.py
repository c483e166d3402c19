"""Fields of the classes of schemas, by the ways in which a type may be written."""

from __future__ import annotations

import base64
import dataclasses
import enum
from typing import Annotated, ClassVar, Literal, NotRequired

import pytest
from pydantic import AliasChoices, BaseModel, Field
from typing_extensions import TypeAliasType, TypedDict

from flask_records import InvalidData
from flask_records.validation.pydantic_schema import PydanticSchema


class Color(enum.Enum):
    RED = "red"


Image = TypeAliasType("Image", bytes)
Paint = TypeAliasType("Paint", Color)


class Model(BaseModel):
    limited: bytes | None = Field(default=None, max_length=3)
    named: Image | None = None
    color: Color | list[int] | None = None
    paint: Paint | None = None


class Dict(TypedDict, total=False):
    limited: NotRequired[Annotated[bytes, Field(max_length=3)]]
    named: NotRequired[Image]
    color: NotRequired[Color]
    paint: NotRequired[Paint]


@pytest.fixture(params=[Model, Dict])
def schema(request):
    return PydanticSchema(request.param)


@pytest.mark.parametrize("is_partial", [True, False])
@pytest.mark.parametrize("name", ["limited", "named"])
def test_bytes_of_each_form_are_base64(schema, name, is_partial):
    data = {name: base64.b64encode(b"abc").decode()}

    assert schema.check(data, is_partial=is_partial) == {name: b"abc"}


@pytest.mark.parametrize("is_partial", [True, False])
@pytest.mark.parametrize("name", ["color", "paint"])
def test_members_of_enums_of_each_form_stay(schema, name, is_partial):
    assert schema.check({name: "red"}, is_partial=is_partial) == {name: Color.RED}


class Degrees:
    """A class of the application that shows itself."""

    def __str__(self):
        return "5°"


class Heat:
    """A class of the application that does not."""


def test_value_has_its_form_in_json_or_its_text_if_there_is_one():
    class Oven(BaseModel, arbitrary_types_allowed=True):
        degrees: Degrees = Field(alias="degreesOf")
        heat: Heat
        tags: set[str] = set()

    heat = Heat()
    data = {"degreesOf": Degrees(), "heat": heat, "tags": ["a"]}

    checked = PydanticSchema(Oven).check(data)

    assert checked == {"degrees": "5°", "heat": heat, "tags": ["a"]}


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    born: int | bool


class Home(BaseModel):
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]]
    places: dict[int, tuple[int, int]] = {}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"pets": [{"kind": "cat", "lives": "x"}]}, "pets.0.lives"),
        ({"pets": [{"kind": "cat"}]}, "pets.0.lives"),
        ({"pets": [{"kind": "dog", "born": "x"}]}, "pets.0.born"),
        ({"pets": [{"kind": "cow"}]}, "pets.0"),
        ({"pets": [], "places": {"x": [1, 2]}}, "places.x"),
        ({"pets": [], "places": {"1": [1]}}, "places.1.1"),
    ],
)
def test_path_has_no_names_of_types(data, path):
    with pytest.raises(InvalidData) as caught:
        PydanticSchema(Home).check(data)

    assert caught.value.problems.keys() == {path}


def test_null_is_left_to_the_model_if_a_field_is_sent_by_two_names():
    class Box(BaseModel):
        width: int = Field(validation_alias=AliasChoices("width", "w"))
        height: int | None = None

    assert PydanticSchema(Box).check({"width": 2, "w": 3}) == {"width": 2}


def test_variables_of_a_class_are_no_fields():
    @dataclasses.dataclass
    class Box:
        unit: ClassVar[str] = "cm"
        width: int = 1

    assert PydanticSchema(Box).names == {"width": "width"}


def test_values_that_a_class_computes_are_kept():
    @dataclasses.dataclass
    class Box:
        width: int
        area: int | None = None
        label: str | None = None

        def __post_init__(self):
            self.area = self.width**2

    assert PydanticSchema(Box).check({"width": 2}) == {"width": 2, "area": 4}
