"""A zoo, a service whose schemas are unions and lists."""

from __future__ import annotations

import dataclasses
import datetime as dt
import typing as t

import pytest
from flask import Flask
from pydantic import AfterValidator
from pydantic import BaseModel
from pydantic import Field
from pydantic import RootModel

from flask_records import FlaskRecords

from .shop import calls_to


class Cat(BaseModel):
    kind: t.Literal["cat"] = "cat"
    lives: int = Field(default=9, ge=1)
    photo: bytes | None = None


class Dog(BaseModel):
    kind: t.Literal["dog"]
    born: dt.date
    friends: list[Pet] = []


Pet = t.Annotated[Cat | Dog, Field(discriminator="kind")]
Dog.model_rebuild()


class AnyPet(RootModel[Pet]):
    pass


@dataclasses.dataclass
class Circle:
    radius: float


@dataclasses.dataclass
class Square:
    side: float


def not_huge(shape):
    if getattr(shape, "radius", 0) > 100:
        raise ValueError("is huge")

    return shape


Shape = t.Annotated[Circle | Square, AfterValidator(not_huge)]


class Point(BaseModel):
    x: int
    y: int | dt.date = 0


class Zoo:
    def find(self, params):
        return [params.query]

    def get(self, id, params):
        return {"kind": id, "lives": 3, "secret": 1}

    def create(self, data, params):
        return data

    def patch(self, id, data, params):
        return data

    def count(self, data, params):
        return len(data)

    def draw(self, data, params):
        return data


@pytest.fixture
def add():
    """Add a service over HTTP, and return a function that calls it."""

    def add(**schemas):
        records = FlaskRecords()
        methods = ["find", "get", "create", "patch", "count", "draw"]
        records.add("zoo", Zoo(), schemas=schemas, methods=methods, public=True)
        app = Flask("tests")
        app.config["RECORDS_ERRORS"] = {"codes": True}
        records.init_app(app)
        return calls_to(app, "/zoo")

    return add


def codes_of(answer):
    assert answer[0] == 400, answer
    return {name: each["code"] for name, each in answer[1]["errors"].items()}
