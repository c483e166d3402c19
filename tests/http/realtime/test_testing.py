"""The client of connections for tests."""

import pytest

from flask_records import NotAuthenticated
from flask_records.realtime import Realtime

from ...realtime import live, serving


@pytest.fixture
def realtime(records):
    return Realtime(records)


@pytest.fixture
def app(records, realtime):
    with serving(records, realtime=realtime) as http, http.application.app_context():
        yield http.application


def test_client_calls_and_gets_events(app, realtime):
    client, stranger = realtime.test_client(app, user=1), realtime.test_client(app)

    message = client.call("create", "messages", {"text": "Hi"})

    assert client.call("get", "messages", message["id"], {"$select": ["text"]}) == {
        "id": message["id"],
        "text": "Hi",
    }
    assert client.events() == [("messages created", message)]
    assert client.events() == []
    assert stranger.events() == []


def test_wrong_token_refuses_the_client(app, realtime):
    with pytest.raises(NotAuthenticated, match="jwt malformed"):
        realtime.test_client(app, headers={"Authorization": "Bearer x"})

    assert realtime.metrics(app)["connections"] == 0


@pytest.mark.parametrize("by_server", [True, False])
def test_end_of_a_connection(app, realtime, by_server):
    ended = []
    realtime.connections("disconnect")(lambda event, connection: ended.append(event))
    client = realtime.test_client(app, user=1)
    assert client.is_connected

    if by_server:
        realtime.channel("users/1").disconnect("Bye.")
        assert client.events() == [("disconnected", {"message": "Bye."})]
    else:
        client.disconnect()

    assert (client.is_connected, ended) == (False, ["disconnect"])

    with pytest.raises(RuntimeError, match="The connection has ended"):
        client.call("find", "messages")


def test_application_that_is_served_has_no_such_client(records, tmp_path):
    with live(records, tmp_path) as site:
        site.connect()

        with pytest.raises(RuntimeError, match="An ASGI server serves"):
            site.realtime.test_client(site.app)
