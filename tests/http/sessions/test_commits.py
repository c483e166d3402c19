"""A call that answers with success has committed, whatever its hooks have done."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from flask_records import Params
from flask_records import RecordsError
from flask_records import SQLAlchemyService

from ...databases import served
from ...databases import url_of
from ...models import Message
from ...models import Room
from ...stored import stored

ENDS = ["commit", "rollback", "close", "remove"]
"""The methods of a scoped session that end its transaction."""


@pytest.fixture
def app(db, records, rooms, messages, database_url):
    with served(db, records, database_url) as app, app.app_context():
        yield app


def create(app, path, **body):
    return app.test_client().post(f"/{path}", json=body)


def fail(db):
    """Run SQL that fails, and catch the error."""
    with pytest.raises(sa.exc.DatabaseError):
        db.session.execute(sa.text("SELECT name FROM nowhere"))


@pytest.mark.parametrize("when", ["before", "after"])
def test_answer_of_a_call_whose_hook_catches_an_error_of_sql(
    app, db, rooms, sent, caplog, when
):
    getattr(rooms, when)("create")(lambda method, context: fail(db))

    answer = create(app, "rooms", name="Lobby")

    if db.engine.dialect.name == "postgresql":
        assert answer.status_code == 500
        assert answer.json["message"] == "Internal server error"
        assert "begin_nested" in caplog.text
        assert (stored(db), sent) == ([], [])
    else:
        assert answer.status_code == 201
        assert (stored(db), sent) == (["Lobby"], ["created"])


def test_answer_of_a_read_whose_hook_writes_and_catches_an_error(app, db, rooms):
    @rooms.after("find")
    def note(method, context):
        db.session.add(Room(name="noted"))
        db.session.flush()
        fail(db)

    answer = app.test_client().get("/rooms")

    assert (answer.status_code == 200) == (stored(db) == ["noted"])


def test_error_of_a_flush_that_a_hook_catches_fails_the_call(app, db, rooms, sent):
    @rooms.after("create")
    def note(method, context):
        db.session.add(Message(text=None))

        with pytest.raises(sa.exc.IntegrityError):
            db.session.flush()

    assert create(app, "rooms", name="Lobby").status_code == 500
    assert (stored(db), sent) == ([], [])


def test_error_of_a_read_in_a_hook_is_undone_alone(app, db, records, rooms, sent):
    # All of them but PostgreSQL know this pattern.
    service = SQLAlchemyService(Message, whitelist=["$regex"])
    texts = records.add("texts", service, public=True)

    @rooms.after("create")
    def search(method, context):
        try:
            texts.find(Params({"text": {"$regex": "a++"}}))
        except RecordsError:
            seen.append("refused")

    seen = []

    assert create(app, "rooms", name="Lobby").status_code == 201
    assert (stored(db), sent) == (["Lobby"], ["created"])


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_hook_that_ends_the_transaction_fails_the_call(
    app, db, rooms, sent, caplog, when, end
):
    hook = getattr(rooms, when)("create")(lambda *args: getattr(db.session, end)())

    answer = create(app, "rooms", name="Lobby")

    assert answer.status_code == 500
    assert "has ended the transaction of the session" in caplog.text
    assert sent == []
    getattr(rooms, when).disconnect(hook, "create")
    assert create(app, "rooms", name="Hall").status_code == 201
    assert stored(db)[-1] == "Hall"
    assert db.engine.pool.checkedout() == 0


@pytest.mark.parametrize("end", ENDS)
def test_hook_that_ends_the_transaction_of_a_call_in_a_call(
    app, db, rooms, messages, sent, end
):
    @rooms.after("create")
    def greet(method, context):
        messages.create({"text": "Welcome"})

    messages.after("create")(lambda method, context: getattr(db.session, end)())

    assert create(app, "rooms", name="Lobby").status_code == 500
    assert sent == []
    assert db.engine.pool.checkedout() == 0


def test_hook_that_ends_the_transaction_and_catches_what_follows(
    app, db, rooms, messages, sent
):
    @rooms.after("create")
    def greet(method, context):
        db.session.rollback()

        with pytest.raises(RuntimeError, match="has ended the transaction"):
            messages.create({"text": "Welcome"})

    assert create(app, "rooms", name="Lobby").status_code == 500
    assert (stored(db), sent) == ([], [])


def test_hook_may_end_a_savepoint_of_its_own(app, db, rooms, sent):
    @rooms.after("create")
    def note(method, context):
        with pytest.raises(sa.exc.DatabaseError), db.session.begin_nested():
            db.session.execute(sa.text("SELECT name FROM nowhere"))

    assert create(app, "rooms", name="Lobby").status_code == 201
    assert (stored(db), sent) == (["Lobby"], ["created"])


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("when", ["before", "after"])
def test_exit_in_a_hook_undoes_the_call(app, db, rooms, sent, when, error):
    @getattr(rooms, when)("create")
    def leave(method, context):
        db.session.add(Room(name="noted"))
        db.session.flush()
        raise error

    with pytest.raises(error):
        create(app, "rooms", name="Lobby")

    assert (stored(db), sent) == ([], [])
    assert db.engine.pool.checkedout() == 0
    getattr(rooms, when).disconnect(leave, "create")
    assert create(app, "rooms", name="Hall").status_code == 201
    assert stored(db) == ["Hall"]


def test_lack_of_memory_in_a_hook_is_an_error_of_the_call(app, db, rooms, sent):
    @rooms.after("create")
    def allocate(method, context):
        raise MemoryError

    assert create(app, "rooms", name="Lobby").status_code == 500
    assert (stored(db), sent) == ([], [])
    assert db.engine.pool.checkedout() == 0


def test_error_that_ends_the_transaction_of_sqlite_fails_the_call(
    db, records, rooms, sent, tmp_path
):
    @rooms.after("create")
    def insert(method, context):
        insert = "INSERT OR ROLLBACK INTO room (id, name) VALUES (1, 'again')"

        with pytest.raises(sa.exc.IntegrityError):
            db.session.execute(sa.text(insert))

        # It begins another transaction, which could be committed.
        db.session.execute(sa.text("INSERT INTO room (id, name) VALUES (2, 'noted')"))

    with (
        served(db, records, f"sqlite:///{tmp_path / 'test.db'}") as app,
        app.app_context(),
    ):
        answer = create(app, "rooms", name="Lobby")

        assert answer.status_code == 503
        assert (stored(db), sent) == ([], [])


def test_deadlock_that_a_hook_catches_fails_the_call(
    db, records, rooms, sent, server_urls
):
    url = url_of("mariadb", server_urls)
    lock = "SELECT id FROM room WHERE id = {} FOR UPDATE"

    @rooms.after("create")
    def wait(method, context):
        db.session.execute(sa.text(lock.format(1)))
        other.start()
        holds_second.wait(5)

        with pytest.raises(sa.exc.OperationalError, match="Deadlock"):
            db.session.execute(sa.text(lock.format(2)))

    def take_both(engine):
        with engine.connect() as connection:
            # The server ends the transaction that has written less.
            connection.exec_driver_sql("UPDATE message SET text = 'changed'")
            connection.exec_driver_sql(lock.format(2))
            holds_second.set()
            connection.exec_driver_sql(lock.format(1))
            connection.rollback()

    with served(db, records, url) as app, app.app_context():
        db.session.add_all([Room(name="first"), Room(name="second")])
        db.session.add_all([Message(text=str(number)) for number in range(50)])
        db.session.commit()
        holds_second = threading.Event()
        other = threading.Thread(target=take_both, args=[db.engine])

        answer = create(app, "rooms", name="Lobby")
        other.join(5)

        assert answer.status_code == 503
        assert stored(db)[:2] == ["first", "second"]
        assert "Lobby" not in stored(db)
        assert sent == []
