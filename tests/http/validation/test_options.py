"""The option of schemas: the classes and objects that it takes."""

from __future__ import annotations

import dataclasses
from typing import NotRequired

import pytest
from pydantic import RootModel
from typing_extensions import TypedDict

from flask_records import InvalidData
from flask_records import Problem

from .shop import add as add
from .shop import errors_of
from .shop import Size


@dataclasses.dataclass
class Box:
    width: int
    label: str = "none"


class Parcel(TypedDict):
    width: int
    label: NotRequired[str]


@pytest.mark.parametrize(
    ("class_", "created"),
    [(Box, {"width": 2, "label": "none"}), (Parcel, {"width": 2})],
)
def test_other_classes(add, class_, created):
    _, call = add({"create": class_, "patch": class_})

    assert call("POST", data={"width": "2"})[1] == created
    assert call("PATCH", "/shop/1", {"label": "x"})[1] == {"label": "x"}
    assert errors_of(call("POST", data={"label": 1, "x": 1})) == {
        "width": "is required",
        "label": "is not text",
        "x": "is not a field",
    }


class Even:
    """A schema of the application itself."""

    names = {"number": "number"}
    others = "refuse"

    def check(self, data, *, is_partial=False):
        if data["number"] % 2:
            raise InvalidData({"number": Problem("is odd", "odd")})

        return dict(data)

    def shown(self, value):
        return value

    def json_schema(self, mode):
        return {"type": "object"}


def test_schema_of_the_application(add):
    _, call = add({"create": Even()})

    assert call("POST", data={"number": 2}) == (201, {"number": 2})
    assert errors_of(call("POST", data={"number": 3})) == {"number": "is odd"}


@pytest.mark.parametrize(
    ("schemas", "error", "message"),
    [
        ([Size], TypeError, "maps methods to classes"),
        ({"create": int}, TypeError, "For a list or a single value, give a class"),
        ({"create": list[Size]}, TypeError, "For a list or a single value, give a"),
        ({"create": Size | Box}, TypeError, "for a union, an object with the members"),
        ({"create": RootModel[Size]}, TypeError, "can't be a schema"),
        ({"create": Size(width=1)}, TypeError, "can't be a schema"),
        ({"find": {"query": list[int]}}, TypeError, "can't be a schema"),
        ({"cut": {"result": int}}, TypeError, "can't be a schema"),
        ({"cut": "Size"}, TypeError, "can't be a schema"),
        ({"cut": 5}, TypeError, "can't be a schema"),
        ({"crate": Size}, ValueError, "'crate', which is not a method"),
        ({"find": Size}, ValueError, "'data' for 'find', which takes query, result"),
        ({"create": {"body": Size}}, ValueError, "takes data, query, result"),
    ],
)
def test_option_of_another_form_is_refused(add, schemas, error, message):
    with pytest.raises(error, match=message):
        add(schemas)
