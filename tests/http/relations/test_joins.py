"""Queries follow relationships that other joins than a foreign key's make, or the start
refuses them.
"""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy import orm
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "join_author"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    comments: Mapped[list[Comment]] = relationship(
        secondary="join_post", order_by="Comment.id", viewonly=True
    )
    tags: Mapped[list[Tag]] = relationship(
        primaryjoin="func.lower(Author.name) == func.lower(foreign(Tag.name))",
        viewonly=True,
    )


class Post(Base):
    __tablename__ = "join_post"

    id: Mapped[int] = mapped_column(primary_key=True)
    author_id: Mapped[int] = mapped_column(sa.ForeignKey(Author.id))


class Comment(Base):
    __tablename__ = "join_comment"

    id: Mapped[int] = mapped_column(primary_key=True)
    post_id: Mapped[int] = mapped_column(sa.ForeignKey(Post.id))


class Tag(Base):
    __tablename__ = "join_tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


Author.joined = relationship(
    Comment,
    secondary=sa.join(Post.__table__, Comment.__table__),
    primaryjoin=Author.id == Post.author_id,
    secondaryjoin=Post.id == orm.foreign(Comment.post_id),
    viewonly=True,
)
newest = sa.select(Post).where(Post.id > 1).subquery()
Newest = orm.aliased(Post, newest)
Author.newest = relationship(
    Newest, primaryjoin=Author.id == orm.foreign(Newest.author_id), viewonly=True
)


@pytest.fixture
def client(database_url):
    options = {"relations": ["comments", "tags"], "whitelist": ["$populate"]}
    authors = SQLAlchemyService(Author, **options)
    services = {"authors": authors, "posts": Post, "comments": Comment, "tags": Tag}

    with serving_models(database_url, services) as client:
        for name in ("Ann", "Bob"):
            client.post("/authors", json={"name": name})

        client.post("/posts", json=[{"author_id": 2}, {"author_id": 1}])
        client.post("/comments", json=[{"post_id": 1}, {"post_id": 2}])
        client.post("/tags", json=[{"name": "ANN"}, {"name": "BOB"}])
        yield client


@pytest.mark.parametrize("path", ["comments.id", "tags.id"])
def test_condition_on_records_that_another_join_relates(client, path):
    expected = {"comments.id": "Bob", "tags.id": "Ann"}[path]

    answers = [client.get(f"/authors?{path}={value}").json for value in (1, 9)]

    assert [[each["name"] for each in answer] for answer in answers] == [[expected], []]


@pytest.mark.parametrize("name", ["comments", "tags"])
def test_records_that_no_key_relates_are_not_shown(client, name):
    assert client.get(f"/authors?$populate={name}").status_code == 400


def test_key_of_the_records_of_records_has_to_be_seen(database_url):
    authors = SQLAlchemyService(Author, relations=["comments"])
    comments = SQLAlchemyService(Comment, hidden=["post_id"])

    with serving_models(
        database_url, {"authors": authors, "comments": comments}
    ) as client:
        assert client.get("/authors?comments.id=1").status_code == 400


@pytest.mark.parametrize("name", ["joined", "newest"])
def test_relations_over_a_select_are_refused(name):
    records = FlaskRecords()
    records.add("authors", SQLAlchemyService(Author, relations=[name]), public=True)

    with pytest.raises(ValueError, match=f"'{name}' is a relationship to an alias"):
        records.init_app(Flask("tests"))
