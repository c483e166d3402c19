"""Tests of an application, each in a transaction that is rolled back in the end."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import scoped_session, sessionmaker

from flask_records import FlaskRecords, SQLAlchemyService

from ...models import Base, Room


@pytest.fixture
def engine(database_url):
    engine = sa.create_engine(database_url)

    if engine.dialect.name == "sqlite":
        # SQLAlchemy begins transactions, not the driver.
        sa.event.listen(engine, "begin", lambda c: c.exec_driver_sql("BEGIN"))
        sa.event.listen(
            engine, "connect", lambda c, _: setattr(c, "isolation_level", None)
        )

    Base.metadata.create_all(engine)
    yield engine
    Base.metadata.drop_all(engine)
    engine.dispose()


@contextmanager
def rolled_back(engine, app_of):
    with engine.connect() as connection:
        transaction = connection.begin()
        mode = "create_savepoint"
        session = scoped_session(sessionmaker(connection, join_transaction_mode=mode))
        yield session, app_of(session).test_client()
        session.remove()
        transaction.rollback()


def make_app(session, **hooks):
    from flask import Flask

    app, records = Flask("tests"), FlaskRecords(logger=False)
    rooms = SQLAlchemyService(Room, session=session, multi=True)
    records.add("rooms", rooms, public=True)
    records.init_app(app)
    return app


def names(client):
    return [room["name"] for room in client.get("/rooms").json]


def test_services_are_part_of_the_outer_transaction(engine):
    for _ in range(2):
        with rolled_back(engine, make_app) as (session, client):
            session.add(Room(name="by the application"))
            session.commit()
            created = client.post("/rooms", json={"name": "by a client"}).json
            refused = [{"name": "first"}, {"name": "second", "nope": 1}]

            assert client.post("/rooms", json=refused).status_code == 400
            assert names(client) == ["by the application", "by a client"]
            assert client.delete(f"/rooms/{created['id']}").status_code == 200
            assert session.scalar(sa.select(sa.func.count(Room.id))) == 1

    with rolled_back(engine, make_app) as (session, client):
        assert names(client) == []
