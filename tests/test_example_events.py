"""The events of the example application: they reach those who may see the record."""

from __future__ import annotations

from .example import new_room
from .example import ON_SQLITE
from .example_sockets import connect as connect

pytestmark = ON_SQLITE


def test_events_reach_all_users(api, connect, ann, bob):
    socket, stranger = connect(bob), connect()
    room = api("POST", "/rooms", new_room(), ann.token)[1]
    message = {"text": "hello", "roomId": room["id"]}
    created = api("POST", "/messages", message, ann.token)[1]
    api("DELETE", f"/messages/{created['id']}", None, ann.token)

    assert stranger.events() == []
    assert socket.events() == [
        ["rooms created", room],
        ["messages created", created],
        ["messages removed", created],
    ]
