"""The rooms of the example application, and the messages in them."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from .example import new_room
from .example import ON_SQLITE


@pytest.fixture
def room(api, ann):
    """A room of Ann."""
    return api("POST", "/rooms", new_room(), ann.token)[1]


def write(api, person, room, text="hello"):
    return api("POST", "/messages", {"text": text, "roomId": room["id"]}, person.token)


@ON_SQLITE
@pytest.mark.parametrize("id", ["x", [1], {"$ne": 0}, True, 2**31 - 1, -1])
def test_room_has_to_be_there(api, ann, id):
    answer = api("POST", "/messages", {"text": "x", "roomId": id}, ann.token)

    assert answer[0] in (400, 409)
    assert list(answer[1]["errors"]) == ["roomId"]


def test_message_needs_no_room(api, ann):
    status, message = api("POST", "/messages", {"text": "x"}, ann.token)

    assert (status, message["roomId"]) == (201, None)


def test_room_goes_with_its_messages(example, api, ann, room):
    write(api, ann, room)

    status, _ = api("DELETE", f"/rooms/{room['id']}", None, ann.token)

    with example.app.app_context():
        of_room = sa.select(example.Message).where(example.Message.roomId == room["id"])
        assert example.db.session.scalars(of_room).all() == []

    assert status == 200


@ON_SQLITE
@pytest.mark.parametrize("field", ["createdAt", "id"])
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_client_does_not_write_what_the_server_says_of_a_message(
    api, ann, room, verb, field
):
    message = None if verb == "POST" else write(api, ann, room)[1]
    path = f"/messages/{message['id']}" if message else "/messages"
    value = {"createdAt": "9999-12-31T00:00:00Z", "id": 2**31 - 1}
    data = {"text": "x", "roomId": room["id"], field: value[field]}

    status, body = api(verb, path, data, ann.token)

    # An identifier in the body of a change is ignored, as everywhere.
    if message and field == "id":
        assert (status, body[field]) == (200, message[field])
    else:
        assert (status, body["errors"]) == (400, {field: "is read-only"})


@pytest.mark.parametrize("field", ["id", "createdAt"])
def test_messages_keep_their_time_and_place(api, ann, room, field):
    message = write(api, ann, room)[1]
    path = f"/messages/{message['id']}"

    answers = [
        api("PATCH", path, {"text": "a"}, ann.token)[1],
        api("PUT", path, {"text": "b"}, ann.token)[1],
    ]

    assert [answer[field] for answer in answers] == [message[field]] * 2
