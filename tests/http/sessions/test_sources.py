from __future__ import annotations

import sqlite3
from threading import Thread

import pytest
import sqlalchemy as sa
from flask import Flask
from flask import g
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy_lite import SQLAlchemy as SQLAlchemyLite
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import scoped_session
from sqlalchemy.orm import sessionmaker

from flask_records import BadRequest
from flask_records import FlaskRecords
from flask_records import SQLAlchemyService
from flask_records import Transaction


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "session_note"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(20), unique=True)
    number: Mapped[int] = mapped_column(default=0)


class Entry(Base):
    __tablename__ = "session_entry"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(20))


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

FAILURES = [
    ("POST", "/notes", {"text": "a"}, 409),
    ("POST", "/notes", {"text": "x" * 21}, 400),
    ("GET", "/notes/9", None, 404),
    ("PATCH", "/notes/9", {"text": "b"}, 404),
    ("PATCH", "/notes?text=a&number[$in]=0", {"nope": 1}, 400),
    ("PUT", "/notes", {"text": "b"}, 400),
    ("GET", "/notes?$sort=x", None, 400),
    ("GET", "/notes?number=1&$limit=7&text=crash", None, 500),
    ("DELETE", "/notes/2?text=crash", None, 500),
]


@pytest.fixture(params=SOURCES)
def source(request):
    return request.param


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture
def serve():
    """Return a function that serves notes and entries, and gives an app and its
    engine.
    """
    engines = []

    def make(source, url):
        app, records = Flask("tests"), FlaskRecords(logger=False)
        options, engine = source(app, url)
        engines.append(engine)
        Base.metadata.create_all(engine)

        for path, model in (("notes", Note), ("entries", Entry)):
            service = SQLAlchemyService(model, multi=True, **options)
            records.add(path, service, public=True)

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


def crash(method, context):
    if context.params.query.get("text") == "crash":
        raise ZeroDivisionError


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


def test_connections_are_given_back_after_every_failure(source, serve, database_url):
    app, engine = serve(source, database_url)
    app.extensions["records"].after()(crash)
    client = app.test_client()
    client.post("/notes", json={"text": "a"})
    client.post("/notes", json={"text": "crash"})
    statuses, in_use = [], []

    for verb, path, body, _ in FAILURES:
        statuses.append(client.open(path, method=verb, json=body).status_code)
        in_use.append(engine.pool.checkedout())

    assert statuses == [status for *_, status in FAILURES]
    assert in_use == [0] * len(FAILURES)
    assert stored(engine) == [("a", 0), ("crash", 0)]


def test_a_connection_is_given_back_at_the_end_of_a_call(source, serve, url):
    app, engine = serve(source, url)
    notes = app.extensions["records"]["notes"]
    in_use = []

    with app.app_context():
        for call in (
            lambda: notes.create({"text": "a"}),
            lambda: notes.find(),
            lambda: notes.get(1),
            lambda: notes.remove(None),
        ):
            call()
            in_use.append(engine.pool.checkedout())

    assert in_use == [0, 0, 0, 0]


def test_what_hooks_write_is_undone_with_the_call(source, serve, url):
    app, engine = serve(source, url)
    records = app.extensions["records"]
    client = app.test_client()

    @records["notes"].before("create")
    def log(method, context):
        records["entries"].create({"text": "before"})

    @records["notes"].after("create")
    def refuse(method, context):
        records["entries"].create({"text": "after"})

        if context.data["text"] == "bad":
            raise BadRequest("No")

    good = client.post("/notes", json={"text": "good"})
    bad = client.post("/notes", json={"text": "bad"})

    assert (good.status_code, bad.status_code) == (201, 400)
    assert [entry["text"] for entry in client.get("/entries").json] == [
        "before",
        "after",
    ]
    assert stored(engine) == [("good", 0)]


def test_an_inner_call_that_fails_is_undone_alone(serve, database_url):
    app, engine = serve(of_sessionmaker, database_url)
    notes = app.extensions["records"]["notes"]

    with app.app_context():
        with Transaction():
            notes.create({"text": "a"})

            with pytest.raises(BadRequest):
                notes.create([{"text": "b"}, {"text": None}])

            with pytest.raises(ZeroDivisionError), Transaction():
                notes.create({"text": "c"})
                raise ZeroDivisionError

            notes.create({"text": "d"})

    assert stored(engine) == [("a", 0), ("d", 0)]
    assert engine.pool.checkedout() == 0


