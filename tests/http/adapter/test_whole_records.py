"""Whole records that clients send back as they got them."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import (
    column_property,
    DeclarativeBase,
    Mapped,
    mapped_column,
    relationship,
)

from flask_records import SQLAlchemyService

from ...databases import serving_models

MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678901)
LARGE = 2**53 + 1


class Color(enum.Enum):
    red = "r"
    green = "g"


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    books: Mapped[list[Book]] = relationship(back_populates="author")


class Book(Base):
    __tablename__ = "book"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(20))
    authorId: Mapped[int | None] = mapped_column(sa.ForeignKey("author.id"))
    secret: Mapped[str | None] = mapped_column(sa.String(20), default="s")
    made: Mapped[dt.datetime] = mapped_column(
        sa.DateTime().with_variant(sa.dialects.mysql.DATETIME(fsp=6), "mariadb"),
        default=MOMENT,
    )
    price: Mapped[Decimal] = mapped_column(sa.Numeric(8, 2), default=Decimal("1.50"))
    seen: Mapped[int] = mapped_column(sa.BigInteger, default=LARGE)
    ratio: Mapped[float] = mapped_column(sa.Double, default=0.1)
    color: Mapped[Color] = mapped_column(default=Color.green)
    isNew: Mapped[bool] = mapped_column(default=True)
    takes: Mapped[dt.timedelta] = mapped_column(default=dt.timedelta(seconds=90))
    image: Mapped[bytes] = mapped_column(sa.LargeBinary, default=b"\0\1")
    notes: Mapped[Any] = mapped_column(
        sa.JSON, default={"n": [1.0, 5, None], "o": {"t": True}}
    )
    none: Mapped[int | None]
    twice: Mapped[int] = column_property(sa.literal_column("2 * 21", sa.Integer))
    author: Mapped[Author | None] = relationship(back_populates="books")

    @hybrid_property
    def label(self):
        return self.title + "!"


READ_ONLY = [
    *("made", "price", "seen", "ratio", "color", "isNew"),
    *("takes", "image", "notes", "none"),
]


@pytest.fixture(scope="module")
def app(module_url):
    options = {"whitelist": ["$populate"], "hidden": ["secret"], "multi": True}
    services = {
        "books": SQLAlchemyService(Book, readonly=READ_ONLY, **options),
        "plain": SQLAlchemyService(Book, readonly=READ_ONLY),
        "authors": SQLAlchemyService(Author, whitelist=["$populate"]),
    }

    with serving_models(module_url, services) as client:
        yield client.application


@pytest.fixture
def book(client):
    """A book as a client gets it."""
    author = client.post("/authors", json={"name": "Ann"}).json
    body = {"title": "A", "authorId": author["id"]}
    return client.post("/books", json=body).json


def of_javascript(record):
    """A record as ``JSON.parse`` and ``JSON.stringify`` pass it on."""
    notes = {"n": [1, 5, None], "o": {"t": True}}
    made = "2026-01-02T03:04:05.678Z"
    return record | {"seen": 2**53, "notes": notes, "made": made, "price": 1.5}


@pytest.mark.parametrize("verb", ["put", "patch"])
@pytest.mark.parametrize("passed_on", [dict, of_javascript])
def test_whole_record_is_taken_back(app, client, book, verb, passed_on):
    path = f"/books/{book['id']}"
    body = passed_on(book) | {"title": "B"}

    response = getattr(client, verb)(path, json=body)

    assert response.status_code == 200, response.json
    assert response.json == book | {"title": "B", "label": "B!"}
    assert client.get(path).json == response.json

    with app.app_context():
        assert app.extensions["records"]["books"].get(book["id"])["secret"] == "s"


DIFFERENT = {
    "made": "2026-01-02T03:04:05.679Z",
    "price": "1.51",
    "seen": 1,
    "ratio": 0.2,
    "color": "red",
    "isNew": False,
    "takes": 91,
    "image": "AAE=AAE=",
    "notes": {"n": [1.0, LARGE, None], "o": {"t": False}},
    "none": 0,
    "twice": 43,
    "label": "B",
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_value_that_differs_is_refused(client, book, name):
    for verb in ("put", "patch"):
        for value in (DIFFERENT[name], "red?", [], {}, 10**400, "nan"):
            answer = getattr(client, verb)(
                f"/books/{book['id']}", json=book | {name: value}
            )

            assert answer.status_code == 400
            assert answer.json["errors"] == {name: "is read-only"}

    assert client.get(f"/books/{book['id']}").json == book


def test_other_calls_have_no_unchanged_values(client, book):
    many = client.patch(f"/books?id={book['id']}", json={"isNew": True})
    new = client.post("/books", json={"title": "B", "isNew": True})

    for response in (many, new):
        assert response.json["errors"] == {"isNew": "is read-only"}


def test_record_has_to_be_there_and_meet_the_query(client, book):
    path = f"/books/{book['id']}"

    assert client.patch("/books/0", json=book).status_code == 404
    assert client.patch("/books/x", json=book).status_code == 404
    assert client.patch(f"{path}?title=no", json=book).status_code == 404
    assert client.patch(f"{path}?title=A", json=book).status_code == 200


@pytest.mark.parametrize("verb", ["put", "patch"])
def test_populated_relationship_is_left_out(client, book, verb):
    path = f"/books/{book['id']}"
    populated = client.get(f"{path}?$populate=author").json
    changed = populated | {"title": "B", "author": {"id": 0, "name": "Eve"}}

    response = getattr(client, verb)(path, json=changed)

    assert response.status_code == 200, response.json
    assert client.get(f"{path}?$populate=author").json == populated | {
        "title": "B",
        "label": "B!",
    }
