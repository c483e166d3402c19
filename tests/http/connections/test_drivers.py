"""The drivers that are known, and the status of each cause of an error on each."""

from __future__ import annotations

import signal
import sys

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, NotFound, SQLAlchemyService

from ...databases import DATABASES, served, url_of

DRIVERS = {
    # The second is used in the place of Python's own.
    "sqlite": ["sqlite3", "pysqlite3"],
    "postgresql": ["psycopg", "psycopg2"],
    "mariadb": ["pymysql", "MySQLdb"],
}
CASES = [(each, driver) for each in DATABASES for driver in DRIVERS[each]]


class Base(DeclarativeBase):
    pass


class Owner(Base):
    __tablename__ = "driver_owner"

    id: Mapped[int] = mapped_column(primary_key=True)


class Thing(Base):
    __tablename__ = "driver_thing"
    __table_args__ = (sa.CheckConstraint("size > 0", name="driver_positive"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20), unique=True)
    size: Mapped[int | None]
    number: Mapped[int | None]
    ownerId: Mapped[int | None] = mapped_column(sa.ForeignKey(Owner.id))


TRIGGERS = {
    "sqlite": [
        "CREATE TRIGGER driver_unlucky BEFORE INSERT ON driver_thing"
        " WHEN NEW.number = 13 BEGIN SELECT RAISE(ABORT, 'size thirteen'); END"
    ],
    "mariadb": [
        "CREATE TRIGGER driver_unlucky BEFORE INSERT ON driver_thing FOR EACH ROW"
        " IF NEW.number = 13 THEN SIGNAL SQLSTATE '45000'"
        " SET MESSAGE_TEXT = 'size thirteen'; END IF"
    ],
    "postgresql": [
        "CREATE FUNCTION driver_unlucky() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN IF NEW.number = 13 THEN RAISE EXCEPTION 'size thirteen'; END IF;"
        " ASSERT NEW.number IS NULL OR NEW.number <> 14; RETURN NEW; END $$",
        "CREATE TRIGGER driver_unlucky BEFORE INSERT ON driver_thing FOR EACH ROW"
        " EXECUTE FUNCTION driver_unlucky()",
    ],
}


@pytest.fixture(params=CASES, ids="-".join)
def client(request, server_urls):
    kind, driver = request.param

    module, options = pytest.importorskip(driver), {}
    url = sa.make_url(server_urls.get(kind, "sqlite://"))

    if kind == "sqlite":
        options["module"] = module.dbapi2
    else:
        url = url.set(drivername=f"{kind}+{driver.lower()}")

    records, db = FlaskRecords(), SQLAlchemy(model_class=Base)
    records.add("things", SQLAlchemyService(Thing, multi=True), public=True)
    records.add("owners", SQLAlchemyService(Owner, multi=True), public=True)

    text = url.render_as_string(hide_password=False)

    with served(db, records, text, SQLALCHEMY_ENGINE_OPTIONS=options) as app:
        with app.app_context(), db.engine.begin() as connection:
            if kind == "postgresql":
                drop = "DROP FUNCTION IF EXISTS driver_unlucky CASCADE"
                connection.exec_driver_sql(drop)

            for statement in TRIGGERS[kind]:
                connection.exec_driver_sql(statement)

        yield app.test_client()


LARGE = 2**31 - 1


@pytest.mark.parametrize(
    ("body", "status", "errors"),
    [
        ({"name": "a"}, 409, {"name": "has to be unique"}),
        ({"ownerId": 9}, 409, {"ownerId": "refers to a record that is not there"}),
        (
            {"size": 0, "name": "b", "number": 1},
            400,
            {"size": "breaks a rule of the database"},
        ),
        ({"number": 13}, 400, {"number": "breaks a rule of the database"}),
        ({"number": 13, "name": "b"}, 400, {}),
    ],
    ids=["unique", "foreign key", "check", "trigger", "trigger of several"],
)
def test_a_cause_has_one_status(client, body, status, errors):
    client.post("/things", json={"name": "a"})

    for data in (body, [body]):
        answer = client.post("/things", json=data)

        assert (answer.status_code, answer.json["errors"]) == (status, errors)

    assert len(client.get("/things").json) == 1


def test_a_record_that_is_referred_to_is_a_conflict(client):
    client.post("/owners", json={})
    client.post("/things", json={"ownerId": 1})

    assert client.delete("/owners/1").status_code == 409


class Interrupted(Exception):
    """Raised by a signal in the middle of a statement."""


def interrupt(*args):
    raise Interrupted


SLEEP = {"postgresql": "SELECT pg_sleep(3)", "mariadb": "SELECT SLEEP(3)"}


