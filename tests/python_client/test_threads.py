"""The client for threads, over HTTP against the example."""

from __future__ import annotations

import datetime as dt

import httpx
import pytest

from tests.example import new_room


def test_record_goes_through_all_methods(client):
    room = client.rooms.create(new_room())

    message = client.messages.create({"text": "Hi / & ?", "roomId": room["id"]})
    id = message["id"]

    assert client.messages.get(id) == message
    assert client.messages.get(id, {"$select": ["text"]}) == {
        "id": id,
        "text": "Hi / & ?",
    }
    assert client.messages.patch(id, {"read": True})["read"] is True
    assert client.messages.update(id, {"text": "Bye"})["roomId"] is None
    assert client.messages.remove(id)["text"] == "Bye"


def test_times_are_those_of_python(client):
    message = client.messages.create({"text": "Now"})
    made_at = message["createdAt"]

    page = client.messages.find({"createdAt": made_at, "id": message["id"]})

    assert dt.datetime.now(dt.UTC) - made_at < dt.timedelta(minutes=1)
    assert page.data == [message]


def test_find_returns_a_page_and_all_goes_through_pages(made, client):
    room = client.rooms.create(new_room())["id"]
    data = [{"text": str(number), "roomId": room} for number in range(7)]
    client.messages.create_many(data)
    query = {"roomId": room, "$sort": {"id": 1}, "$limit": 3}

    page = client.messages.find(query)
    texts = [each["text"] for each in client.messages.all(query)]

    assert page == made.Page(7, 3, 0, page.data)
    assert [each["text"] for each in page.data] == ["0", "1", "2"]
    assert texts == ["0", "1", "2", "3", "4", "5", "6"]


def test_many_are_written_by_a_query(client):
    room = client.rooms.create(new_room())["id"]
    client.messages.create_many([{"text": text, "roomId": room} for text in "ab"])

    changed = client.messages.patch_many({"read": True}, {"roomId": room, "text": "a"})
    removed = client.messages.remove_many({"roomId": room})

    assert [each["text"] for each in changed] == ["a"]
    assert len(removed) == 2


@pytest.mark.parametrize("query", [{"id": {"$in": []}}, {"$or": []}, {"id": {}}])
def test_query_that_a_query_string_would_lose_is_refused(client, query):
    with pytest.raises(ValueError, match="is empty, which a query string can't say"):
        client.messages.remove_many(query)


@pytest.mark.parametrize("id", [None, ""])
def test_missing_identifier_is_refused(client, id):
    with pytest.raises(ValueError, match="The identifier of a record is missing"):
        client.messages.remove(id, {"read": True})


def test_custom_methods_are_called(client):
    room = client.rooms.create(new_room())["id"]

    assert client.messages.typing({"roomId": room})["roomId"] == room


def test_errors_are_of_the_class_that_the_server_names(made, client):
    with pytest.raises(made.NotFound, match="No record found for id '0'") as missing:
        client.messages.get(0)

    with pytest.raises(made.BadRequest) as refused:
        client.messages.create({"texd": "Hi"})

    assert missing.value.code == 404
    assert {*refused.value.errors} == {"texd", "text"}


def test_login_has_the_user(client, made, url, credentials):
    with made.Client(url) as other:
        login = other.log_in("local", **credentials)

    assert login["user"]["email"] == credentials["email"]
    assert isinstance(login["user"]["createdAt"], dt.datetime)


def test_wrong_password_is_an_error(made, url, credentials):
    with made.Client(url) as client, pytest.raises(made.NotAuthenticated):
        client.log_in("local", email=credentials["email"], password="wrong")


def test_token_of_another_login_is_taken(made, url, client):
    with made.Client(url, token=client.token) as other:
        assert other.users.find({"$limit": 0}).data == []


def test_logout_revokes_the_token(made, client):
    token = client.token

    client.log_out()
    client.log_out()

    assert client.token is None
    client.token = token

    with pytest.raises(made.NotAuthenticated):
        client.users.find()


def test_token_that_is_not_valid_any_more_is_renewed(made, url, client):
    token = client.token

    with made.Client(url, token=token) as other:
        other.log_out()

    assert client.users.find({"$limit": 0}).total > 0
    assert client.token not in (None, token)


def test_login_without_credentials_can_not_be_renewed(made, url):
    with made.Client(url, token="x.y.z") as client:
        with pytest.raises(made.NotAuthenticated, match="call 'log_in'"):
            client.renew()

        with pytest.raises(made.NotAuthenticated):
            client.users.find()


def test_requests_may_go_through_a_client_of_the_program(made, example):
    transport = httpx.WSGITransport(app=example.app)

    with httpx.Client(transport=transport) as http:
        client = made.Client("http://example.com", http=http)

        with pytest.raises(made.NotAuthenticated):
            client.messages.find()
