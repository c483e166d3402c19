"""Values and paths of problems, by the ways in which a field may be written."""

from __future__ import annotations

import enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from flask_records.service.data_schema import DataSchema


class Color(enum.Enum):
    RED = "red"


class Heat:
    """A class of the application."""


class Oven(BaseModel, arbitrary_types_allowed=True):
    color: Color | list[int] | None = None
    heat: Heat | None = None
    tags: set[str] | None = Field(default=None, alias="tagsOf")


@pytest.mark.parametrize("is_partial", [True, False])
def test_values_are_those_of_columns_and_others_stay(is_partial):
    heat = Heat()
    data = {"color": "red", "heat": heat, "tagsOf": ["a"]}

    values, problems = DataSchema(Oven).check(data, is_partial=is_partial)

    assert values == {"color": Color.RED, "heat": heat, "tags": ["a"]}
    assert problems == {}


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
    assert DataSchema(Home).check(data)[1].keys() == {path}
