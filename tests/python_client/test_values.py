"""The values of each type of column, over HTTP against an application of its own."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import ExactNumeric
from flask_records import FlaskRecords
from flask_records import SQLAlchemyService
from flask_records.client.values import query_string
from flask_records.client.values import read
from flask_records.client.values import to_json
from tests.conftest import running

from .modules import imported


class Base(DeclarativeBase):
    pass


class Color(enum.Enum):
    red = 1
    green = 2


class Page(Base):
    """A thing whose name the client has for something else."""

    __tablename__ = "page"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    name: Mapped[str] = mapped_column(comment='Its "name"\nof {two} lines.')
    price: Mapped[Decimal | None] = mapped_column(ExactNumeric(8, 2))
    madeAt: Mapped[dt.datetime | None]
    day: Mapped[dt.date | None]
    opens: Mapped[dt.time | None]
    takes: Mapped[dt.timedelta | None]
    color: Mapped[Color | None]
    image: Mapped[bytes | None]
    notes: Mapped[list | None] = mapped_column(sa.JSON)
    secret: Mapped[str | None]


class Bell:
    def find(self, params):
        return {"rings": 3}

    def list(self, data, params):
        return params.route


@pytest.fixture(scope="module")
def app():
    app = Flask("things")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords(url_prefix="/api")
    pages = SQLAlchemyService(Page, visible={"secret": lambda user: False})
    records.add("my-pages", pages, public=True)
    methods = ["find", "list"]
    records.add("rooms/:roomId/bell", Bell(), methods=methods, public=True)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        yield app
        db.engine.dispose()


@pytest.fixture(scope="module")
def made(app):
    with imported(app, "values_client") as module:
        yield module


@pytest.fixture
def client(app, made):
    with running(app) as url, made.Client(url) as client:
        yield client


def test_values_of_each_type_come_back(client):
    values = {
        "name": "Lamp",
        "price": Decimal("9.90"),
        "madeAt": dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC),
        "day": dt.date(2026, 1, 1),
        "opens": dt.time(10, 30),
        "color": "red",
        "image": b"\x00\x01",
        "notes": ["a", {"b": None}],
    }

    made = client.my_pages.create({**values, "takes": dt.timedelta(seconds=90)})

    assert made == {**values, "takes": 90.0, "id": made["id"]}
    assert isinstance(made["id"], uuid.UUID)
    assert client.my_pages.get(made["id"]) == made


@pytest.mark.parametrize(
    "query",
    [
        {"price": {"$lt": Decimal("9.5")}},
        {"madeAt": {"$gte": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}},
        {"day": dt.date(2026, 2, 1)},
        {"opens": {"$in": [dt.time(8, 0)]}},
        {"image": b"ab?>"},
        {"takes": dt.timedelta(minutes=1)},
    ],
)
def test_values_of_queries_are_those_of_records(client, query):
    values = {
        "price": Decimal("9.40"),
        "madeAt": dt.datetime(2026, 2, 1, tzinfo=dt.UTC),
        "day": dt.date(2026, 2, 1),
        "opens": dt.time(8, 0),
        "takes": dt.timedelta(minutes=1),
        "image": b"ab?>",
    }
    record = client.my_pages.create({"name": "Chair", **values})

    assert record in client.my_pages.find(query)


def test_types_that_the_client_has_already_have_another_name(made):
    assert made.MyPages.__annotations__["price"] == Decimal | None
    assert "secret" in made.MyPages.__optional_keys__
    assert made.Page.__name__ == "Page"


def test_objects_without_schemas_are_called(client):
    bell = client.rooms_bell(roomId="a/b")

    assert bell.find() == {"rings": 3}
    assert bell.list_({}) == {"roomId": "a/b"}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("soon", "date-time"),
        (None, "date"),
        (5, "decimal"),
        ("9,90", "decimal"),
        ("x", ["date"]),
        ("x", {"at": "date"}),
    ],
)
def test_value_that_has_not_its_form_stays_as_it_is(value, form):
    assert read(value, form) == value


def test_values_in_lists_and_objects_are_read():
    day = dt.date(2026, 1, 1)

    assert read([{"at": ["2026-01-01"]}], {"at": ["date"]}) == [{"at": [day]}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["2026-01-01"], [dt.date(2026, 1, 1)]),
        ({"data": ["2026-01-01"]}, {"data": [dt.date(2026, 1, 1)]}),
        ("2026-01-01", dt.date(2026, 1, 1)),
        ([{"data": ["2026-01-01"]}], [{"data": ["2026-01-01"]}]),
    ],
)
def test_value_has_one_of_several_forms(value, expected):
    assert read(value, (["date"], {"data": ["date"]}, "date")) == expected


def test_query_strings_have_brackets():
    query = {"a[b]": "x & y", "$or": [{"b": {"$ne": None}}, {"c": True}], "d": 1.5}

    assert query_string(query) == (
        "a%5Bb%5D=x%20%26%20y&$or[0][b][$ne]=null&$or[1][c]=true&d=1.5"
    )


@pytest.mark.parametrize(
    ("value", "error"), [({1, 2}, TypeError), (float("nan"), ValueError)]
)
def test_value_that_json_can_not_hold_is_refused(value, error):
    with pytest.raises(error):
        to_json(value)
