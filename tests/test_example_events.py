"""The events of the example application: they reach those who may see the record."""

from __future__ import annotations

from .example import new_room
from .example import ON_SQLITE
from .example_sockets import connect as connect

pytestmark = ON_SQLITE


def test_events_of_a_private_room_reach_those_who_are_in_it(api, connect, ann, bob):
    people = ann, bob, api.person()
    sockets = [connect(person) for person in people]
    data = {**new_room(), "private": True}
    room = api("POST", "/rooms", data, ann.token)[1]
    member = {"roomId": room["id"], "userId": bob.id}
    api("POST", "/members", member, ann.token)
    message = {"text": "hello", "roomId": room["id"]}
    path = f"/messages/{api('POST', '/messages', message, ann.token)[1]['id']}"
    api("PATCH", path, {"text": "hi"}, ann.token)
    api("DELETE", path, None, ann.token)

    seen = [socket.names() for socket in sockets]

    messages = ["messages created", "messages patched", "messages removed"]
    assert seen == [
        ["members created", "rooms created", "members created", *messages],
        ["members created", *messages],
        [],
    ]


def test_events_of_other_rooms_reach_all(api, connect, ann, bob):
    socket = connect(bob)
    room = api("POST", "/rooms", new_room(), ann.token)[1]
    message = {"text": "hello", "roomId": room["id"]}
    created = api("POST", "/messages", message, ann.token)[1]
    api("DELETE", f"/messages/{created['id']}", None, ann.token)

    assert socket.events() == [
        ["rooms created", room],
        ["messages created", created],
        ["messages removed", created],
    ]


def test_member_who_is_removed_is_told_so_and_nothing_more(api, connect, ann, bob):
    data = {**new_room(), "private": True}
    room = api("POST", "/rooms", data, ann.token)[1]
    data = {"roomId": room["id"], "userId": bob.id}
    member = api("POST", "/members", data, ann.token)[1]
    socket = connect(bob)

    api("DELETE", f"/members/{member['id']}", None, ann.token)
    api("POST", "/messages", {"text": "x", "roomId": room["id"]}, ann.token)
    api("DELETE", f"/rooms/{room['id']}", None, ann.token)

    assert socket.events() == [["members removed", member]]


def test_room_that_becomes_private_is_told_to_nobody_else(api, connect, ann, bob):
    room = api("POST", "/rooms", new_room(), ann.token)[1]
    path, message = f"/rooms/{room['id']}", {"text": "x", "roomId": room["id"]}
    sockets = [connect(person) for person in (ann, bob)]

    api("PATCH", path, {"private": True}, ann.token)
    api("POST", "/messages", message, ann.token)
    api("PATCH", path, {"private": False}, ann.token)

    both = ["rooms patched", "messages created", "rooms patched"]
    assert [socket.names() for socket in sockets] == [both, ["rooms patched"]]
