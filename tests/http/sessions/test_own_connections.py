"""A call that writes begins on a connection of its own, with which the session goes on
as soon as a hook uses it.
"""

import pytest
import sqlalchemy as sa

from flask_records import Conflict, SQLAlchemyService, Transaction

from ...databases import served
from ...models import Room
from ...stored import stored


@pytest.fixture
def app(db, records, users, rooms, messages, database_url):
    with served(db, records, database_url) as app, app.app_context():
        yield app


def names(db):
    return [*db.session.scalars(sa.select(Room.name).order_by(Room.id))]


def create(app, name="Lobby"):
    return app.test_client().post("/rooms", json={"name": name}).status_code


@pytest.mark.parametrize("end", ["close", "remove", "rollback"])
def test_session_that_nobody_uses_has_no_transaction(app, db, rooms, end):
    seen = []
    rooms.after("create")(lambda *args: seen.append(db.session().in_transaction()))
    rooms.after("create")(lambda *args: getattr(db.session, end)())

    status = create(app)

    assert (status, seen, stored(db)) == (201, [False], ["Lobby"])
    assert db.engine.pool.checkedout() == 0


def test_hook_sees_what_the_call_has_written(app, db, rooms):
    seen = []
    rooms.before("create")(lambda *args: seen.append(len(rooms.find())))
    rooms.after("create")(lambda *args: seen.append(names(db)))

    status = create(app)

    assert (status, seen, stored(db)) == (201, [0, ["Lobby"]], ["Lobby"])
    assert db.engine.pool.checkedout() == 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_hook_writes_in_the_transaction_of_the_call(app, db, rooms, when):
    @getattr(rooms, when)("create")
    def note(method, context):
        db.session.add(Room(name="noted"))
        db.session.flush()

    assert create(app) == 201
    assert sorted(stored(db)) == ["Lobby", "noted"]


def test_write_of_another_service_in_a_hook_is_undone_alone(app, db, rooms, messages):
    @rooms.after("create")
    def note(method, context):
        with pytest.raises(Conflict), Transaction():
            messages.create({"text": "undone"})
            raise Conflict("No.")

        messages.create({"text": "kept"})

    assert create(app) == 201
    assert stored(db) == ["Lobby", "kept"]


def test_block_of_calls_is_one_transaction_with_the_session(app, db, rooms):
    with pytest.raises(Conflict), Transaction():
        rooms.create({"name": "Lobby"})
        assert names(db) == ["Lobby"]
        raise Conflict("No.")

    assert stored(db) == []

    with Transaction():
        rooms.create({"name": "Lobby"})
        db.session.add(Room(name="noted"))

    assert stored(db) == ["Lobby", "noted"]


def test_session_of_another_context_is_left_alone(app, db, rooms):
    seen = []

    @rooms.before("create")
    def look(method, context):
        with app.app_context():
            seen.append(db.session.connection().in_transaction())

        seen.append(db.session().in_transaction())

    assert create(app) == 201
    assert (seen, stored(db)) == ([True, False], ["Lobby"])


def test_listener_that_a_hook_adds_to_the_session_hears_the_write(app, db, rooms):
    seen = []

    @rooms.before("create")
    def listen(method, context):
        note = sa.event.listens_for(db.session(), "after_flush")
        note(lambda *args: seen.append("flushed"))

    assert create(app) == 201
    assert seen == ["flushed"]


@pytest.mark.parametrize("name", ["close", "remove", "reset", "rollback"])
def test_block_that_ends_the_transaction_of_a_call_fails(app, db, rooms, sent, name):
    with pytest.raises(RuntimeError, match="ended the transaction"), Transaction():
        rooms.create({"name": "Lobby"})
        getattr(db.session, name)()

    assert (stored(db), sent, db.engine.pool.checkedout()) == ([], [], 0)


@pytest.mark.parametrize(
    ("path", "data"), [("rooms", {"name": "undone"}), ("messages", {"text": "undone"})]
)
def test_read_whose_hook_undoes_a_write_fails(app, db, records, users, path, data):
    """One of the services writes by a statement, the other one by a unit of work."""

    @users.after("find")
    def note(method, context):
        records.services[path].create(data)
        db.session.rollback()

    assert app.test_client().get("/users").status_code == 500
    assert stored(db) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_block_of_the_session_in_a_hook_fails_the_call(app, db, rooms, sent, when):
    @getattr(rooms, when)("create")
    def note(method, context):
        with db.session.begin():
            db.session.add(Room(name="noted"))

    assert (create(app), sent) == (500, [])


def test_listener_that_a_hook_adds_for_the_commit_is_called(app, db, rooms):
    seen = []

    @rooms.before("create")
    def follow(method, context):
        for name in ("after_commit", "after_rollback"):
            sa.event.listen(
                db.session(), name, lambda *args, name=name: seen.append(name)
            )

        @sa.event.listens_for(db.session(), "before_commit")
        def note(session):
            session.add(Room(name="noted"))

    assert create(app) == 201
    assert (seen, stored(db)) == (["after_commit"], ["Lobby", "noted"])


def test_listener_that_a_hook_adds_for_the_rollback_is_called(app, db, rooms):
    seen = []

    @rooms.before("create")
    def refuse(method, context):
        sa.event.listen(db.session(), "after_rollback", lambda *args: seen.append(1))
        raise Conflict("No.")

    assert create(app) == 409
    assert (seen, db.engine.pool.checkedout()) == ([1], 0)


def test_call_after_work_in_progress_was_undone_waits_for_the_commit(
    app, db, rooms, sent
):
    db.session.add(Room(name="undone"))

    with Transaction():
        db.session.rollback()
        rooms.create({"name": "Lobby"})

    before = stored(db), list(sent)
    db.session.commit()

    assert before == ([], [])
    assert (stored(db), sent) == (["Lobby"], ["created"])


def test_part_of_a_session_from_a_function_is_undone_alone(app, db, records, rooms):
    """The function returns the session that the application's scoped_session makes."""
    own = SQLAlchemyService(Room, session=lambda: db.session())
    halls = records.add("halls", own, public=True)

    @halls.after("create")
    def note(method, context):
        with pytest.raises(Conflict), Transaction():
            rooms.create({"name": "undone"})
            raise Conflict("No.")

    response = app.test_client().post("/halls", json={"name": "kept"})

    assert (response.status_code, stored(db)) == (201, ["kept"])
