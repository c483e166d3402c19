"""The event of the example application that tells who is typing."""

from __future__ import annotations

import pytest

from .example import kind
from .example import new_room
from .example import ON_SQLITE
from .example_sockets import connect as connect

pytestmark = ON_SQLITE

TYPING = {"X-Service-Method": "typing"}


def room_of(api, owner):
    return api("POST", "/rooms", new_room(), owner.token)[1]


def test_event_reaches_all_users(api, connect, ann, bob):
    room = room_of(api, ann)
    sockets = [connect(person) for person in (bob, None)]

    sockets[0].result("typing", "messages", {"roomId": room["id"]})

    event = {"roomId": room["id"], "userId": bob.id}
    assert [socket.events() for socket in sockets] == [[["messages typing", event]], []]


def test_anonymous_clients_do_not_type(api, connect, ann):
    room = room_of(api, ann)
    data = {"roomId": room["id"]}

    assert connect().error("typing", "messages", data)[0] == 401
    assert kind(api("POST", "/messages", data, headers=TYPING))[0] == 401


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"roomId": 999_999},
        {"roomId": None},
        {"roomId": []},
        {"roomId": "x"},
        [],
        [{}],
        [1],
        [[]],
    ],
)
def test_room_must_be_named(connect, ann, data):
    code, _ = connect(ann).error("typing", "messages", data)

    assert code in (400, 404)
