"""Schemas of hooks, objects, custom methods, queries and results."""

from __future__ import annotations

import pytest
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field

from flask_records import BadRequest
from flask_records import hook
from flask_records import Page
from flask_records import Params

from .shop import add as add
from .shop import errors_of
from .shop import Paper
from .shop import Shop
from .shop import Size


def test_hooks_see_converted_values(add):
    shop, call = add({"create": Size})
    seen = []
    shop.before("create")(lambda method, context: seen.append(context.data))

    call("POST", data={"width": "3"})

    assert seen == [{"width": 3, "height": 1}]


def test_check_runs_before_the_hooks_of_all_services(add, records):
    _, call = add({"create": Size})
    calls = []
    records.before()(lambda method, context: calls.append(method))

    assert errors_of(call("POST", data={})) == {"width": "is required"}
    assert calls == []


def test_check_runs_where_its_hook_stands(add):
    shop, call = add({"create": Size})

    @shop.before("create")
    def double(method, context):
        context.data["width"] *= 2
        context.data["added"] = True

    shop.before("create")(hook("validate"))

    assert call("POST", data={"width": 2})[1] == {
        "width": 4,
        "height": 1,
        "added": True,
    }
    assert errors_of(call("POST", data={"width": 2, "x": 1})) == {"x": "is not a field"}


def test_hooks_add_fields_that_a_class_does_not_have(add):
    shop, call = add({"create": Size})
    shop.before("create")(lambda method, context: context.data.update(by="us"))

    assert call("POST", data={"width": 2})[1] == {"width": 2, "height": 1, "by": "us"}


def test_validate_without_schemas_does_nothing(add, records):
    _, call = add(None)
    records.before()(hook("validate"))

    assert call("POST", data={"x": 1}) == (201, {"x": 1})


def test_unknown_hook_is_refused():
    with pytest.raises(ValueError, match="There is no hook 'check'. There is: valid"):
        hook("check")


@pytest.mark.parametrize(
    ("extra", "expected"), [("allow", {"a": 1, "x": 1}), ("ignore", {"a": 1})]
)
def test_explicit_fate_of_other_names(add, extra, expected):
    class Body(BaseModel):
        model_config = ConfigDict(extra=extra)
        a: int

    _, call = add({"create": Body})

    assert call("POST", data={"a": "1", "x": 1}) == (201, expected)


def test_patch_of_an_object_takes_an_identifier_for_nothing(add):
    _, call = add({"patch": Size})

    assert call("PATCH", "/shop/1", {"id": 1, "height": "2"}) == (200, {"height": 2})
    assert errors_of(call("PATCH", "/shop/1", {"x": 1})) == {"x": "is not a field"}


def test_query_and_result(add):
    class Query(BaseModel):
        limit: int = Field(default=5, alias="$limit")
        names: list[str] = []

    _, call = add({"find": {"query": Query, "result": Paper}})

    assert call("GET", "/shop?$limit=3") == (200, [{"name": "A4", "area": 623}])
    assert errors_of(call("GET", "/shop?$limit=x&size=1")) == {
        "$limit": "is not a whole number",
        "size": "is not a field",
    }


@pytest.mark.parametrize(
    ("extra", "expected"), [("allow", {"a": 1, "x": "1"}), ("ignore", {"a": 1})]
)
def test_explicit_fate_of_other_names_of_a_query(add, extra, expected):
    class Query(BaseModel):
        model_config = ConfigDict(extra=extra)
        a: int

    _, call = add({"find": {"query": Query}})

    assert call("GET", "/shop?a=1&x=1")[1][0]["query"] == expected


def test_records_of_a_page_are_those_of_the_result(add, monkeypatch):
    _, call = add({"find": {"result": Paper}})
    page = Page(1, 10, 0, [{"name": "A4", "area": "623", "secret": 1}])
    monkeypatch.setattr(Shop, "find", lambda self, params: page)

    assert call("GET", "/shop") == (
        200,
        {"total": 1, "limit": 10, "skip": 0, "data": [{"name": "A4", "area": 623}]},
    )


def test_methods_get_a_converted_query(add):
    class Query(BaseModel):
        limit: int = Field(default=5, alias="$limit")

    shop, _ = add({"find": {"query": Query}})

    found = shop.find(Params(query={"$limit": "3", "more": 1}))

    assert found[0]["query"] == {"limit": 3, "more": 1}
    assert shop.find()[0]["query"] == {"limit": 5}


def test_result_that_does_not_fit_is_an_error_of_the_server(add, caplog):
    _, call = add({"get": {"result": Paper}})

    status, body = call("GET", "/shop/A4")

    assert (status, body["message"]) == (500, "Internal server error")
    assert "'shop.get' does not fit its schema: 'area' is required." in caplog.text


def test_custom_method_has_data_and_a_result(add):
    class Cut(BaseModel):
        area: int

    _, call = add({"cut": {"data": Size, "result": Cut}})

    assert call("POST", data={"width": "2"}, method="cut") == (200, {"area": 2})
    assert errors_of(call("POST", data={"height": 0}, method="cut")) == {
        "width": "is required"
    }
    assert call("POST", data=[], method="cut")[0] == 400


def test_custom_method_is_checked_in_python(add):
    shop, _ = add({"cut": Size})

    with pytest.raises(BadRequest, match="'width' is required"):
        shop.custom("cut", {})
