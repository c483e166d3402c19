"""Reads of a streaming replica of PostgreSQL."""

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session

from flask_records import FlaskRecords, SQLAlchemyService

from ..models import Base, Room
from ..sql import statements_of
from ..waiting import wait_until
from .faults.postgresql import postgresql


@pytest.fixture(scope="module")
def servers():
    with postgresql() as primary, primary.replica() as replica:
        yield primary, replica


@pytest.fixture
def app(servers):
    class RoutingSession(Session):
        def get_bind(self, mapper=None, clause=None, **others):
            is_write = self._flushing or isinstance(clause, sa.sql.dml.UpdateBase)
            return db.engine if is_write else db.engines["replica"]

    db = SQLAlchemy(model_class=Base, session_options={"class_": RoutingSession})
    records = FlaskRecords()
    records.add("rooms", SQLAlchemyService(Room, multi=True), public=True)
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = servers[0].url
    app.config["SQLALCHEMY_BINDS"] = {"replica": servers[1].url}
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        Base.metadata.create_all(db.engine)
        wait_until(lambda: has_replayed(db.engine, db.engines["replica"]))
        yield app
        db.session.remove()
        Base.metadata.drop_all(db.engine)

        for engine in db.engines.values():
            engine.dispose()


def has_replayed(primary, replica):
    """Return ``True`` if a replica has all that its primary has written."""
    with primary.connect() as connection:
        written = connection.scalar(sa.text("SELECT pg_current_wal_lsn()::text"))

    statement = sa.text("SELECT pg_last_wal_replay_lsn() >= CAST(:written AS pg_lsn)")

    with replica.connect() as connection:
        return connection.scalar(statement, {"written": written})


def test_the_replica_answers_reads_and_the_primary_writes(app):
    db, client = app.extensions["sqlalchemy"], app.test_client()

    with statements_of(db.engines["replica"]) as read:
        room = client.post("/rooms", json={"name": "Lobby"})
        patched = client.patch("/rooms", json={"name": "Hall"})
        removed = client.delete("/rooms/9")

    assert (room.status_code, patched.status_code, removed.status_code) == (
        *(201, 200, 404),
    )
    assert read == []

    wait_until(lambda: client.get("/rooms").json == patched.json)

    with statements_of(db.engine) as ran, statements_of(db.engines["replica"]) as read:
        assert client.get(f"/rooms/{room.json['id']}").json["name"] == "Hall"

    assert (len(ran), len(read)) == (0, 1)


def test_a_service_of_the_replica_alone_says_that_it_takes_no_writes(app, servers):
    engine = app.extensions["sqlalchemy"].engines["replica"]
    records = FlaskRecords()
    source = sa.orm.sessionmaker(engine)
    rooms = SQLAlchemyService(Room, session=source, multi=True)
    records.add("rooms", rooms, public=True)
    other = Flask("other")
    records.init_app(other)
    client = other.test_client()

    for answer in (
        client.post("/rooms", json={"name": "Lobby"}),
        client.patch("/rooms", json={"name": "Hall"}),
        client.delete("/rooms/1"),
    ):
        assert answer.status_code == 503
        assert answer.json["message"] == "The database is not available. Try again."
