"""The client for tests calls services as clients do."""

from __future__ import annotations

import datetime as dt

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    BadRequest,
    FlaskRecords,
    hash_password,
    NotAuthenticated,
    NotFound,
    set_user_field,
    SQLAlchemyService,
)


class Base(DeclarativeBase):
    pass


class Reader(Base):
    __tablename__ = "reader"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True)
    password: Mapped[str]


class Book(Base):
    __tablename__ = "book"
    id: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]
    lentAt: Mapped[dt.datetime | None]
    readerId: Mapped[int | None]


class Desk:
    def lend(self, data, params):
        return {"lent": data["id"]}

    def close(self, data, params):
        return None


@pytest.fixture
def app():
    records = FlaskRecords(url_prefix="/api")
    app = Flask("library")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["SECRET_KEY"] = "5e" * 32
    db = SQLAlchemy(app, model_class=Base)
    readers = SQLAlchemyService(Reader, hidden=["password"])
    readers = records.add("readers", readers, public=["create"], readable=True)
    readers.before("create", "update", "patch")(hash_password())
    books = SQLAlchemyService(Book, multi=True, client_ids=True)
    books = records.add("books", books)
    books.before("create")(set_user_field("readerId"))
    records.add("desk", Desk(), methods=["lend", "close"], public=True)
    records.add("authentication", AuthenticationService("readers"))
    records.init_app(app)
    app.records = records

    with app.app_context():
        db.create_all()
        readers.create({"email": "ann@example.com", "password": "correct horse"})

    return app


@pytest.fixture
def books(app):
    return app.records.client(app, user=1).service("books")


def test_calls_are_those_of_a_user(app, books):
    made = books.create({"id": "a 1", "title": "Emma"})

    assert made == {"id": "a 1", "title": "Emma", "lentAt": None, "readerId": 1}
    assert books.get("a 1", {"$select": ["title"]}) == {"id": "a 1", "title": "Emma"}
    changed = books.patch("a 1", {"lentAt": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)})
    assert changed["lentAt"].startswith("2026-01-01T00:00:00")
    assert books.update("a 1", {"title": "Emma 2"})["lentAt"] is None
    assert books.remove("a 1")["title"] == "Emma 2"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"title": "A & B=C"}, ["1"]),
        ({"id": {"$in": ["1", "3"]}}, ["1", "3"]),
        ({"$or": [{"title": "D"}, {"lentAt": {"$ne": None}}]}, ["2", "3"]),
        ({"lentAt": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}, ["3"]),
        ({"$sort": {"id": -1}, "$limit": 2}, ["3", "2"]),
    ],
)
def test_queries_are_sent_whole(books, query, found):
    books.create(
        [
            {"id": "1", "title": "A & B=C"},
            {"id": "2", "title": "D"},
            {"id": "3", "title": "E", "lentAt": "2026-01-01T00:00:00Z"},
        ]
    )

    assert [book["id"] for book in books.find(query)] == found


def test_empty_list_is_refused_that_a_query_string_would_lose(books):
    with pytest.raises(ValueError, match="empty list"):
        books.remove(None, {"id": {"$in": []}})


def test_custom_methods_have_results_or_none(app):
    desk = app.records.client(app).service("desk")

    assert desk.custom("lend", {"id": "1"}) == {"lent": "1"}
    assert desk.custom("close", {}) is None


def test_errors_are_of_the_class_that_the_server_names(app, books):
    with pytest.raises(NotFound, match="No record found for id '9'"):
        books.get("9")

    with pytest.raises(BadRequest) as caught:
        books.create({"id": "1", "titel": "Emma"})

    assert {*caught.value.errors} == {"titel", "title"}

    with pytest.raises(NotAuthenticated):
        app.records.client(app).service("books").find()
