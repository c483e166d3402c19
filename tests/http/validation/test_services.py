"""Schemas of services: objects, custom methods, queries, results and forms."""

from __future__ import annotations

import dataclasses
import io

import pytest
from flask import Flask
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel
from werkzeug.datastructures import FileStorage

from flask_records import FlaskRecords, MultipartParser, Page


class Size(BaseModel):
    width: int = Field(ge=1)
    height: int = 1


class Paper(BaseModel):
    name: str
    area: int


class Shop:
    """It returns what it gets."""

    def find(self, params):
        return [{"name": "A4", "area": "623", "secret": 1, "query": params.query}]

    def get(self, id, params):
        return {"name": id}

    def create(self, data, params):
        return data

    def patch(self, id, data, params):
        return data

    def cut(self, data, params):
        return {"area": data["width"] * data["height"], "cost": 5}


@pytest.fixture
def add(records):
    """Add a service over HTTP, and return it with a function that calls it."""

    def add(schemas, **options):
        app = Flask("tests")
        methods = ["find", "get", "create", "patch", "cut"]
        shop = records.add(
            "shop", Shop(), schemas=schemas, methods=methods, public=True, **options
        )
        records.init_app(app)
        return shop, calls_to(app, "/shop")

    return add


def calls_to(app, path):
    """Return a function that makes a call, at a path by default, and returns the status
    and the body of its answer.
    """
    client = app.test_client()

    def call(verb, path=path, data=None, method=None):
        headers = {"X-Service-Method": method} if method else {}
        answer = client.open(path, method=verb, json=data, headers=headers)
        return answer.status_code, answer.get_json()

    call.app = app
    return call


def errors_of(answer):
    assert answer[0] == 400, answer
    return answer[1]["errors"]


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


@pytest.mark.parametrize(
    ("extra", "expected"), [("allow", {"a": 1, "x": 1}), ("ignore", {"a": 1})]
)
def test_explicit_fate_of_other_names(add, extra, expected):
    class Body(BaseModel):
        model_config = ConfigDict(extra=extra)
        a: int

    _, call = add({"create": Body})

    assert call("POST", data={"a": "1", "x": 1}) == (201, expected)


def test_query_and_result(add):
    class Query(BaseModel):
        limit: int = Field(default=5, alias="$limit")
        names: list[str] = []

    _, call = add({"find": {"query": Query, "result": list[Paper]}})

    assert call("GET", "/shop?$limit=3") == (200, [{"name": "A4", "area": 623}])
    assert errors_of(call("GET", "/shop?$limit=x&size=1")) == {
        "$limit": "should be a valid integer, unable to parse string as an integer",
        "size": "is not a field",
    }


def test_result_of_a_class_that_allows_other_names_has_them(add):
    class Named(BaseModel, extra="allow"):
        name: str

    _, call = add({"find": {"result": list[Named]}})

    assert call("GET", "/shop")[1][0].keys() == {"name", "area", "secret", "query"}


def test_records_of_a_page_are_those_of_the_result(add, monkeypatch):
    _, call = add({"find": {"result": Page[Paper]}})
    page = Page(1, 10, 0, [{"name": "A4", "area": "623", "secret": 1}])
    monkeypatch.setattr(Shop, "find", lambda self, params: page)

    assert call("GET", "/shop") == (
        200,
        {"total": 1, "limit": 10, "skip": 0, "data": [{"name": "A4", "area": 623}]},
    )


@pytest.mark.parametrize("shape", [Paper, list[Paper], Page[Paper]])
def test_find_gives_what_its_result_says(add, monkeypatch, caplog, shape):
    _, call = add({"find": {"result": shape}})
    record = {"name": "A4", "area": 623}
    results = {
        Paper: record,
        list[Paper]: [record],
        Page[Paper]: Page(1, 1, 0, [record]),
    }
    answers = {}

    for name, result in results.items():
        monkeypatch.setattr(Shop, "find", lambda self, params, result=result: result)
        answers[name] = call("GET", "/shop")[0]

    assert answers == {each: 200 if each == shape else 500 for each in results}
    assert "'shop.find' does not fit its schema: it is a '" in caplog.text
    assert "'list[Model]' for a list of records" in caplog.text


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


@dataclasses.dataclass
class Box:
    width: int


class Bytes(BaseModel):
    data: bytes | None = None


class Names(BaseModel):
    width: int = Field(validation_alias=AliasChoices("width", "w"))


class Swapped(BaseModel):
    width: int = Field(alias="height")
    height: int = 1


@pytest.mark.parametrize(
    ("schemas", "error", "message"),
    [
        ([Size], TypeError, "maps methods to models"),
        ({"create": list[Size]}, TypeError, "For a list or a single value, give a"),
        ({"create": Size | Names}, TypeError, "can't be a schema"),
        ({"create": RootModel[Size]}, TypeError, "can't be a schema"),
        ({"create": Size(width=1)}, TypeError, "can't be a schema"),
        ({"create": Box}, TypeError, "Give a model of pydantic"),
        ({"create": Names}, TypeError, "'width' of Names has several names"),
        ({"create": Swapped}, TypeError, "'width' of Swapped has .* of another field"),
        ({"create": Bytes}, TypeError, "'data' of Bytes .* Declare it as Base64Bytes"),
        ({"cut": {"result": int}}, TypeError, "can't be a schema"),
        ({"crate": Size}, ValueError, "'crate', which is not a method"),
        ({"find": Size}, ValueError, "'data' for 'find', which takes query, result"),
        ({"create": {"body": Size}}, ValueError, "takes data, query, result"),
    ],
)
def test_option_of_another_form_is_refused(add, schemas, error, message):
    with pytest.raises(error, match=message):
        add(schemas)


class Photo(BaseModel, arbitrary_types_allowed=True):
    rank: int = Field(le=5)
    image_: FileStorage = Field(alias="image")


class Photos:
    def create(self, data, params):
        return {"rank": data["rank"], "image": data["image_"].read().decode()}


PROBLEMS = {"rank": "should be less than or equal to 5", "x": "is not a field"}


@pytest.fixture
def client():
    records = FlaskRecords()
    records.add(
        "photos",
        Photos(),
        schemas={"create": Photo},
        body_parsers={"multipart/form-data": MultipartParser()},
        public=True,
    )
    app = Flask("tests")
    records.init_app(app)
    return app.test_client()


def test_forms_with_files_are_checked(client):
    def send(**fields):
        image = io.BytesIO(b"png"), "a.png"
        return client.post("/photos", data={**fields, "image": image}).json

    assert send(rank="2") == {"rank": 2, "image": "png"}
    assert send(rank="9", x="1")["errors"] == PROBLEMS
