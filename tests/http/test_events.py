from __future__ import annotations

import logging

import pytest

from flask_records import Params, SQLAlchemyService

from ..models import User


@pytest.fixture
def sent(messages):
    """The events of the messages, with their texts."""
    events = []

    @messages.events()
    def remember(event, record, context):
        events.append((event, record["text"]))

    return events


def test_name_of_the_event_of_each_method(app_context, messages, sent):
    id = messages.create({"text": "a"})["id"]
    messages.update(id, {"text": "b"})
    messages.patch(id, {"text": "c"})
    messages.get(id)
    messages.find()
    messages.remove(id)

    assert sent == [
        ("created", "a"),
        ("updated", "b"),
        ("patched", "c"),
        ("removed", "c"),
    ]


def test_calls_on_many_send_one_event_a_record(app_context, messages, sent):
    messages.create([{"text": "a"}, {"text": "b"}])
    messages.patch(None, {"rank": 1}, Params({"$sort": {"id": "-1"}}))
    messages.remove(None)

    assert sent[:2] == [("created", "a"), ("created", "b")]
    assert sorted(sent[2:4]) == [("patched", "a"), ("patched", "b")]
    assert sorted(sent[4:]) == [("removed", "a"), ("removed", "b")]


def test_calls_that_fail_send_no_event(client, sent):
    client.post("/messages", json=[{"text": "a"}, {"txt": "b"}])
    client.patch("/messages/9", json={"text": "b"})

    assert sent == []


def test_event_has_the_body_of_the_answer(client, messages):
    events = []
    messages.events()(lambda event, record, context: events.append(record))

    answer = client.post("/messages?$select=rank", json={"text": "a", "rank": 3}).json

    assert events == [answer] == [{"id": 1, "rank": 3}]


def test_event_has_what_the_client_is_sent(client, messages):
    events = []
    messages.events()(lambda event, record, context: events.append(record))

    @messages.after("create")
    def shorten(method, context):
        context.dispatch = {"id": context.result["id"]}

    client.post("/messages", json={"text": "a"})

    assert events == [{"id": 1}]


def test_receiver_is_connected_to_one_event(client, messages):
    seen = []
    messages.events("removed")(lambda event, record, context: seen.append(event))

    client.post("/messages", json={"text": "a"})
    client.delete("/messages/1")

    assert seen == ["removed"]


def test_event_is_sent_after_the_commit(client, db, messages):
    seen = []

    @messages.events("created")
    def look(event, record, context):
        db.session.rollback()
        seen.append(messages.get(record["id"])["text"])

    client.post("/messages", json={"text": "a"})

    assert seen == ["a"]


@pytest.fixture
def events_of_users(users):
    events = []
    users.events()(lambda event, record, context: events.append(record))
    return events


def test_hidden_fields_are_in_no_event_of_the_application(
    app_context, users, events_of_users
):
    user = users.create({"email": "a@b", "password": "secret"})

    assert user["password"] == "secret"
    assert events_of_users == [{"id": 1, "email": "a@b", "age": None}]


def test_hidden_fields_that_a_hook_dispatches_are_in_no_event(
    app_context, users, events_of_users
):
    @users.after("create")
    def shorten(method, context):
        context.dispatch = {"id": 1, "password": context.result["password"]}

    users.create({"email": "a@b", "password": "secret"})

    assert events_of_users == [{"id": 1}]


def test_hidden_fields_are_in_no_custom_event(records, app_context):
    service = records.add(
        "people",
        SQLAlchemyService(User, hidden=["password"], events=["welcomed"]),
        public=True,
    )
    events = []
    service.events("welcomed")(lambda event, record, context: events.append(record))
    user = service.create({"email": "a@b", "password": "secret"})

    service.emit("welcomed", user)

    assert events == [{"id": 1, "email": "a@b", "age": None}]


def test_receiver_that_raises_is_logged_and_undoes_nothing(client, messages, caplog):
    seen = []

    @messages.events()
    def fail(event, record, context):
        raise LookupError("The mail server is down.")

    messages.events()(lambda event, record, context: seen.append(event))

    with caplog.at_level(logging.ERROR):
        response = client.post("/messages", json={"text": "a"})

    assert response.status_code == 201
    assert client.get("/messages").json["total"] == 1
    assert seen == ["created"]
    assert caplog.messages == ["A receiver of 'messages created' failed."]
    assert caplog.records[0].exc_info[0] is LookupError


def test_receiver_calls_a_service(client, rooms, messages):
    @rooms.events("created")
    def welcome(event, record, context):
        messages.create({"text": f"Welcome to {record['name']}"})

    client.post("/rooms", json={"name": "Lobby"})

    assert client.get("/messages/1").json["text"] == "Welcome to Lobby"


def test_extension_has_the_events_of_all_services(client, records):
    seen = []

    @records.events("created")
    def remember(event, record, context):
        seen.append((context.path, record["id"]))

    client.post("/rooms", json={"name": "Lobby"})
    client.post("/messages", json={"text": "a"})

    assert seen == [("rooms", 1), ("messages", 1)]
