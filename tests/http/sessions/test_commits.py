"""A call that answers with success has committed, whatever its hooks have done."""

from contextlib import suppress

import pytest
import sqlalchemy as sa

from ...databases import served
from ...models import Message, Room
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


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, MemoryError])
def test_exit_in_a_hook_undoes_the_call(app, db, rooms, sent, error):
    @rooms.after("create")
    def leave(method, context):
        db.session.add(Room(name="noted"))
        db.session.flush()
        raise error

    with suppress(SystemExit, KeyboardInterrupt):
        assert create(app, "rooms", name="Lobby").status_code == 500

    assert (stored(db), sent) == ([], [])
    assert db.engine.pool.checkedout() == 0
    rooms.after.disconnect(leave, "create")
    assert create(app, "rooms", name="Hall").status_code == 201


def test_error_of_a_flush_that_a_hook_catches_fails_the_call(app, db, rooms, sent):
    @rooms.after("create")
    def note(method, context):
        db.session.add(Message(text=None))

        with pytest.raises(sa.exc.IntegrityError):
            db.session.flush()

    assert create(app, "rooms", name="Lobby").status_code == 500
    assert (stored(db), sent) == ([], [])


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_hook_that_ends_the_transaction_fails_the_call(
    app, db, rooms, sent, caplog, when, end
):
    @getattr(rooms, when)("create")
    def hook(method, context):
        db.session.scalar(sa.select(sa.true()))
        getattr(db.session, end)()

    answer = create(app, "rooms", name="Lobby")

    assert answer.status_code == 500
    assert "has ended the transaction of the session" in caplog.text
    assert sent == []
    getattr(rooms, when).disconnect(hook, "create")
    assert create(app, "rooms", name="Hall").status_code == 201
    assert stored(db)[-1] == "Hall"
    assert db.engine.pool.checkedout() == 0
