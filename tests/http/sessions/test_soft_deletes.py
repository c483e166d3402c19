"""Records that the application hides from the reads of its session."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    mapped_column,
    relationship,
    with_loader_criteria,
)

from flask_records import Params, SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class Shelf(Base):
    __tablename__ = "soft_shelf"

    id: Mapped[int] = mapped_column(primary_key=True)
    books: Mapped[list[Book]] = relationship()


class Book(Base):
    __tablename__ = "soft_book"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str | None] = mapped_column(sa.String(20))
    is_deleted: Mapped[bool] = mapped_column(default=False)
    shelf_id: Mapped[int | None] = mapped_column(sa.ForeignKey("soft_shelf.id"))


def add_criteria(state):
    """The recipe of SQLAlchemy's documentation."""
    if state.is_select and not state.is_column_load and not state.is_relationship_load:
        state.statement = state.statement.options(
            with_loader_criteria(Book, lambda cls: cls.is_deleted.is_(False))
        )


@pytest.fixture
def db():
    db = SQLAlchemy(model_class=Base)
    sa.event.listen(db.session, "do_orm_execute", add_criteria)
    return db


@pytest.fixture
def books(records):
    service = SQLAlchemyService(Book, multi=True)
    return records.add("books", service, public=True)


@pytest.fixture
def shelves(records):
    service = SQLAlchemyService(Shelf, whitelist=["$populate"])
    return records.add("shelves", service, public=True)


@pytest.fixture
def client(db, records, books, shelves, database_url):
    with served(db, records, database_url) as app, app.app_context():
        yield app.test_client()


@pytest.fixture
def sent(records):
    """The events that were sent, with their records."""
    sent = []
    records.events()(lambda event, record, context: sent.append((event, record)))
    return sent


DELETED = {"id": 1, "title": "Dune", "is_deleted": True, "shelf_id": None}


@pytest.mark.parametrize("verb", ["PATCH", "PUT"])
def test_write_that_hides_a_record_answers_with_it(client, sent, verb):
    client.post("/books", json={"title": "Dune"})

    answer = client.open(
        "/books/1", method=verb, json={"title": "Dune", "is_deleted": True}
    )

    assert (answer.status_code, answer.json) == (200, DELETED)
    assert sent[-1] == ({"PATCH": "patched", "PUT": "updated"}[verb], DELETED)
    assert client.get("/books/1").status_code == 404
    assert client.get("/books").json == []


def test_patch_of_many_that_hides_them_answers_with_them(client):
    client.post("/books", json=[{"title": "Dune"}, {"title": "Emma"}])

    answer = client.patch("/books", json={"is_deleted": True})

    assert [book["title"] for book in answer.json] == ["Dune", "Emma"]
    assert client.patch("/books", json={"title": "Ulysses"}).json == []


def test_remove_that_becomes_an_update(client, db, sent):
    @sa.event.listens_for(db.session, "before_flush")
    def keep(session, context, instances):
        for book in list(session.deleted):
            session.add(book)
            book.is_deleted = True

    client.post("/books", json={"title": "Dune"})

    answer = client.delete("/books/1")

    assert answer.json == {**DELETED, "is_deleted": False}
    assert sent[-1] == ("removed", answer.json)
    assert client.get("/books/1").status_code == 404
    stored = db.session.connection().execute(sa.select(Book.id, Book.is_deleted))
    assert [tuple(row) for row in stored] == [(1, True)]


def test_populate_leaves_hidden_records_out(client, shelves):
    client.post("/shelves", json={})
    client.post("/books", json={"title": "Dune", "shelf_id": 1, "is_deleted": True})
    client.post("/books", json={"title": "Emma", "shelf_id": 1})
    populated = Params({"$populate": ["books"]})

    read, written = shelves.get(1, populated), shelves.patch(1, {}, populated)

    assert [book["title"] for book in read["books"]] == ["Emma"]
    assert [book["title"] for book in written["books"]] == ["Emma"]
