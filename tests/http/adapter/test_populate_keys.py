"""Relationships hold the records of a join, in the order of the model."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


chosen = sa.Table(
    "chosen",
    Base.metadata,
    sa.Column("shelf", sa.ForeignKey("shelf.name"), primary_key=True),
    sa.Column("book", sa.ForeignKey("book.id"), primary_key=True),
    sa.Column("place", sa.Integer),
)


class Shelf(Base):
    __tablename__ = "shelf"

    name: Mapped[str] = mapped_column(sa.String(20), primary_key=True)

    books: Mapped[list[Book]] = relationship(
        order_by="Book.rank.desc(), Book.title", back_populates="shelf"
    )
    favourites: Mapped[list[Book]] = relationship(
        secondary=chosen, order_by=chosen.c.place.desc()
    )
    first: Mapped[Book | None] = relationship(
        order_by="Book.rank", uselist=False, viewonly=True
    )


class Book(Base):
    __tablename__ = "book"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(20))
    rank: Mapped[int]
    shelf_name: Mapped[str | None] = mapped_column(sa.ForeignKey("shelf.name"))

    shelf: Mapped[Shelf | None] = relationship(back_populates="books")


BOOKS = [
    (1, "aaa", 1, "red"),
    (2, "b", 1, "red"),
    (3, "c", 2, "red"),
    (4, "d", 0, "blue"),
    (5, "dd", 9, "blue"),
]
CHOSEN = [("red", 1, 1), ("red", 4, 2), ("red", 5, 0), ("blue", 2, 7), ("blue", 1, 8)]


@pytest.fixture(scope="module")
def app(module_url):
    records = FlaskRecords()
    options = {"whitelist": ["$populate"], "paginate": {"default": 2, "max": 100}}

    for model in (Shelf, Book):
        service = SQLAlchemyService(model, **options)
        records.add(model.__tablename__, service, public=True)

    db = SQLAlchemy(model_class=Base)

    with served(db, records, module_url) as app:
        with app.app_context():
            db.session.execute(sa.insert(Shelf), [{"name": "red"}, {"name": "blue"}])
            names = ["id", "title", "rank", "shelf_name"]
            db.session.execute(
                sa.insert(Book), [dict(zip(names, book, strict=True)) for book in BOOKS]
            )
            names = ["shelf", "book", "place"]
            rows = [dict(zip(names, row, strict=True)) for row in CHOSEN]
            db.session.execute(sa.insert(chosen), rows)
            db.session.commit()

        yield app


@pytest.mark.parametrize(
    ("name", "titles"),
    [("books", ["c", "aaa", "b"]), ("favourites", ["d", "aaa", "dd"])],
)
def test_order_of_the_model_holds(app, name, titles):
    red = app.test_client().get(f"/shelf/red?$populate={name}").json

    assert [book["title"] for book in red[name]] == titles


def test_first_record_is_that_of_the_order(app):
    red = app.test_client().get("/shelf/red?$populate=first").json
    blue = app.test_client().get("/shelf/blue?$populate=first").json

    assert (red["first"]["rank"], blue["first"]["title"]) == (1, "d")
