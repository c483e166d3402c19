"""Those that listen to the application's session see what services write."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.track_modifications import models_committed
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import SQLAlchemyService, Transaction

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


class Drafts:
    """A service of the application over the same model."""

    def __init__(self, db):
        self.db = db

    def create(self, data, params):
        self.db.session.add(Post(**data))
        return data


@pytest.fixture
def db():
    return SQLAlchemy(model_class=Base)


@pytest.fixture
def posts(records):
    return records.add("posts", SQLAlchemyService(Post, multi=True), public=True)


@pytest.fixture
def drafts(db, records):
    return records.add("drafts", Drafts(db), public=True)


@pytest.fixture
def app(db, records, posts, drafts, database_url):
    config = {"SQLALCHEMY_TRACK_MODIFICATIONS": True}

    with served(db, records, database_url, **config) as app, app.app_context():
        yield app


@pytest.fixture
def log(app, db):
    """The texts that the mixin has indexed, commit by commit."""
    SearchableMixin.index, SearchableMixin.log = {}, []

    for name in ("after_flush", "after_commit", "after_rollback"):
        sa.event.listen(db.session, name, getattr(SearchableMixin, name))

    return SearchableMixin.log


@pytest.fixture
def committed(app):
    """The changes that Flask-SQLAlchemy tells of."""
    committed = []

    def note(app, changes):
        committed.append(sorted((each.id, operation) for each, operation in changes))

    with models_committed.connected_to(note, app):
        yield committed


def test_search_index_follows_the_commit_of_the_application(app, db, posts, log):
    db.session.add(Post(body="form"))
    posts.create({"body": "call"})
    before = list(log)
    db.session.commit()

    assert before == []
    assert SearchableMixin.index == {1: "form", 2: "call"}
    assert log == [[("add", 1), ("add", 2)]]


def test_modifications_are_told_once(app, db, posts, drafts, committed):
    posts.create({"body": "a"})
    posts.patch(1, {"body": "b"})
    drafts.create({"body": "c"})

    with Transaction():
        posts.remove(1)
        posts.create({"body": "d"})

    db.session.add(Post(body="e"))
    posts.create({"body": "f"})
    db.session.commit()

    assert len({id for id, _ in committed[-1]}) == 2
    assert [[operation for _, operation in each] for each in committed] == [
        ["insert"],
        ["update"],
        ["insert"],
        ["delete", "insert"],
        ["insert", "insert"],
    ]
