"""A shop, a service that is no model, with schemas."""

from __future__ import annotations

import pytest
from flask import Flask
from pydantic import BaseModel
from pydantic import Field


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
