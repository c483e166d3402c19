"""Events of what the application writes through the session by itself."""

import pytest
import sqlalchemy as sa
from flask import Flask, request
from sqlalchemy import orm

from flask_records import BadRequest, FlaskRecords

from ...databases import served
from ...models import Message, Room, User
from ...stored import stored


@pytest.fixture
def app(db, records, users, rooms, messages, database_url):
    records.watch(db.session)

    with served(db, records, database_url) as app, app.app_context():
        app.add_url_rule("/form", view_func=lambda: form(db), methods=["POST"])
        yield app


def form(db):
    """A view of the application."""
    db.session.add(Room(name=request.form["name"]))
    db.session.commit()
    return "Thank you"


@pytest.fixture
def sent(records):
    """The events that were sent, with their records."""
    sent = []
    records.events()(
        lambda event, record, context: sent.append((event, record["id"], record))
    )
    return sent


def names(sent):
    return [(event, id) for event, id, _ in sent]


def test_form_sends_an_event_after_its_commit(app, db, records, sent):
    seen = []
    records["rooms"].events("created")(lambda *args: seen.append(stored(db)))

    assert app.test_client().post("/form", data={"name": "Lobby"}).text == "Thank you"
    assert sent == [("created", 1, {"id": 1, "name": "Lobby"})]
    assert seen == [["Lobby"]]


def test_changes_and_deletions_send_events(app, db, sent):
    room = Room(name="Lobby")
    db.session.add(room)
    db.session.commit()
    room.name = "Hall"
    db.session.commit()
    room.name = str(room.name)
    db.session.commit()
    db.session.delete(room)
    db.session.commit()

    assert sent == [
        ("created", 1, {"id": 1, "name": "Lobby"}),
        ("patched", 1, {"id": 1, "name": "Hall"}),
        ("removed", 1, {"id": 1, "name": "Hall"}),
    ]


def test_record_has_one_event_in_a_transaction(app, db, sent):
    room, other = Room(name="Lobby"), Room(name="Attic")
    db.session.add_all([room, other])
    db.session.flush()
    room.name = "Hall"
    db.session.flush()
    db.session.delete(other)
    db.session.flush()
    db.session.commit()
    room.name = "Lobby"
    db.session.flush()
    db.session.delete(room)
    db.session.commit()

    assert sent == [
        ("created", 1, {"id": 1, "name": "Hall"}),
        ("removed", 1, {"id": 1, "name": "Lobby"}),
    ]


def test_record_in_the_place_of_a_removed_one_has_its_event(app, db, sent):
    db.session.add(Room(id=1, name="Lobby"))
    db.session.commit()
    sent.clear()

    db.session.delete(db.session.get(Room, 1))
    db.session.flush()
    db.session.add(Room(id=1, name="Hall"))
    db.session.commit()

    assert sent == [
        ("removed", 1, {"id": 1, "name": "Lobby"}),
        ("created", 1, {"id": 1, "name": "Hall"}),
    ]


@pytest.mark.parametrize("by_unit_of_work", [False, True])
def test_calls_send_their_own_events_only(
    app, db, rooms, messages, sent, by_unit_of_work
):
    if by_unit_of_work:
        sa.event.listen(db.session, "before_flush", lambda *args: None)

    client = app.test_client()

    client.post("/rooms", json={"name": "a"})
    client.patch("/rooms/1", json={"name": "b"})
    client.put("/rooms/1", json={"name": "c"})
    client.delete("/rooms/1")
    messages.create([{"text": "a"}, {"text": "b"}])
    messages.patch(None, {"text": "c"})
    messages.remove(None)
    rooms._create({"name": "quiet"})

    assert names(sent) == [
        *[(event, 1) for event in ("created", "patched", "updated", "removed")],
        *[(event, id) for event in ("created", "patched", "removed") for id in (1, 2)],
    ]


def test_records_that_a_call_removes_with_its_own_send_events(app, db, rooms, sent):
    db.session.add(Room(name="Lobby", messages=[Message(text="hi")]))
    db.session.commit()
    sent.clear()

    rooms.remove(1)

    assert sorted(record.get("text", "") for *_, record in sent) == ["", "hi"]
    assert names(sent) == [("removed", 1), ("removed", 1)]


def test_form_with_a_call_in_it_sends_each_event_once(app, db, rooms, sent):
    @rooms.after("create")
    def greet(method, context):
        db.session.add(Message(text="Welcome"))

    db.session.add(Room(name="form"))
    rooms.create({"name": "call"})

    with pytest.raises(BadRequest):
        rooms.create({"name": None})

    assert sent == []
    db.session.commit()
    told = sorted(record.get("name", "message") for *_, record in sent)
    assert told == ["call", "form", "message"]


def test_hidden_and_protected_fields_are_left_out(app, db, users, sent):
    @users.after()
    def leave_out(method, context):
        context.dispatch = {**context.result}
        del context.dispatch["age"]

    user = User(email="ann@example.com", password="secret", age=30)
    db.session.add(user)
    db.session.commit()
    user.password = "other"
    db.session.commit()
    db.session.delete(user)
    db.session.commit()

    record = {"id": 1, "email": "ann@example.com"}
    assert sent == [(event, 1, record) for event in ("created", "patched", "removed")]


def test_record_that_its_service_does_not_show_has_no_event(app, db, rooms, sent):
    @rooms.before("get")
    def refuse(method, context):
        raise BadRequest("No")

    room = Room(name="Lobby")
    db.session.add(room)
    db.session.commit()
    db.session.delete(room)
    db.session.commit()

    assert (sent, stored(db)) == ([], [])


def test_watched_twice_sends_each_event_once(app, db, records, sent):
    records.watch(db.session)

    db.session.add(Room(name="Lobby"))
    db.session.commit()

    assert names(sent) == [("created", 1)]


def test_other_applications_are_not_watched(app, db, records, sent):
    other = Flask("other")
    other.config["SQLALCHEMY_DATABASE_URI"] = db.engine.url
    db.init_app(other)
    FlaskRecords(other)

    with other.app_context():
        db.session.add(Room(name="Lobby"))
        db.session.commit()
        db.engine.dispose()

    with orm.Session(db.engine) as session:
        session.add(Room(name="Hall"))
        session.commit()

    assert sent == []


def test_what_is_not_a_session_can_not_be_watched(records):
    with pytest.raises(sa.exc.InvalidRequestError, match="No such event"):
        records.watch(Room)
