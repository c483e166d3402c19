"""Logins of connections that the server checks again."""

from __future__ import annotations

import json
import threading
import time

import pytest

from flask_records import Forbidden, NotAuthenticated, Unavailable

from ...authentication import ANN, bearer, CHEAP, SECRET
from ...polling import Polling
from ...realtime import BOB, live, make_live_records
from ...waiting import wait_until


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def ann(site):
    return site.connect(**bearer(site.token()))


def write(site):
    """Send an event to all connections with a login."""
    with site.app.app_context():
        site.app.extensions["records"]["messages"].create({"text": "Hi"})


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


def test_token_that_can_not_be_checked_is_checked_later(site, records):
    token, is_away = site.token(), [True]

    @records["users"].before("get")
    def fail(method, context):
        if is_away[0]:
            raise Unavailable("The database is away.")

    client = site.connect(**bearer(token))
    assert client.error("find", "secrets")[0] == 503
    is_away[0] = False

    wait_until(lambda: site.connections[0].is_logged_in, 10)


def test_expired_token_ends_events(records, tmp_path):
    login = {"secret": SECRET, "passwords": CHEAP, "lifetime": 1}

    with live(records, tmp_path, login=login) as site:
        token = site.token()
        client = site.connect(**bearer(token))
        [connection] = site.connections
        expires = connection.payload["exp"]
        wait_until(lambda: time.time() >= expires)
        wait_until(lambda: connection.channels == {"anonymous"})
        write(site)

        assert client.events() == [["loggedOut", {"message": "jwt expired"}]]
        assert client.error("find", "secrets") == (401, "jwt expired")


def change_password_without_events(site, token):
    """As :meth:`Service._patch` does, in a hook that revokes by itself."""
    with site.app.app_context():
        records = site.app.extensions["records"]
        records.authentication().revocations.revoke_user(1, 60)


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
    write(site)

    assert client.names() == ["loggedOut"]


def test_login_that_ends_while_it_can_not_be_checked_is_told_later(records, site):
    token, is_away = site.token(), [False]

    @records["users"].before("get")
    def fail(method, context):
        if is_away[0]:
            raise Unavailable("The database is away.")

    client = site.connect(**bearer(token))
    is_away[0] = True
    wait_until(lambda: not site.connections[0].is_logged_in, 10)
    assert client.names() == []
    change_password_without_events(site, token)
    is_away[0] = False

    wait_until(lambda: not site.connections[0].expects_login, 10)
    assert client.events() == [["loggedOut", {"message": "jwt revoked"}]]


@pytest.mark.parametrize("error", [Forbidden, NotAuthenticated, RuntimeError])
def test_user_whom_a_hook_refuses_gets_no_event(records, site, ann, error, caplog):
    @records["users"].after("get")
    def keep_out(method, context):
        if context.result["age"] == 13:
            raise error("Blocked")

    with site.app.app_context():
        records["users"]._patch(1, {"age": 13})

    wait_until(lambda: site.connections[0].channels == {"anonymous"})
    write(site)

    # An error of the server may be over soon.
    told = [] if error is RuntimeError else [["loggedOut", {"message": "Blocked"}]]
    assert ann.events() == told
    assert ann.call("find", "secrets")[0]["code"] >= 400


@pytest.mark.parametrize("end", ["logout", "login"])
def test_check_that_began_before_does_not_undo_what_the_client_did(
    records, site, end, caplog
):
    """A check is running while the client logs out, or in as another user."""
    site.register(BOB)
    client = site.connect(ANN)
    [connection] = site.connections
    site.connect(BOB)
    entered, go, has_checked_others = (threading.Event() for _ in range(3))
    threads = []

    @records["users"].after("get")
    def wait(method, context):
        thread = threading.get_ident()

        if not threads and str(context.id) == "1":
            threads.append(thread)
            entered.set()
            go.wait(5)
        elif threads == [thread]:
            has_checked_others.set()

    assert entered.wait(3)

    if end == "logout":
        client.result("remove", "authentication", None)
    else:
        client.log_in(BOB)

    go.set()
    assert has_checked_others.wait(5)
    email = connection.user and connection.user["email"]

    assert email == (None if end == "logout" else BOB["email"])
