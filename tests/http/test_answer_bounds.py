"""The bytes of an answer, which are bounded while it is made."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import SQLAlchemyService
from flask_records.query.bounds import Bounds
from flask_records.realtime import Realtime

from ..databases import serving_models

BOUND = 50_000
TOO_LARGE = f"The answer has more than {BOUND} bytes."


@pytest.fixture
def app(database_url):
    class Base(DeclarativeBase):
        pass

    class Room(Base):
        __tablename__ = "bounded_room"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str] = mapped_column(sa.String(500))
        messages: Mapped[list[Message]] = relationship(back_populates="room")

    class Message(Base):
        __tablename__ = "bounded_message"
        id: Mapped[int] = mapped_column(primary_key=True)
        text: Mapped[str] = mapped_column(sa.Text())
        room_id: Mapped[int | None] = mapped_column(sa.ForeignKey(Room.id))
        room: Mapped[Room | None] = relationship(back_populates="messages")

    Base.registry._class_registry["Message"] = Message
    models = {"rooms": Room, "messages": Message}
    options = {"multi": True, "whitelist": ["$populate"]}
    services = {path: SQLAlchemyService(models[path], **options) for path in models}
    bounds = {"answer": BOUND}

    with serving_models(database_url, services, RECORDS_BOUNDS=bounds) as client:
        yield client.application


@pytest.fixture
def messages(app):
    return app.extensions["records"]["messages"]


def fill(app, count, text="x", **values):
    with app.app_context():
        app.extensions["records"]["rooms"].create({"name": "Lobby"})
        app.extensions["records"]["messages"].create(
            [{"text": text, "room_id": 1, **values} for _ in range(count)]
        )


def refusal(answer):
    assert answer.status_code == 400
    return answer.json["message"]


def test_path_that_returns_to_where_it_comes_from_is_refused_by_name(app):
    fill(app, 2)
    client = app.test_client()
    back = client.get("/rooms/1?$populate=messages.room.messages")
    whole = client.get("/messages?$populate=room.messages")
    there = client.get("/rooms/1?$populate=messages.room")

    assert refusal(back).startswith("'messages.room.messages' returns to the records")
    assert refusal(whole).startswith("'room.messages' returns to the records")
    assert there.json["messages"][0]["room"] == {"id": 1, "name": "Lobby"}


def test_records_that_are_populated_count_as_often_as_they_are_written(app):
    fill(app, 1000)
    client = app.test_client()
    patched = client.patch("/rooms/1", json={"name": "x" * 300})
    few = client.get("/messages?$populate=room&$limit=100")
    many = client.get("/messages?$populate=room")

    assert (patched.status_code, few.status_code) == (200, 200)
    assert refusal(many).startswith(TOO_LARGE)


def test_lists_that_are_populated_are_bounded(app):
    fill(app, 200, "x" * 1000)

    assert refusal(app.test_client().get("/rooms?$populate=messages")).startswith(
        TOO_LARGE
    )


def test_find_without_pages_is_bounded_for_clients_alone(app, messages):
    fill(app, 200, "x" * 1000)
    client = app.test_client()

    assert refusal(client.get("/messages")).startswith(TOO_LARGE)
    assert refusal(client.get("/messages?$limit=150")).startswith(TOO_LARGE)
    assert len(client.get("/messages?$limit=40").json) == 40
    assert len(client.get("/messages?$select=id").json) == 200

    with app.app_context():
        assert len(messages.find()) == 200


def test_many_small_records_are_bounded(app):
    fill(app, 5000)

    assert refusal(app.test_client().get("/messages")).startswith(TOO_LARGE)


def test_long_record_is_refused_and_its_short_fields_are_not(app):
    fill(app, 1, "x" * 60_000)
    client = app.test_client()

    assert refusal(client.get("/messages/1")).startswith(TOO_LARGE)
    assert client.get("/messages/1?$select=id").json == {"id": 1}


def test_patch_of_many_counts_its_body_for_each_before_it_writes(app, messages):
    fill(app, 101)
    client = app.test_client()

    with app.app_context():
        engine, written = app.extensions["sqlalchemy"].engine, []
        sa.event.listen(
            engine,
            "before_cursor_execute",
            lambda *args: (
                written.append(args[2]) if args[2].startswith("UPDATE") else None
            ),
        )
        refused = client.patch("/messages?text=x", json={"text": "y" * 1000})
        assert written == []

        patched = client.patch("/messages?id[$lte]=40", json={"text": "y" * 1000})
        assert len(messages.find({"text": "x"})) == 61

    assert refusal(refused).startswith(TOO_LARGE)
    assert len(patched.json) == 40


def test_remove_of_many_that_can_not_be_answered_removes_nothing(app, messages):
    fill(app, 200, "x" * 1000)
    refused = app.test_client().delete("/messages")

    with app.app_context():
        assert len(messages.find()) == 200

    assert refusal(refused).startswith(TOO_LARGE)


def test_calls_of_connections_have_the_same_bound(app):
    fill(app, 1, "x" * 60_000)
    app.config["RECORDS_REALTIME"] = {}
    realtime = Realtime(app.extensions["records"])
    realtime.init_app(app)
    client = realtime.test_client(app)

    with pytest.raises(Exception, match="more than 50000 bytes"):
        client.call("get", "messages", 1)


def test_no_bound_cuts_records_off_silently(app):
    fill(app, 100)
    app.extensions["records_bounds"] = Bounds(answer=100)

    assert refusal(app.test_client().get("/messages")).startswith("The answer has more")
