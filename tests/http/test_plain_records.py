"""Results of other classes than dict are records of their fields, or refused."""

from __future__ import annotations

import collections
import dataclasses
import logging

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.json.provider import DefaultJSONProvider

from flask_records import FlaskRecords, Page

from ..models import User

pydantic = pytest.importorskip("pydantic")


class Author(pydantic.BaseModel):
    name: str
    secret: str = pydantic.Field("s3cret", exclude=True)


class Book(pydantic.BaseModel):
    id: int
    title: str
    token: str = "t0ken"
    author: Author | None = None


@dataclasses.dataclass
class Note:
    id: int
    text: str
    token: str = "t0ken"
    _cache: str = "s3cret"


@dataclasses.dataclass
class Money:
    amount: int

    def __str__(self):
        return f"{self.amount} EUR"


Point = collections.namedtuple("Point", ["id", "token"])


class Formless:
    def __str__(self):
        return "s3cret"


class Things:
    hidden = ["token"]

    def __init__(self, result):
        self.result = result

    def find(self, params):
        return self.result

    def create(self, data, params):
        return self.result


def serve(result, hook=None, provider=None):
    records = FlaskRecords()
    things = records.add("things", Things(result), public=True)
    app = Flask("tests")

    if hook is not None:
        things.after()(hook)

    if provider is not None:
        app.json = provider(app)

    records.init_app(app)
    return app, things


def row():
    with sa.create_engine("sqlite://").connect() as connection:
        return connection.execute(sa.text("SELECT 1 AS id, 't0ken' AS token")).one()


RESULTS = [
    (Book(id=1, title="A"), {"id": 1, "title": "A", "author": None}),
    (
        [Book(id=1, title="A", author=Author(name="Ann"))],
        [{"id": 1, "title": "A", "author": {"name": "Ann"}}],
    ),
    (Note(1, "hi"), {"id": 1, "text": "hi"}),
    ({"id": 1, "note": Note(1, "hi", "x")}, {"id": 1, "note": {"id": 1, "text": "hi"}}),
    (Note(1, [Author(name="Ann")]), {"id": 1, "text": [{"name": "Ann"}]}),
    (({"id": 1, "token": "t0ken"},), [{"id": 1}]),
    (
        Page(1, 10, 0, [Note(1, "hi")]),
        {"total": 1, "limit": 10, "skip": 0, "data": [{"id": 1, "text": "hi"}]},
    ),
    ({"price": Money(5)}, {"price": "5 EUR"}),
]


@pytest.mark.parametrize(("result", "body"), RESULTS)
def test_an_object_is_a_record_of_its_fields(result, body):
    app, _ = serve(result)

    response = app.test_client().get("/things")

    if isinstance(body, dict) and "note" in body:
        body = {**body, "note": {**body["note"], "token": "x"}}

    assert (response.status_code, response.json) == (200, body)


def test_a_call_in_python_keeps_objects_unless_fields_are_hidden():
    app, things = serve(Note(1, "hi"))
    open_things = things_of(Note(1, "hi"))

    with app.app_context():
        hidden, shown = things.find(), open_things.find()

    assert (hidden, shown) == ({"id": 1, "text": "hi", "token": "t0ken"}, Note(1, "hi"))


def things_of(result):
    class Open(Things):
        hidden = ()

    return FlaskRecords().add("open", Open(result), public=True)


def test_events_have_records():
    app, things = serve(Note(1, "hi"))
    events = []
    things.events("created")(lambda event, record, context: events.append(record))

    app.test_client().post("/things", json={})

    with app.app_context():
        things.emit("created", Note(2, "ho"))

    assert events == [{"id": 1, "text": "hi"}, {"id": 2, "text": "ho"}]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            User(id=1),
            "The result of 'things.find' is an instance of 'User': of a model",
        ),
        ([User(id=1)], "The result of 'things.find'[0] is an instance"),
        ({"id": 1, "user": User(id=1)}, "A value in a result is an instance"),
        (Note(1, User(id=1)), "A value in a result is an instance"),
        (row(), "The result of 'things.find' is an instance of 'Row'"),
        (
            [Point(1, "t0ken")],
            "The result of 'things.find'[0] is an instance of 'Point'",
        ),
        ({"id": 2**70, "at": Point(1, 2)}, "A value in a result is an instance of 'Po"),
    ],
)
def test_other_objects_are_refused_with_words_in_the_log(result, words, caplog):
    app, _ = serve(result)

    with caplog.at_level(logging.ERROR):
        response = app.test_client().get("/things")

    assert response.status_code == 500
    assert response.json["message"] == "Internal server error"
    assert words in caplog.text


class Provider(DefaultJSONProvider):
    """A provider of the application that knows a class, and would send all others as
    their text.
    """

    @staticmethod
    def default(value):
        return {"formless": True} if isinstance(value, Formless) else str(value)


@pytest.mark.parametrize(
    ("result", "body"),
    [
        ({"id": 1, "value": Formless()}, {"id": 1, "value": {"formless": True}}),
        ([Formless()], [{"formless": True}]),
        (
            {"id": 2**70, "value": Formless()},
            {"id": 2**70, "value": {"formless": True}},
        ),
        ({"price": Money(5)}, {"price": "5 EUR"}),
        (Note(1, "hi"), {"id": 1, "text": "hi"}),
    ],
)
def test_the_provider_of_the_application_encodes_what_ours_does_not_know(result, body):
    app, _ = serve(result, provider=Provider)

    assert app.test_client().get("/things").json == body
