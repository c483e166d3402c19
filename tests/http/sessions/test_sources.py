"""Sessions of all kinds: where services take them, and what they leave of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa
from flask import Flask, g
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy_lite import SQLAlchemy as SQLAlchemyLite
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    mapped_column,
    scoped_session,
    Session,
    sessionmaker,
)

from flask_records import FlaskRecords, SQLAlchemyService


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "session_note"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(20), unique=True)
    number: Mapped[int] = mapped_column(default=0)


def of_flask_sqlalchemy(app, url):
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    db = SQLAlchemy(app, model_class=Base)

    with app.app_context():
        return {}, db.engine


def of_flask_sqlalchemy_lite(app, url):
    app.config["SQLALCHEMY_ENGINES"] = {"default": url}
    db = SQLAlchemyLite(app)

    with app.app_context():
        return {}, db.engine


def of_sessionmaker(app, url):
    engine = sa.create_engine(url)
    return {"session": sessionmaker(engine)}, engine


def of_scoped_session(app, url):
    engine = sa.create_engine(url)
    session = scoped_session(sessionmaker(engine))
    app.teardown_appcontext(lambda error: session.remove())
    return {"session": session}, engine


def of_function(app, url):
    engine = sa.create_engine(url)

    def session():
        if "session" not in g:
            g.session = sa.orm.Session(engine)

        return g.session

    app.teardown_appcontext(lambda error: session().close())
    return {"session": session}, engine


SOURCES = [
    of_flask_sqlalchemy,
    of_flask_sqlalchemy_lite,
    of_sessionmaker,
    of_scoped_session,
    of_function,
]
"""Set up an app, and return the options of its services and the engine."""


@pytest.fixture(params=SOURCES)
def source(request):
    return request.param


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture
def serve():
    """Return a function that serves notes, and gives an app and its engine."""
    engines = []

    def make(source, url):
        app, records = Flask("tests"), FlaskRecords(logger=False)
        options, engine = source(app, url)
        engines.append(engine)
        Base.metadata.create_all(engine)

        service = SQLAlchemyService(Note, multi=True, **options)
        records.add("notes", service, public=True)
        records.init_app(app)
        return app, engine

    yield make

    for engine in engines:
        Base.metadata.drop_all(engine)
        engine.dispose()


def stored(engine):
    """The text and the number of each note, as somebody else sees them."""
    with engine.connect() as connection:
        rows = connection.execute(sa.select(Note.text, Note.number).order_by(Note.id))
        return [tuple(row) for row in rows]


def test_every_source_of_sessions_reads_and_writes(source, serve, database_url):
    app, engine = serve(source, database_url)
    client = app.test_client()

    created = client.post("/notes", json={"text": "a"})
    patched = client.patch("/notes/1", json={"number": 2})
    many = client.post("/notes", json=[{"text": "b"}, {"text": "c"}])
    removed = client.delete("/notes/2")
    found = client.get("/notes")

    assert created.json == {"id": 1, "text": "a", "number": 0}
    assert patched.json == {"id": 1, "text": "a", "number": 2}
    assert found.json == [patched.json, many.json[1]]
    assert removed.json == many.json[0]
    assert stored(engine) == [("a", 2), ("c", 0)]
    assert engine.pool.checkedout() == 0


def test_writes_take_the_lock_of_sqlite_before_their_hooks(source, serve, url):
    app, engine = serve(source, url)
    client = app.test_client()
    client.post("/notes", json={"text": "a"})
    locked = []

    @app.extensions["records"].before()
    def look(method, context):
        with closing(sqlite3.connect(engine.url.database, timeout=0)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                locked.append(method)

    client.get("/notes")
    client.get("/notes/1")
    client.post("/notes", json={"text": "b"})
    client.put("/notes/1", json={"text": "c"})
    client.patch("/notes/1", json={"text": "d"})
    client.delete("/notes")

    assert locked == ["create", "update", "patch", "remove"]


def test_readers_of_sqlite_do_not_wait_for_a_writer(serve, url):
    app, engine = serve(of_sessionmaker, url)
    client = app.test_client()
    client.post("/notes", json={"text": "a"})

    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.execute(sa.update(Note).values(text="b"))
        response = client.get("/notes")

    assert response.json == [{"id": 1, "text": "a", "number": 0}]


SHARED = [of_flask_sqlalchemy, of_flask_sqlalchemy_lite, of_scoped_session, of_function]


@pytest.mark.parametrize("source", SHARED)
def test_transaction_of_the_application_is_left_to_it(source, url):
    app, records = Flask("tests"), FlaskRecords()
    options, engine = source(app, url)
    Base.metadata.create_all(engine)
    notes = records.add("notes", SQLAlchemyService(Note, **options), public=True)
    records.init_app(app)

    with app.app_context():
        extension = app.extensions.get("sqlalchemy")
        session = options["session"]() if options else extension.session
        session.add(Note(text="a"))
        found = notes.find()
        notes.create({"text": "b"})
        before = stored(engine)
        session.commit()

    assert [note["text"] for note in found] == ["a"]
    assert (before, sorted(stored(engine))) == ([], [("a", 0), ("b", 0)])
    engine.dispose()


def test_a_write_sees_what_others_have_written(serve, url):
    """The session of the application may know an older state of the record."""
    app, engine = serve(of_flask_sqlalchemy, url)
    notes = app.extensions["records"]["notes"]

    with app.app_context():
        notes.create({"text": "a"})
        known = app.extensions["sqlalchemy"].session.get(Note, 1)

        with engine.begin() as connection:
            connection.execute(sa.update(Note).values(number=5))

        patched = notes.patch(1, {"number": known.number})

    assert patched["number"] == 0
    assert stored(engine) == [("a", 0)]


def test_an_app_without_an_extension_says_what_to_do():
    app, records = Flask("tests"), FlaskRecords(logger=False)
    notes = records.add("notes", SQLAlchemyService(Note), public=True)
    records.init_app(app)

    with app.app_context(), pytest.raises(RuntimeError) as caught:
        notes.find()

    assert app.test_client().get("/notes").status_code == 500
    assert str(caught.value) == (
        "This app has neither Flask-SQLAlchemy nor Flask-SQLAlchemy-Lite. Give the"
        " service a 'session': a sessionmaker, a scoped_session, or a function that"
        " returns a session."
    )


def test_a_source_that_gives_no_session_is_named():
    def get_session():
        yield Session()

    app, records = Flask("tests"), FlaskRecords(logger=False)
    service = SQLAlchemyService(Note, session=get_session)
    notes = records.add("notes", service, public=True)
    records.init_app(app)

    with app.app_context(), pytest.raises(TypeError, match="object of 'generator'"):
        notes.find()
