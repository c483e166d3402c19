"""Cached plans run on the cursor of the driver, but where somebody listens."""

import logging
import sqlite3

import pytest
import sqlalchemy as sa

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.database import driver_cursor

from ..databases import served
from ..models import Base, Room


@pytest.fixture
def executed(monkeypatch):
    """The statements that SQLAlchemy itself executes."""
    executed = []
    execute = sa.Connection.execute

    def spy(connection, statement, *args, **options):
        executed.append(statement)
        return execute(connection, statement, *args, **options)

    monkeypatch.setattr(sa.Connection, "execute", spy)
    return executed


def calls(client):
    """The statuses of one call of each method, whose record is there again at the
    end.
    """
    room = client.post("/rooms", json={"name": "Lobby"})
    url = f"/rooms/{room.json['id']}"
    return [
        room.status_code,
        client.get(url).status_code,
        client.get("/rooms?name=Lobby&$limit=1").status_code,
        client.patch(url, json={"name": "Hall"}).status_code,
        client.delete(url).status_code,
    ]


STATUSES = [201, 200, 200, 200, 200]


@pytest.mark.skipif(not driver_cursor.DRIVERS, reason="all is SQLAlchemy's to execute")
def test_cached_plans_are_not_executed_by_sqlalchemy(client, executed):
    calls(client)
    executed.clear()

    room = client.post("/rooms", json={"name": "Lobby"}).json
    found = client.get(f"/rooms?name=Lobby&$limit=1&id={room['id']}").json

    assert found == [room] == [client.get(f"/rooms/{room['id']}").json]
    assert executed == []


@pytest.mark.skipif(not driver_cursor.DRIVERS, reason="all is SQLAlchemy's to execute")
def test_many_new_records_are_one_text(records, db, executed, monkeypatch):
    monkeypatch.setattr(driver_cursor, "MAX_ROWS", 2)
    records.add("halls", SQLAlchemyService(Room, multi=True), public=True)
    bodies = [{"name": name} for name in ("one", "two", "three")]

    with served(db, records, "sqlite://") as app:
        client = app.test_client()
        client.post("/halls", json={"name": "first"})
        executed.clear()
        answer = client.post("/halls", json=bodies).json

    assert [(each["id"], each["name"]) for each in answer] == [
        (2, "one"),
        (3, "two"),
        (4, "three"),
    ]
    assert executed == []


@pytest.mark.parametrize("style", ["named", "numeric", "qmark"])
def test_many_new_records_are_written_in_each_style_of_parameters(style, records, db):
    records.add("halls", SQLAlchemyService(Room, multi=True), public=True)
    options = {"paramstyle": style}

    with served(db, records, "sqlite://", SQLALCHEMY_ENGINE_OPTIONS=options) as app:
        bodies = [{"name": "one"}, {"name": "two"}]
        answer = app.test_client().post("/halls", json=bodies)

    assert [each["name"] for each in answer.json] == ["one", "two"]


@pytest.mark.parametrize("name", ["before_cursor_execute", "before_execute", "begin"])
def test_listener_of_an_engine_hears_of_each_call(client, app, db, name):
    heard = []
    calls(client)

    with app.app_context():
        # An event has arguments of its own.
        listener = {
            "begin": lambda connection: heard.append(name),
            "before_execute": lambda *args: heard.append(name),
            "before_cursor_execute": lambda *args: heard.append(name),
        }[name]
        sa.event.listen(db.engine, name, listener)

    assert calls(client) == STATUSES
    assert len(heard) >= 5


def test_listener_of_a_connection_hears_of_its_statements(client, app, db, rooms):
    heard = []
    client.post("/rooms", json={"name": "Lobby"})

    with app.app_context():
        connection = db.session.connection()

        @sa.event.listens_for(connection, "after_cursor_execute")
        def hear(connection, cursor, statement, *args):
            heard.append(statement.partition(" ")[0])

        assert rooms.find()[0]["name"] == "Lobby"

    assert heard == ["SELECT"]


def test_engine_that_logs_statements_logs_those_of_each_call(client, caplog):
    calls(client)
    caplog.clear()

    with caplog.at_level(logging.INFO, logger="sqlalchemy.engine.Engine"):
        calls(client)

    statements = [each.getMessage().partition(" ")[0] for each in caplog.records]
    assert {"INSERT", "SELECT", "UPDATE", "DELETE"} <= {*statements}


def test_map_of_schemas_holds_for_each_call(app, tmp_path):
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    mapped = engine.execution_options(schema_translate_map={None: "other"})

    with engine.begin() as connection:
        connection.exec_driver_sql(f"ATTACH DATABASE '{tmp_path}/other.db' AS other")

    Base.metadata.create_all(mapped)
    session = sa.orm.scoped_session(sa.orm.sessionmaker(mapped))
    records = FlaskRecords()
    records.add("rooms", SQLAlchemyService(Room, session=session), public=True)
    app = type(app)(__name__)
    records.init_app(app)

    assert calls(app.test_client()) == STATUSES
    session.remove()
    engine.dispose()


def test_error_of_a_driver_is_that_of_sqlalchemy(client, app, db):
    """A receiver of errors of the dialect, such as a monitor, gets it, too."""
    heard = []
    client.post("/users", json={"email": "ann@example.com", "password": "x"})

    with app.app_context():

        @sa.event.listens_for(db.engine, "handle_error")
        def hear(context):
            heard.append(type(context.sqlalchemy_exception))

    answer = client.post("/users", json={"email": "ann@example.com", "password": "x"})

    assert answer.status_code == 409
    assert answer.json["errors"] == {"email": "has to be unique"}
    assert heard == [sa.exc.IntegrityError]


def test_new_records_are_in_as_many_statements_as_sqlite_needs(db, records):
    records.add("halls", SQLAlchemyService(Room, multi=True), public=True)

    with served(db, records, "sqlite://") as app, app.app_context():
        db.engine.dialect.insertmanyvalues_max_parameters = 50

        with db.engine.connect() as connection:
            driver = connection.connection.dbapi_connection
            driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 50)

        created = records["halls"].create([{"name": str(n)} for n in range(120)])

    assert [each["name"] for each in created] == [str(n) for n in range(120)]