def test_an_interrupted_connection_is_dropped(client):
    """The next statement might get the answer to the one that was interrupted."""
    app, ended = client.application, []
    things = app.extensions["records"]["things"]

    with app.app_context():
        engine = app.extensions["sqlalchemy"].engine

    if engine.name not in SLEEP:
        pytest.skip("SQLite has no state of a protocol.")

    @things.before("find")
    def wait(method, context):
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        app.extensions["sqlalchemy"].session.execute(sa.text(SLEEP[engine.name]))

    sa.event.listen(engine, "invalidate", lambda *args: ended.append(args[-1]))
    before = signal.signal(signal.SIGALRM, interrupt)

    try:
        answer = client.get("/things")
    finally:
        signal.signal(signal.SIGALRM, before)

    assert answer.status_code == 500
    assert [type(each) for each in ended] == [Interrupted]
    assert client.post("/owners", json={}).status_code == 201


COMMITTED = [
    (database, options)
    for database in DATABASES
    for options in (
        {"isolation_level": "AUTOCOMMIT"},
        {"execution_options": {"isolation_level": "AUTOCOMMIT"}},
        {"connect_args": {"autocommit": True}},
        {"connect_args": {"autocommit": False}},
    )
    # SQLAlchemy commits nothing by itself there, and Python takes the argument late.
    if (
        "autocommit" in options.get("connect_args", ()) and sys.version_info >= (3, 12)
        if database == "sqlite"
        else options.get("connect_args") != {"autocommit": False}
    )
]


if hasattr(SQLiteDialect_pysqlite(), "skip_autocommit_rollback"):
    skipping = {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True}
    COMMITTED += [(database, skipping) for database in DATABASES]


@pytest.mark.parametrize(("database", "options"), COMMITTED)
def test_connections_that_commit_by_themselves_do_not_write(
    server_urls, tmp_path, caplog, database, options
):
    url = url_of(database, server_urls, tmp_path / "test.db")
    records, db = FlaskRecords(), SQLAlchemy(model_class=Base)
    records.add("owners", SQLAlchemyService(Owner), public=True)

    with served(db, records, url, SQLALCHEMY_ENGINE_OPTIONS=options) as app:
        client = app.test_client()
        answers = [client.post("/owners", json={}).status_code for _ in range(2)]

        assert answers == [500, 500]
        assert client.get("/owners").json == []

    assert "out of the options of the engine" in caplog.text


class OddDialect(SQLiteDialect_pysqlite):
    """A dialect that nobody has tried."""

    driver = "odd"
    supports_statement_cache = True


registry.register("sqlite.odd", __name__, "OddDialect")


@pytest.fixture
def app_of():
    """A function that returns an application, which it sets up in either order."""

    def app_of(*, is_late=False, **config):
        app = Flask("tests")
        app.config.from_mapping(SQLALCHEMY_DATABASE_URI="sqlite+odd://", **config)
        records, db = FlaskRecords(), SQLAlchemy(model_class=Base)
        records.add("owners", SQLAlchemyService(Owner), public=True)

        for each in (records, db) if is_late else (db, records):
            each.init_app(app)

        with app.app_context():
            db.create_all()

        return app

    return app_of


UNKNOWN = r"does not know the driver 'sqlite\+odd'.*RECORDS_DRIVERS = \['sqlite\+odd'\]"


def test_a_driver_that_was_not_tried_is_refused_at_the_start(app_of):
    with pytest.raises(RuntimeError, match=UNKNOWN):
        app_of()


def test_a_driver_of_a_second_application_is_refused_at_the_start():
    records, db = FlaskRecords(), SQLAlchemy(model_class=Base)
    records.add("owners", SQLAlchemyService(Owner), public=True)
    first, second = Flask("first"), Flask("second")
    first.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    second.config["SQLALCHEMY_DATABASE_URI"] = "sqlite+odd://"

    for app in (first, second):
        db.init_app(app)

    records.init_app(first)

    with pytest.raises(RuntimeError, match=UNKNOWN):
        records.init_app(second)


def test_a_driver_for_asyncio_is_refused_at_the_start():
    """It may have the name of one that is known."""
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = "postgresql+psycopg_async://127.0.0.1/none"
    SQLAlchemy(app, model_class=Base)
    records = FlaskRecords()
    records.add("owners", SQLAlchemyService(Owner), public=True)

    with pytest.raises(RuntimeError, match="is for asyncio"):
        records.init_app(app)


def test_a_driver_that_is_known_later_is_refused_at_the_first_call(app_of, caplog):
    answer = app_of(is_late=True).test_client().get("/owners")

    assert answer.status_code == 500
    assert "does not know the driver 'sqlite+odd'" in caplog.text


def test_an_application_may_know_its_driver(app_of):
    client = app_of(RECORDS_DRIVERS=["sqlite+odd"]).test_client()

    assert client.post("/owners", json={}).status_code == 201
    assert len(client.get("/owners").json) == 1


def test_values_in_messages_are_json(app_of):
    app = app_of(RECORDS_DRIVERS=["sqlite+odd"])
    owners = app.extensions["records"]["owners"]

    with app.app_context():
        for value, text in ((True, "true"), ({"a": None}, '{"a": null}')):
            with pytest.raises(NotFound, match=f"No record found for id '{text}'"):
                owners.get(value)
