"""Messages of the example: what finds give, and what reaches the others."""

from __future__ import annotations

import pytest

from ...authentication import bearer


@pytest.fixture
def room(api, ann):
    return api("POST", "/rooms", {"name": "Lobby"}, ann)[1]


@pytest.fixture
def written(api, ann, room):
    """Sixty messages in a room."""
    texts = [f"{number} Tomorrow" for number in range(60)]
    data = [{"text": text, "roomId": room["id"]} for text in texts]
    return api("POST", "/messages", data, ann)[1]


@pytest.mark.parametrize(("limit", "size"), [("", 10), ("&$limit=1000", 50)])
def test_page_has_a_default_and_a_maximal_size(api, ann, room, written, limit, size):
    _, page = api("GET", f"/messages?roomId={room['id']}{limit}", None, ann)

    assert (page["total"], len(page["data"])) == (60, size)


def test_find_searches_sorts_selects_and_populates(api, ann, room, written):
    query = "text[$search]=9 toMORROW&$sort[id]=-1&$limit=2&$select[]=text"
    path = f"/messages?roomId={room['id']}&{query}&$populate[]=user&$populate[]=room"

    _, page = api("GET", path, None, ann)

    _, user = api("GET", ann.path, None, ann)
    assert page == {
        "total": 6,
        "limit": 2,
        "skip": 0,
        "data": [
            {"id": message["id"], "text": message["text"], "user": user, "room": room}
            for message in (written[59], written[49])
        ],
    }


def test_new_message_is_unread_until_it_is_read(api, ann):
    _, created = api("POST", "/messages", {"text": "hi", "read": True}, ann)
    path = f"/messages/{created['id']}"

    _, patched = api("PATCH", path, {"read": True}, ann)

    assert (created["read"], patched["read"]) == (False, True)
    assert api("GET", path, None, ann) == (200, patched)


def test_message_of_an_unknown_room_is_refused(api, ann):
    status, body = api("POST", "/messages", {"text": "hi", "roomId": 99999}, ann)

    problem = "refers to a record that is not there"
    assert (status, body["errors"]) == (409, {"roomId": problem})


def test_room_is_removed_with_its_messages(api, ann, room, written):
    status, removed = api("DELETE", f"/rooms/{room['id']}", None, ann)

    _, page = api("GET", f"/messages?roomId={room['id']}", None, ann)
    assert (status, removed, page["total"]) == (200, room, 0)


def test_events_reach_users_who_are_logged_in(example, ann, bob):
    app = example.create_app()
    http = app.test_client()
    headers = bearer(ann.token)
    visitor = example.realtime.test_client(app)
    listener = example.realtime.test_client(app, headers=bearer(bob.token))

    room = http.post("/rooms", json={"name": "Hall"}, headers=headers).json
    message = {"text": "hello", "roomId": room["id"]}
    created = http.post("/messages", json=message, headers=headers).json
    http.delete(f"/messages/{created['id']}", headers=headers)

    assert visitor.events() == []
    assert listener.events() == [
        ("rooms created", room),
        ("messages created", created),
        ("messages removed", created),
    ]

    with app.app_context():
        example.db.session.remove()
        example.db.engine.dispose()
