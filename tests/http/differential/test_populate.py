"""Relationships are populated as a join finds them."""

from __future__ import annotations

import random
from operator import itemgetter
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.orm import (
    DeclarativeBase,
    joinedload,
    Mapped,
    mapped_column,
    relationship,
    Session,
)

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served
from .examples import MANY
from .kinds import exact


class Base(DeclarativeBase):
    pass


tagging = sa.Table(
    "joined_tagging",
    Base.metadata,
    sa.Column("book_id", sa.ForeignKey("joined_book.id"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("joined_tag.id"), primary_key=True),
)


class Author(Base):
    __tablename__ = "joined_author"

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str | None] = mapped_column(exact(sa.String, 20), unique=True)

    books: Mapped[list[Book]] = relationship(order_by="Book.title.desc()")


class Tag(Base):
    __tablename__ = "joined_tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(exact(sa.String, 20))

    books: Mapped[list[Book]] = relationship(secondary=tagging, viewonly=True)


class Book(Base):
    __tablename__ = "joined_book"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(exact(sa.String, 20))
    code: Mapped[str | None] = mapped_column(
        exact(sa.String, 20), sa.ForeignKey(Author.code)
    )
    previous_id: Mapped[int | None] = mapped_column(sa.ForeignKey("joined_book.id"))

    author: Mapped[Author | None] = relationship(viewonly=True)
    previous: Mapped[Book | None] = relationship(remote_side=id)
    following: Mapped[list[Book]] = relationship(viewonly=True)
    tags: Mapped[list[Tag]] = relationship(secondary=tagging, order_by=Tag.name)


CODES = ["alice", "Alice", "alice ", "älice", "", "null", "1", "01", "😀", None, None]
PATHS = {"authors": Author, "books": Book, "tags": Tag}


def fill(session):
    """Store authors, books and tags, with nulls and keys that look alike."""
    generator = random.Random(5)
    titles = generator.sample([f"title {n:02}" for n in range(40)], 40)
    names = generator.sample([f"tag {n}" for n in range(8)], 8)
    tags = [Tag(id=place + 1, name=name) for place, name in enumerate(names)]
    session.add_all([Author(id=n + 1, code=code) for n, code in enumerate(CODES)])
    session.flush()
    session.add_all(
        Book(
            id=place + 1,
            title=title,
            code=generator.choice(CODES),
            previous_id=generator.choice([None, *range(1, place + 1)]),
            tags=generator.sample(tags, generator.randrange(4)),
        )
        for place, title in enumerate(titles)
    )


@pytest.fixture(scope="module")
def library(module_url):
    """A client of the services, and the engine that joins the same tables."""
    db, records = SQLAlchemy(model_class=Base), FlaskRecords(app_errors=True)

    for path, model in PATHS.items():
        service = SQLAlchemyService(model, whitelist=["$populate"])
        records.add(path, service, public=True)

    hidden = SQLAlchemyService(Book, whitelist=["$populate"], hidden=["code"])
    records.add("hidden", hidden, public=True)

    with served(db, records, module_url) as app:
        with app.app_context():
            engine = db.engine

        with Session(engine) as session:
            fill(session)
            session.commit()

        yield app.test_client(), engine


def names_of(model):
    return [each.key for each in sa.inspect(model).relationships]


queries = st.sampled_from(sorted(PATHS)).flatmap(
    lambda path: st.tuples(
        st.just(path),
        st.lists(st.sampled_from(names_of(PATHS[path])), min_size=1, unique=True),
        st.sampled_from(["asc", "desc"]),
        st.integers(0, 12),
        st.integers(0, 45),
    )
)


def joined(engine, path, names, way, skip, limit):
    """Return the records that joins find."""
    model = PATHS[path]
    order = model.id.asc() if way == "asc" else model.id.desc()
    loads = [joinedload(getattr(model, name)) for name in names]
    statement = sa.select(model).options(*loads).order_by(order)

    with Session(engine) as session:
        found = session.scalars(statement.offset(skip).limit(limit)).unique()
        return [populated(record, names) for record in found]


def populated(record, names):
    """Return a record with those that it is joined with."""
    return {**plain(record), **{name: others(record, name) for name in names}}


def others(record, name):
    found = getattr(record, name)

    if not isinstance(found, list):
        return found and plain(found)

    is_ordered = sa.inspect(type(record)).relationships[name].order_by
    records = [plain(each) for each in found]
    return records if is_ordered else sorted(records, key=itemgetter("id"))


def plain(record):
    """Return the columns of a record."""
    names = sa.inspect(type(record)).column_attrs.keys()
    return {name: getattr(record, name) for name in names}


@MANY
@given(query=queries)
def test_any_query(library, query):
    client, engine = library
    path, names, way, skip, limit = query
    sort = {"$sort[id]": 1 if way == "asc" else -1, "$skip": skip, "$limit": limit}
    text = urlencode([("$populate[]", name) for name in names] + [*sort.items()])
    answer, expected = client.get(f"/{path}?{text}").json, joined(engine, *query)
    wrong = [pair for pair in zip(answer, expected, strict=True) if pair[0] != pair[1]]

    assert wrong == []


@pytest.mark.parametrize(
    "path", ["/hidden?$populate=author", "/authors?$populate=books&$populate=nope"]
)
def test_relationship_that_may_not_be_seen_is_refused(library, path):
    client, _ = library

    assert client.get(path).status_code == 400


def test_hidden_key_is_not_shown_by_other_services(library):
    client, _ = library
    record = client.get("/hidden/1?$populate=previous").json

    assert "code" not in record
