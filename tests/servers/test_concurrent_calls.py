"""Calls that run at the same time keep out of each other's way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from flask_records import SQLAlchemyService

from ..databases import served
from ..models import Message
from ..models import Room

PATIENCE = 10
"""The seconds that a test waits for another thread."""


@pytest.fixture
def app(db, records, rooms, messages, database_url):
    options = {} if database_url.startswith("sqlite") else {"pool_size": 10}

    with (
        served(db, records, database_url, SQLALCHEMY_ENGINE_OPTIONS=options) as app,
        app.app_context(),
    ):
        yield app


def in_parallel(*functions):
    """The results of functions that run at the same time."""
    with ThreadPoolExecutor(len(functions)) as threads:
        return [each.result() for each in [threads.submit(f) for f in functions]]


class Slow:
    """A hook that goes on when it is told to."""

    is_slow = True

    def __init__(self):
        self.is_running = threading.Event()
        self.may_go_on = threading.Event()

    def __call__(self, method, context):
        self.is_running.set()
        assert self.may_go_on.wait(PATIENCE)


@pytest.fixture
def slow(app, rooms):
    slow = Slow()
    rooms.before("patch")(slow)
    return slow


def patch_meanwhile(app, slow, function):
    """Patch a room, and call a function while the hook of that runs. Return the status
    of the patch.
    """
    client = app.test_client()
    client.post("/rooms", json={"name": "Lobby"})

    def patch():
        return app.test_client().patch("/rooms/1", json={"name": "Hall"}).status_code

    with ThreadPoolExecutor(1) as threads:
        status = threads.submit(patch)
        assert slow.is_running.wait(PATIENCE)

        try:
            function()
        finally:
            slow.may_go_on.set()

        return status.result()


def test_nobody_waits_for_a_lock_while_a_hook_is_slow(app, slow):
    answers = []

    def create():
        answers.append(app.test_client().post("/messages", json={"text": "Hello"}))

    assert patch_meanwhile(app, slow, create) == 200
    assert [each.status_code for each in answers] == [201]


def test_nobody_waits_for_a_connection_while_a_hook_is_slow(app, db, slow):
    taken = []

    assert (
        patch_meanwhile(app, slow, lambda: taken.append(db.engine.pool.checkedout()))
        == 200
    )
    assert taken == [0]


@pytest.mark.parametrize("reads_by", ["service", "session"])
def test_record_that_a_hook_decides_by_stays_as_it_is(
    db, records, rooms, messages, tmp_path, reads_by
):
    """A hook that reads before one that is slow has taken SQLite's lock."""

    @rooms.before("patch")
    def read(method, context):
        if reads_by == "service":
            messages.find()
        else:
            db.session.scalars(sa.select(Message.id)).all()

    def write():
        with (
            pytest.raises(sa.exc.OperationalError, match="locked"),
            app.app_context(),
            db.engine.connect() as connection,
        ):
            connection.exec_driver_sql("PRAGMA busy_timeout = 10")
            connection.exec_driver_sql("INSERT INTO room (name) VALUES ('Hall')")

    slow = Slow()
    rooms.before("patch")(slow)

    with served(db, records, f"sqlite:///{tmp_path / 'test.db'}") as app:
        assert patch_meanwhile(app, slow, write) == 200


def test_hook_that_ends_a_transaction_before_a_slow_one_fails_the_call(
    app, db, rooms, slow, caplog
):
    @rooms.before("create")
    def write(method, context):
        db.session.add(Room(name="noted"))
        db.session.commit()

    slow.may_go_on.set()
    rooms.before("create")(slow)

    assert app.test_client().post("/rooms", json={"name": "x"}).status_code == 500
    assert "has ended the transaction of the session" in caplog.text


def test_records_that_came_while_a_hook_ran_are_written(app, db, messages):
    """MariaDB reads what was there before, but locks what is there now."""

    @messages.before("patch", "remove")
    def read(method, context):
        messages.find()

        if db.engine.dialect.name != "sqlite":
            in_parallel(insert)

    def insert():
        with app.app_context(), db.engine.begin() as connection:
            connection.execute(sa.insert(Message), {"text": "new", "read": False})

    client = app.test_client()
    client.post("/messages", json={"text": "old"})

    patched = client.patch("/messages", json={"rank": 1})
    removed = client.delete("/messages")

    assert (patched.status_code, removed.status_code) == (200, 200)
    assert {record["rank"] for record in patched.json} == {1}
    assert {record["text"] for record in removed.json} >= {"old"}
    assert client.get("/messages").json["total"] == 0


def test_writes_of_many_records_at_the_same_time(app, db, records):
    service = SQLAlchemyService(Message, multi=True)
    records.add("many", service, public=True)

    def call(number):
        client = app.test_client()
        client.post("/many", json=[{"text": f"{number} {i}"} for i in range(3)])
        patched = client.patch("/many", json={"rank": number})
        removed = client.delete("/many?rank[$lt]=0")
        return {patched.status_code, removed.status_code}

    statuses = in_parallel(*[lambda number=n: call(number) for n in range(24)])

    # Servers end one of two calls that wait for each other.
    assert set().union(*statuses) <= {200, 503}
