"""Logins of connections that the server checks again."""

import json

import pytest
import sqlalchemy as sa
import websocket

from flask_records import Forbidden, NotAuthenticated, Unavailable

from ...authentication import bearer, signed
from ...models import User
from ...polling import Polling
from ...realtime import live, make_live_records, reason_of
from ...waiting import wait_until


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def ann(site):
    return site.connect(**bearer(site.token()))


def refusal_of(site, value, version="4"):
    """The answer of Socket.IO to a handshake with an Authorization header."""
    polling = Polling(site.url, version, headers={"Authorization": value})
    [answer] = polling.get() if version == "3" else polling.connect()
    assert answer.startswith("44"), answer
    return json.loads(answer[2:])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Bearer x", "jwt malformed"),
        ("x.y.z", "invalid token"),
        ("JWT ", "jwt malformed"),
        ("\xff", "jwt malformed"),
    ],
)
def test_bad_token_of_the_handshake_refuses_the_client(site, value, message):
    told = []
    site.realtime.connections()(lambda event, connection: told.append(event))

    refusal = refusal_of(site, value)

    assert refusal["message"] == message
    assert (refusal["data"]["name"], refusal["data"]["code"]) == (
        "NotAuthenticated",
        401,
    )
    assert (told, site.connections) == ([], [])


def test_client_of_socket_io_2_gets_the_error_of_its_token(records, tmp_path):
    with live(records, tmp_path, {"legacy_clients": True}) as site:
        refusal = refusal_of(site, "Bearer x", version="3")

    assert (refusal["name"], refusal["message"]) == (
        "NotAuthenticated",
        "jwt malformed",
    )


@pytest.fixture
def is_away(records):
    """A list that has an item while users can't be loaded."""
    is_away = []

    @records["users"].before("get")
    def fail(method, context):
        if is_away:
            is_away.append(True)
            raise Unavailable("The database is away.")

    return is_away


def test_client_whose_token_can_not_be_checked_connects_again(site, is_away):
    token = site.token()
    is_away.append(True)
    url = f"{site.url.replace('http', 'ws', 1)}/socket.io/?EIO=4&transport=websocket"
    socket = websocket.create_connection(url, timeout=30, header=bearer(token))
    socket.recv()
    socket.send("40")
    opcode, data = socket.recv_data()
    socket.shutdown()
    is_away.clear()

    client = site.connect(**bearer(token))

    assert (opcode, data[:2]) == (8, b"\x03\xf5")
    assert client.result("find", "secrets")["user"]["id"] == 1


def test_expired_token_ends_events(site, ann):
    [connection] = site.connections
    claims = {**connection.payload, "exp": 1}
    connection.authentication = {"strategy": "jwt", "accessToken": signed(**claims)}
    connection.expires_at = 1
    wait_until(lambda: connection.channels == {"anonymous"})
    site.write()

    assert ann.events() == [["loggedOut", {"message": "jwt expired"}]]
    assert ann.error("find", "secrets") == (401, "jwt expired")


def change_password_without_events(site, token):
    with site.app.app_context():
        session = site.app.extensions["sqlalchemy"].session
        session.execute(sa.update(User).values(password=None))
        session.commit()


def remove_user_without_events(site, token):
    with site.app.app_context():
        site.app.extensions["records"]["users"]._remove(1)


@pytest.mark.parametrize(
    "end", [change_password_without_events, remove_user_without_events]
)
def test_login_that_is_ended_silently_gets_no_event(site, end):
    token = site.token()
    client = site.connect(**bearer(token))
    end(site, token)
    wait_until(lambda: site.connections[0].channels == {"anonymous"})
    site.write()

    assert client.names() == ["loggedOut"]


def test_login_is_kept_while_it_can_not_be_checked(site, is_away):
    token = site.token()
    client = site.connect(**bearer(token))
    is_away.append(True)
    wait_until(lambda: len(is_away) > 1)
    site.write()
    names = client.names()
    change_password_without_events(site, token)
    is_away.clear()
    wait_until(lambda: not site.connections[0].is_logged_in)

    assert names == ["messages created"]
    assert client.events() == [["loggedOut", {"message": "jwt revoked"}]]


@pytest.mark.parametrize("error", [Forbidden, NotAuthenticated])
def test_user_whom_a_hook_refuses_gets_no_event(records, site, ann, error):
    @records["users"].after("get")
    def keep_out(method, context):
        if context.result["age"] == 13:
            raise error("Blocked")

    with site.app.app_context():
        records["users"]._patch(1, {"age": 13})

    wait_until(lambda: site.connections[0].channels == {"anonymous"})
    site.write()

    assert ann.events() == [["loggedOut", {"message": "Blocked"}]]
    assert ann.call("find", "secrets")[0]["code"] >= 400


def test_connection_ends_if_its_check_fails(records, site, ann, caplog):
    @records["users"].after("get")
    def fail(method, context):
        raise RuntimeError

    assert reason_of(ann) == (1013, "Events are lost. Connect again, and load anew.")