def test_writers_at_the_same_time_wait_for_each_other(source, serve, url):
    """A hook reads what it decides by. On SQLite nobody writes in between."""
    app, engine = serve(source, url)
    notes = app.extensions["records"]["notes"]
    app.test_client().post("/notes", json={"text": "a"})
    statuses = []

    @notes.before("patch")
    def count(method, context):
        context.data["number"] = notes.get(1)["number"] + 1

    def patch_often():
        client = app.test_client()

        for _ in range(5):
            statuses.append(client.patch("/notes/1", json={}).status_code)

    threads = [Thread(target=patch_often) for _ in range(4)]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    assert statuses == [200] * 20
    assert stored(engine) == [("a", 20)]


def test_writes_take_the_lock_of_sqlite_before_their_hooks(source, serve, url):
    app, engine = serve(source, url)
    client = app.test_client()
    client.post("/notes", json={"text": "a"})
    locked = []

    @app.extensions["records"].before()
    def look(method, context):
        other = sqlite3.connect(engine.url.database, timeout=0)

        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            locked.append(method)

        other.close()

    client.get("/notes")
    client.get("/notes/1")
    client.post("/notes", json={"text": "b"})
    client.put("/notes/1", json={"text": "c"})
    client.patch("/notes/1", json={"text": "d"})
    client.delete("/notes")

    assert locked == ["create", "update", "patch", "remove"]


def test_the_first_write_makes_a_file_of_sqlite_fit_for_many_readers(serve, url):
    app, engine = serve(of_sessionmaker, url)

    app.test_client().post("/notes", json={"text": "a"})

    with engine.connect() as connection:
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()

    assert mode == "wal"


def test_readers_do_not_wait_for_a_writer(serve, url):
    app, engine = serve(of_sessionmaker, url)
    client = app.test_client()
    client.post("/notes", json={"text": "a"})

    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.execute(sa.update(Note).values(text="b"))
        response = client.get("/notes")

    assert response.json == [{"id": 1, "text": "a", "number": 0}]


def test_a_session_that_a_call_has_made_is_closed(url):
    closed = []

    class Session(sa.orm.Session):
        def close(self):
            closed.append(self)
            super().close()

    app, records, engine = Flask("tests"), FlaskRecords(), sa.create_engine(url)
    Base.metadata.create_all(engine)
    make = sessionmaker(engine, class_=Session)
    records.add("notes", SQLAlchemyService(Note, session=make), public=True)
    records.init_app(app)

    app.test_client().post("/notes", json={"text": "a"})
    app.test_client().post("/notes", json={"text": "b"})

    assert len(set(closed)) == 2
    engine.dispose()


SHARED = [of_flask_sqlalchemy, of_flask_sqlalchemy_lite, of_scoped_session, of_function]


def session_of(app, options):
    extension = app.extensions.get("sqlalchemy")
    session = options["session"]() if options else extension.session
    return session if isinstance(session, sa.orm.Session) else session()


@pytest.mark.parametrize("source", SHARED)
def test_a_read_leaves_the_transaction_of_the_application_alone(source, url):
    app, records = Flask("tests"), FlaskRecords()
    options, engine = source(app, url)
    Base.metadata.create_all(engine)
    notes = records.add("notes", SQLAlchemyService(Note, **options), public=True)
    records.init_app(app)

    with app.app_context():
        session = session_of(app, options)
        session.add(Note(text="a"))
        found = notes.find()
        session.rollback()

    assert [note["text"] for note in found] == ["a"]
    assert stored(engine) == []
    engine.dispose()


@pytest.mark.parametrize("source", SHARED)
def test_a_write_leaves_the_commit_to_an_application_that_has_written(source, url):
    app, records = Flask("tests"), FlaskRecords()
    options, engine = source(app, url)
    Base.metadata.create_all(engine)
    notes = records.add("notes", SQLAlchemyService(Note, **options), public=True)
    records.init_app(app)

    with app.app_context():
        session = session_of(app, options)
        session.add(Note(text="a"))
        notes.create({"text": "b"})
        before = stored(engine)
        session.commit()

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

    response = app.test_client().get("/notes")

    assert str(caught.value) == (
        "This app has neither Flask-SQLAlchemy nor Flask-SQLAlchemy-Lite. Give the"
        " service a 'session': a sessionmaker, a scoped_session, or a function that"
        " returns a session."
    )
    assert (response.status_code, response.json["message"]) == (
        500,
        "Internal server error",
    )
