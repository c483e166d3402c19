"""A record that others refer to is not removed, unless the model says otherwise."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "referred_author"

    id: Mapped[int] = mapped_column(primary_key=True)
    books: Mapped[list[Book]] = relationship()
    pages: Mapped[list[Page]] = relationship()


class Book(Base):
    """A key that can't be null, and can't be set to null by the unit of work."""

    __tablename__ = "referring_book"

    id: Mapped[int] = mapped_column(primary_key=True)
    author_id: Mapped[int] = mapped_column(sa.ForeignKey("referred_author.id"))


class Page(Base):
    """A key that is part of the primary key."""

    __tablename__ = "referring_page"

    number: Mapped[int] = mapped_column(primary_key=True)
    writer_id: Mapped[int] = mapped_column(
        sa.ForeignKey("referred_author.id"), primary_key=True
    )


class City(Base):
    __tablename__ = "referred_city"

    id: Mapped[int] = mapped_column(primary_key=True)


class Street(Base):
    """A key that no relationship knows of."""

    __tablename__ = "referring_street"

    id: Mapped[int] = mapped_column(primary_key=True)
    city_id: Mapped[int] = mapped_column(sa.ForeignKey("referred_city.id"))


@pytest.fixture
def client(database_url):
    records = FlaskRecords(logger=False)

    for path, model in {"authors": Author, "books": Book, "cities": City}.items():
        service = SQLAlchemyService(model, client_ids=True, multi=True)
        records.add(path, service, public=True)

    pages = SQLAlchemyService(Page, client_ids=True)
    records.add("pages", pages, public=True)
    streets = SQLAlchemyService(Street, client_ids=True)
    records.add("streets", streets, public=True)

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        yield app.test_client()


REFUSAL = "Other records still refer to this one.", {"id": "is still referred to"}


@pytest.mark.parametrize("path", ["/authors/1", "/authors"])
def test_children_whose_key_cannot_be_null_keep_their_parent(client, path):
    client.post("/authors", json={"id": 1})
    client.post("/books", json={"id": 1, "author_id": 1})

    response = client.delete(path)

    assert response.status_code == 409
    assert (response.json["message"], response.json["errors"]) == REFUSAL
    assert client.get("/books/1").json == {"id": 1, "author_id": 1}


def test_children_whose_key_is_in_their_primary_key_keep_their_parent(client):
    client.post("/authors", json={"id": 1})
    client.post("/pages", json={"number": 1, "writer_id": 1})

    response = client.delete("/authors/1")

    assert response.status_code == 409
    assert response.json["message"].endswith("still refer to this one.")


def test_children_that_no_relationship_knows_keep_their_parent(client):
    client.post("/cities", json={"id": 1})
    client.post("/streets", json={"id": 1, "city_id": 1})

    response = client.delete("/cities/1")

    assert response.status_code == 409
    assert (response.json["message"], response.json["errors"]) == REFUSAL
