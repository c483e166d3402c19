"""Messages of the example: what finds give, and what reaches the others."""

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


def test_new_message_is_unread_until_it_is_read(api, ann):
    _, created = api("POST", "/messages", {"text": "hi", "read": True}, ann)
    path = f"/messages/{created['id']}"

    _, patched = api("PATCH", path, {"read": True}, ann)

    assert (created["read"], patched["read"]) == (False, True)
    assert api("GET", path, None, ann) == (200, patched)


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
