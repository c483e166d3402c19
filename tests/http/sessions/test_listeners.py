"""Those that listen to the application's session see what services write."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class SearchableMixin:
    """A mixin with an index in memory."""

    index = {}
    log = []

    @classmethod
    def after_flush(cls, session, context):
        changes = session.info.setdefault("changes", [])
        changes += [("add", each) for each in session.new]
        changes += [("update", each) for each in session.dirty]
        changes += [("delete", each) for each in session.deleted]

    @classmethod
    def after_commit(cls, session):
        cls.log.append([])

        for name, each in session.info.pop("changes", ()):
            cls.index[each.id] = each.body
            cls.log[-1].append((name, each.id))

            if name == "delete":
                del cls.index[each.id]

    @classmethod
    def after_rollback(cls, session):
        session.info.pop("changes", None)


class Post(SearchableMixin, Base):
    __tablename__ = "listened_post"

    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str] = mapped_column(sa.String(20))


@pytest.fixture
def db():
    return SQLAlchemy(model_class=Base)


@pytest.fixture
def posts(records):
    return records.add("posts", SQLAlchemyService(Post, multi=True), public=True)


@pytest.fixture
def app(db, records, posts, database_url):
    with served(db, records, database_url) as app, app.app_context():
        yield app


@pytest.fixture
def log(app, db):
    """The texts that the mixin has indexed, commit by commit."""
    SearchableMixin.index, SearchableMixin.log = {}, []

    for name in ("after_flush", "after_commit", "after_rollback"):
        sa.event.listen(db.session, name, getattr(SearchableMixin, name))

    return SearchableMixin.log


def test_search_index_follows_the_commit_of_the_application(app, db, posts, log):
    db.session.add(Post(body="form"))
    posts.create({"body": "call"})
    before = list(log)
    db.session.commit()

    assert before == []
    assert SearchableMixin.index == {1: "form", 2: "call"}
    assert log == [[("add", 1), ("add", 2)]]
