"""Calls at the same time keep out of each other's way: a call that can't be served for
another one is a 503, with nothing stored.
"""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress

import pytest
import sqlalchemy as sa

from flask_records import Conflict, Params, Unavailable

from ..databases import served
from ..models import Message
from ..stored import stored

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


@pytest.fixture
def on_server(app, db):
    """An app on a server with two messages. On SQLite, one call writes at a time."""
    if db.engine.dialect.name == "sqlite":
        pytest.skip("On SQLite one writes at a time")

    db.session.add_all([Message(text="first"), Message(text="second")])
    db.session.commit()
    return app


AWAY = "The database is not available. Try again."
LOCKED = "Another call writes the same records. Try again."


def is_busy(response, message=AWAY):
    return (response.status_code, response.json["message"]) == (503, message)


class Slow:
    """A hook that goes on when it is told to. The lock of SQLite is taken after it."""

    is_slow = True

    def __init__(self):
        self.is_running = threading.Event()
        self.may_go_on = threading.Event()

    def __call__(self, method, context):
        self.is_running.set()
        assert self.may_go_on.wait(PATIENCE)


def patch_meanwhile(app, function):
    """Patch a room, and call a function while a hook of that runs. Return the status of
    the patch.
    """
    slow = Slow()
    app.extensions["records"]["rooms"].before("patch")(slow)
    app.test_client().post("/rooms", json={"name": "Lobby"})

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


def test_nobody_waits_while_a_hook_is_slow(app, db):
    answers, taken = [], []

    def create():
        taken.append(db.engine.pool.checkedout())
        answers.append(app.test_client().post("/messages", json={"text": "Hello"}))

    assert patch_meanwhile(app, create) == 200
    assert (taken, [each.status_code for each in answers]) == ([0], [201])


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

    with served(db, records, f"sqlite:///{tmp_path / 'test.db'}") as app:
        assert patch_meanwhile(app, write) == 200


@pytest.mark.parametrize("read", ["get", "find"])
def test_records_that_are_read_with_a_lock_are_written_by_nobody_else(
    app, db, messages, read
):
    """A hook decides by the state of a record: the second call sees the new one."""
    waiting = ThreadPoolExecutor(1)
    others = []

    @messages.before("patch")
    def check(method, context):
        if read == "get":
            message = messages.get(context.id, lock=True)
        else:
            query = {"id": context.id, "$limit": 1}
            message = messages.find(Params(query), lock=True).data[0]

        if message["read"]:
            raise Conflict("It is read.")

        if not others:
            others.append(waiting.submit(patch))
            # The other call has nothing to decide by until this one has committed.
            wait([others[0]], timeout=0.2)
            assert not others[0].done()

    def patch():
        return app.test_client().patch("/messages/1", json={"read": True}).status_code

    app.test_client().post("/messages", json={"text": "new", "read": False})

    with waiting:
        assert patch() == 200

    assert others[0].result() == 409


def patch_in_opposite_order(app, patch_other):
    """Answer two calls at once, each of which wants what the other has."""
    messages = app.extensions["records"]["messages"]
    barrier = threading.Barrier(2, timeout=PATIENCE)

    @messages.after("patch")
    def go_on(method, context):
        if context.params.provider:
            barrier.wait()
            patch_other(lambda: messages.patch(3 - int(context.id), {"rank": 1}))

    def patch(id):
        return app.test_client().patch(f"/messages/{id}", json={"text": f"by {id}"})

    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(patch, (1, 2)))


def test_one_of_two_calls_in_a_deadlock_is_told_to_try_again(on_server):
    responses = patch_in_opposite_order(on_server, lambda patch: patch())

    good, bad = sorted(responses, key=lambda each: each.status_code)
    assert good.status_code == 200
    assert is_busy(bad, LOCKED)


def test_a_hook_can_not_hide_that_a_deadlock_has_undone_the_call(on_server, db):
    """MariaDB undoes all of the transaction, and not the inner call alone."""

    def try_to(patch):
        with suppress(Unavailable):
            patch()

    responses = patch_in_opposite_order(on_server, try_to)

    answered = [each.json["text"] for each in responses if each.status_code == 200]
    assert answered
    assert {each.status_code for each in responses} <= {200, 503}
    assert [text for text in stored(db) if text.startswith("by")] == answered


LOCK_TIMEOUTS = {
    "postgresql": "SET lock_timeout = '50ms'",
    "mariadb": "SET innodb_lock_wait_timeout = 1",
}


def test_a_call_that_waits_too_long_for_a_record_is_told_to_try_again(on_server, db):
    @sa.event.listens_for(db.engine, "checkout")
    def be_impatient(connection, *rest):
        connection.cursor().execute(LOCK_TIMEOUTS[db.engine.dialect.name])

    with db.engine.begin() as connection:
        connection.execute(sa.update(Message).values(text="locked"))
        response = on_server.test_client().patch("/messages/1", json={"text": "x"})

    assert is_busy(response, LOCKED)


def test_a_call_that_waits_too_long_for_sqlite_is_told_to_try_again(
    db, records, rooms, tmp_path
):
    path = tmp_path / "test.db"

    with served(db, records, f"sqlite:///{path}") as app, app.app_context():
        client = app.test_client()
        client.post("/rooms", json={"name": "first"})

        with db.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 0")

        with closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            response = client.post("/rooms", json={"name": "second"})

    assert is_busy(response)
