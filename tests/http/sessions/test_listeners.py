"""Those that listen to the application's session see what services write."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.track_modifications import models_committed
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import BadRequest
from flask_records import SQLAlchemyService
from flask_records import Transaction

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


@pytest.fixture(params=[False, True], ids=["plain", "tracked"])
def app(db, records, posts, drafts, database_url, request):
    config = {"SQLALCHEMY_TRACK_MODIFICATIONS": request.param}

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


def test_search_index_follows_calls(app, posts, log):
    client = app.test_client()

    client.post("/posts", json={"body": "a"})
    posts.create([{"body": "b"}, {"body": "c"}])
    client.patch("/posts/1", json={"body": "d"})
    posts.update(2, {"body": "e"})
    posts.remove(3)

    assert SearchableMixin.index == {1: "d", 2: "e"}
    assert log == [
        [("add", 1)],
        [("add", 2), ("add", 3)],
        [("update", 1)],
        [("update", 2)],
        [("delete", 3)],
    ]


def test_search_index_follows_objects_of_the_application(app, drafts, log):
    app.test_client().post("/drafts", json={"body": "a"})

    assert (SearchableMixin.index, log) == ({1: "a"}, [[("add", 1)]])


def test_search_index_knows_a_call_once_and_at_its_end(app, db, posts, drafts, log):
    with Transaction():
        posts.create({"body": "a"})
        posts.patch(1, {"body": "b"})
        drafts.create({"body": "c"})

        assert log == []

    assert SearchableMixin.index == {1: "b", 2: "c"}
    assert log == [[("add", 1), ("update", 1), ("add", 2)]]


def test_search_index_follows_the_commit_of_the_application(app, db, posts, log):
    db.session.add(Post(body="form"))
    posts.create({"body": "call"})
    before = list(log)
    db.session.commit()

    assert before == []
    assert SearchableMixin.index == {1: "form", 2: "call"}
    assert log == [[("add", 1), ("add", 2)]]


def test_a_rolled_back_call_is_in_no_index(app, posts, log):
    with pytest.raises(BadRequest):
        posts.create([{"body": "bad"}, {}])

    with pytest.raises(ZeroDivisionError), Transaction():
        posts.create({"body": "bad"})
        raise ZeroDivisionError

    assert (SearchableMixin.index, log) == ({}, [])


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

    is_tracked = app.config["SQLALCHEMY_TRACK_MODIFICATIONS"]
    ids = [] if not committed else [row[0] for row in committed[-1]]
    told = [[operation for _, operation in each] for each in committed]
    assert len(set(ids)) == 2 * is_tracked
    assert told == is_tracked * [
        ["insert"],
        ["update"],
        ["insert"],
        ["delete", "insert"],
        ["insert", "insert"],
    ]


def test_modifications_are_told_once_to_several_listeners(app, posts, log, committed):
    posts.create({"body": "a"})

    assert log == [[("add", 1)]]
    assert committed in ([], [[(1, "insert")]])


def test_savepoint_of_a_call_is_no_commit(app, db, posts, drafts):
    calls = []
    sa.event.listen(db.session, "after_commit", lambda session: calls.append("commit"))

    with Transaction():
        posts.create({"body": "a"})
        drafts.create({"body": "b"})
        posts.create({"body": "c"})

    assert calls == ["commit"]


def test_log_tells_the_way_of_a_write(app, db, posts, caplog):
    with caplog.at_level(logging.DEBUG, "flask_records.adapter"):
        posts.remove(None)
        sa.event.listen(db.session, "before_flush", lambda *args: None)
        posts.create({"body": "a"})

    assert caplog.messages == [
        "Post: delete by unit of work: many records are written by a query.",
        "Post: insert by unit of work: the session has listeners, or its own way to"
        " write.",
    ]


def test_listener_to_a_mixin_is_called(db, records, database_url):
    calls = []

    class Audited:
        pass

    note = lambda mapper, connection, target: calls.append(target.text)  # noqa: E731
    sa.event.listen(Audited, "before_insert", note, propagate=True)

    class Base(DeclarativeBase):
        pass

    class Entry(Audited, Base):
        __tablename__ = "listened_entry"

        id: Mapped[int] = mapped_column(primary_key=True)
        text: Mapped[str] = mapped_column(sa.String(20))

    db = SQLAlchemy(model_class=Base)
    records.add("entries", SQLAlchemyService(Entry), public=True)

    with served(db, records, database_url) as app:
        app.test_client().post("/entries", json={"text": "a"})

    assert calls == ["a"]


CONTINUUM = """
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import configure_mappers
from sqlalchemy_continuum import make_versioned, version_class

from flask_records import FlaskRecords, SQLAlchemyService, Transaction

make_versioned(user_cls=None)
db, records = SQLAlchemy(), FlaskRecords()

class Article(db.Model):
    __versioned__ = {}
    id = sa.Column(sa.Integer, primary_key=True)
    name = sa.Column(sa.String(20))

configure_mappers()
articles = records.add("articles", SQLAlchemyService(Article), public=True)
app = Flask("tests")
app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
db.init_app(app)
records.init_app(app)

with app.app_context():
    db.create_all()

    with Transaction():
        articles.create({"name": "a"})
        articles.patch(1, {"name": "b"})

    articles.patch(1, {"name": "c"})
    db.session.add(Article(name="form"))
    articles.create({"name": "call"})
    db.session.commit()
    articles.remove(1)
    Version = version_class(Article)
    versions = db.session.scalars(sa.select(Version).order_by(Version.transaction_id))
    print([(each.id, each.name, each.operation_type) for each in versions])
"""


def test_continuum_keeps_versions_of_what_services_write():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONTINUUM],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stderr == ""
    assert run.stdout.strip() == str(
        [(1, "b", 1), (1, "c", 1), (2, "form", 0), (3, "call", 0), (1, "c", 2)]
    )
