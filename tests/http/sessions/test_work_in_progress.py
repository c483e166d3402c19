"""Writes with the application's session inside of a call are committed with it,
and what the application has in progress stays its own.
"""

import pytest
import sqlalchemy as sa

from flask_records import BadRequest, RecordsError, Transaction

from ...databases import served
from ...models import Message, Room
from ...stored import stored


class Rooms:
    """A service of the application that uses the application's session."""

    def __init__(self, db):
        self.db = db

    def find(self, params):
        self.db.session.add(Room(name="found"))
        return []

    def create(self, data, params):
        room = Room(name=data["name"])
        self.db.session.add(room)

        if data["name"] == "bad":
            raise BadRequest("No")

        self.db.session.flush()
        return {"id": room.id, "name": room.name}

    def open(self, data, params):
        self.db.session.execute(sa.insert(Room).values(name=data["name"]))
        return {}


@pytest.fixture
def own_rooms(db, records):
    """The service of the application."""
    methods = ["find", "create", "open"]
    return records.add("own_rooms", Rooms(db), methods=methods, public=True)


@pytest.fixture
def app(db, records, own_rooms, users, rooms, messages, database_url):
    with served(db, records, database_url) as app, app.app_context():
        yield app


def test_custom_method_and_find_of_an_object_are_committed(app, db):
    client = app.test_client()

    client.post("/own_rooms", json={"name": "a"}, headers={"X-Service-Method": "open"})
    client.get("/own_rooms")

    assert stored(db) == ["a", "found"]


def test_part_that_fails_is_undone_alone(app, db, own_rooms):
    with Transaction():
        db.session.add(Room(name="first"))

        with pytest.raises(ZeroDivisionError), Transaction():
            db.session.add(Room(name="second"))
            raise ZeroDivisionError

        with pytest.raises(BadRequest):
            own_rooms.create({"name": "bad"})

        db.session.add(Room(name="third"))

    assert stored(db) == ["first", "third"]


def test_error_hook_has_a_transaction_of_its_own(app, db, rooms):
    @rooms.error()
    def note(method, context):
        db.session.add(Room(name=f"{method} failed"))

    app.test_client().post("/rooms", json={"name": "x" * 51})
    app.test_client().get("/rooms/9")

    assert stored(db) == ["create failed", "get failed"]


def test_receivers_have_a_transaction_each(app, db, rooms, caplog):
    def fail(event, record, context):
        db.session.add(Room(name="bad"))
        db.session.flush()
        raise ZeroDivisionError

    def note(event, record, context):
        db.session.add(Message(text=record["name"]))

    def note_again(event, record, context):
        db.session.execute(sa.insert(Message).values(text="again"))

    for receiver in (note, fail, note_again):
        rooms.events("created")(receiver)

    response = app.test_client().post("/rooms", json={"name": "Lobby"})

    assert response.status_code == 201
    assert stored(db) == ["Lobby", "Lobby", "again"]
    assert "A receiver of 'rooms created' failed" in caplog.text


def begin(connection):
    """Begin a transaction on SQLite too, whose driver leaves that to the first write.
    Savepoints before that are transactions of their own.
    """
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN")


def add_pending(db):
    db.session.add(Room(name="order"))


def insert_text(db):
    db.session.execute(sa.text("INSERT INTO room (name) VALUES ('order')"))


def insert_on_the_connection(db):
    db.session.connection().execute(sa.insert(Room).values(name="order"))


def add_in_a_savepoint(db):
    begin(db.session.connection())

    with db.session.begin_nested():
        db.session.add(Room(name="order"))


@pytest.fixture(
    params=[add_pending, insert_text, insert_on_the_connection, add_in_a_savepoint]
)
def start(request):
    """Begin to write in the session of the application."""
    return request.param


def test_calls_that_fail_leave_work_in_progress(
    app, db, rooms, messages, own_rooms, sent, start
):
    @messages.after("create")
    def refuse(method, context):
        db.session.add(Room(name="bad"))

        if context.data["text"] == "refused":
            raise BadRequest("No")

    start(db)

    with pytest.raises(RecordsError), Transaction():
        rooms.create({"name": "bad", "id": 1000})
        messages.create({"text": "bad", "room_id": 999})

    for service, data in (
        (messages, {"text": "refused"}),
        (own_rooms, {"name": "bad"}),
    ):
        with pytest.raises(BadRequest, match="No"):
            service.create(data)

    db.session.commit()
    assert (stored(db), sent) == (["order"], [])


def test_calls_are_committed_with_work_in_progress(
    app, db, rooms, own_rooms, sent, start
):
    start(db)
    rooms.create({"name": "first"})
    own_rooms.create({"name": "second"})

    with Transaction():
        db.session.add(Room(name="third"))

    before = stored(db), list(sent)
    db.session.commit()

    assert before == ([], [])
    assert stored(db) == ["order", "first", "second", "third"]
    assert sent == ["created", "created"]


def test_calls_are_undone_with_work_in_progress(app, db, rooms, own_rooms, sent, start):
    start(db)
    rooms.create({"name": "first"})
    own_rooms.create({"name": "second"})

    db.session.rollback()
    db.session.commit()

    assert (stored(db), sent) == ([], [])
    rooms.create({"name": "third"})
    assert (stored(db), sent) == (["third"], ["created"])


def test_what_a_hook_writes_in_a_session_that_has_read_is_committed(app, db, rooms):
    @rooms.before("find")
    def write(method, context):
        db.session.execute(sa.insert(Room).values(name="noted"))

    db.session.scalar(sa.select(sa.true()))
    rooms.find()
    db.session.rollback()

    assert stored(db) == ["noted"]


def test_calls_in_a_savepoint_of_the_application_follow_it(app, db, rooms, sent):
    # The session begins its transaction by itself.
    db.session.scalar(sa.select(sa.true()))

    with db.session.begin_nested():
        rooms.create({"name": "first"})

    with pytest.raises(ZeroDivisionError), db.session.begin_nested():
        rooms.create({"name": "second"})
        raise ZeroDivisionError

    before = list(sent)
    db.session.commit()

    assert (stored(db), before, sent) == (["first"], [], ["created"])


def test_calls_in_a_block_of_the_session_are_committed_at_its_end(
    app, db, rooms, messages, sent
):
    @rooms.events("created")
    def greet(event, record, context):
        messages.create({"text": record["name"]})
        db.session.add(Message(text="hi"))

    with db.session.begin():
        rooms.create({"name": "Lobby"})
        assert sent == []

    assert stored(db) == ["Lobby", "Lobby", "hi"]
    assert sent == ["created", "created"]


def test_call_of_a_client_commits_work_in_progress(app, db, rooms, sent):
    """A view of the application would commit what was begun before the request.
    Requests of the client share the session of the test.
    """

    @app.before_request
    def note():
        db.session.add(Message(text="seen"))

    client = app.test_client()

    assert client.post("/rooms", json={"name": "x" * 51}).status_code == 400
    assert stored(db) == []
    assert client.get("/rooms").json == []
    assert stored(db) == []
    assert client.post("/rooms", json={"name": "Lobby"}).status_code == 201
    assert (stored(db), sent) == (["Lobby", *["seen"] * 3], ["created"])


def test_work_that_is_wrong_is_an_error_of_the_call(app, db, rooms):
    db.session.add(Room(name=None))

    with pytest.raises(RecordsError):
        rooms.create({"name": "Lobby"})

    db.session.rollback()
    rooms.create({"name": "Lobby"})
    assert stored(db) == ["Lobby"]
