"""Logins of connections, and when they end."""

from __future__ import annotations

import json
import threading
import time

import pytest

from flask_records import Forbidden
from flask_records import NotAuthenticated
from flask_records import Unavailable

from ...authentication import ANN
from ...authentication import bearer
from ...authentication import CHEAP
from ...authentication import SECRET
from ...polling import Polling
from ...realtime import BOB
from ...realtime import live
from ...realtime import make_live_records
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


def test_token_of_the_handshake_makes_the_calls_and_gets_events(site, ann):
    write(site)

    assert ann.result("find", "secrets")["user"]["email"] == ANN["email"]
    assert ann.names() == ["messages created"]


@pytest.mark.parametrize("value", ["Basic eDp5", "", "   "])
def test_handshake_without_a_token_has_no_login(site, value):
    client = site.connect(Authorization=value)
    write(site)

    assert client.error("find", "secrets") == (401, "Not authenticated")
    assert client.names() == []


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


def test_token_of_a_user_who_is_gone_refuses_the_client(site):
    token = site.token()

    with site.app.app_context():
        site.records["users"].remove(1)

    assert refusal_of(site, f"Bearer {token}")["data"]["code"] == 401


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


def test_login_over_the_socket_answers_as_over_http(site):
    client = site.connect()

    result = client.log_in()

    assert sorted(result) == ["accessToken", "authentication", "user"]
    assert result["user"] == {"id": 1, "email": ANN["email"], "age": None}
    assert client.result("find", "secrets")["user"] == result["user"]


def test_token_can_log_a_connection_in(site):
    client = site.connect()
    sent = {"strategy": "jwt", "accessToken": site.token()}

    client.result("create", "authentication", sent)
    write(site)

    assert client.names() == ["messages created"]


def test_login_counts_for_its_own_connection(site, ann):
    other = site.connect()

    assert other.error("find", "secrets") == (401, "Not authenticated")


def test_failed_login_leaves_the_one_before(site, ann):
    wrong = {"strategy": "local", **ANN, "password": "x"}

    assert ann.error("create", "authentication", wrong) == (401, "Invalid login")
    write(site)
    assert ann.names() == ["messages created"]


def test_second_login_replaces_the_first(site, ann):
    site.register(BOB)
    ann.log_in(BOB)
    [connection] = site.connections

    assert ann.result("find", "secrets")["user"]["email"] == BOB["email"]
    assert connection.user["email"] == BOB["email"]


def test_logout_over_the_socket_ends_calls_and_events(site, ann):
    ann.result("remove", "authentication", None)
    write(site)

    assert ann.names() == []
    assert ann.error("find", "secrets") == (401, "Not authenticated")
    assert ann.error("remove", "authentication", None)[0] == 401


def test_logout_with_another_token_is_refused(site, ann):
    error = ann.error("remove", "authentication", site.token())
    write(site)

    assert error == (401, "Invalid access token")
    assert ann.names() == ["messages created"]


def test_connection_that_is_made_again_is_not_logged_in(site, ann):
    ann.log_in()
    ann.socket.close()

    assert site.connect().error("find", "secrets")[0] == 401


def test_expired_token_ends_events_within_a_second(records, tmp_path):
    login = {"secret": SECRET, "passwords": CHEAP, "lifetime": 2}

    with live(records, tmp_path, login=login) as site:
        token = site.token()
        client = site.connect(**bearer(token))
        [connection] = site.connections
        expires = connection.payload["exp"]
        wait_until(lambda: time.time() >= expires)
        took = wait_until(lambda: connection.channels == {"anonymous"})
        write(site)

        assert took < 1
        assert client.events() == [["loggedOut", {"message": "jwt expired"}]]
        assert client.error("find", "secrets") == (401, "jwt expired")


def log_out_over_http(site, token):
    site.http.delete("/authentication", headers=bearer(token))


def log_out_elsewhere(site, token):
    site.connect(**bearer(token)).result("remove", "authentication", None)


def change_password(site, token):
    body = {"password": "another password"}
    site.http.patch("/users/1", json=body, headers=bearer(token))


def change_password_in_python(site, token):
    with site.app.app_context():
        site.app.extensions["records"]["users"].patch(1, {"password": "another one"})


def change_all_passwords(site, token):
    with site.app.app_context():
        site.app.extensions["records"]["users"].patch(None, {"password": "another one"})


def change_password_without_events(site, token):
    """As :meth:`Service._patch` does, in a hook that revokes by itself."""
    with site.app.app_context():
        records = site.app.extensions["records"]
        records.authentication().revocations.revoke_user(1, 60)


def remove_user(site, token):
    site.http.delete("/users/1", headers=bearer(token))


def remove_all_users(site, token):
    with site.app.app_context():
        site.app.extensions["records"]["users"].remove(None)


def remove_user_without_events(site, token):
    with site.app.app_context():
        site.app.extensions["records"]["users"]._remove(1)


AT_ONCE = [
    log_out_over_http,
    log_out_elsewhere,
    change_password,
    change_password_in_python,
    change_all_passwords,
    remove_user,
    remove_all_users,
]


@pytest.mark.parametrize("end", AT_ONCE)
def test_login_that_is_ended_elsewhere_gets_no_event_from_then_on(site, end):
    token = site.token()
    client = site.connect(**bearer(token))
    write(site)
    assert client.names() == ["messages created"]

    end(site, token)
    assert client.names()[-1] == "loggedOut"
    write(site)

    assert client.names() == []
    assert client.error("find", "secrets")[0] == 401


@pytest.mark.parametrize(
    "end", [change_password_without_events, remove_user_without_events]
)
def test_login_that_is_ended_silently_gets_no_event_after_a_second(site, end):
    token = site.token()
    client = site.connect(**bearer(token))
    end(site, token)
    took = wait_until(lambda: site.connections[0].channels == {"anonymous"})
    write(site)

    assert took < 1.1
    assert client.names() == ["loggedOut"]


def test_client_that_logs_in_again_is_told_of_each_end(site):
    tokens = [site.token(), site.token()]
    client = site.connect()

    for token in tokens:
        sent = {"strategy": "jwt", "accessToken": token}
        client.result("create", "authentication", sent)
        log_out_over_http(site, token)

        assert client.events() == [["loggedOut", {"message": "jwt revoked"}]]


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


def test_other_logins_of_the_user_stay_after_a_logout(site, ann):
    other = site.token()

    log_out_over_http(site, other)
    write(site)

    assert ann.names() == ["messages created"]


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


@pytest.mark.parametrize("error", [Forbidden, RuntimeError])
def test_refused_user_does_not_fail_the_call_that_caused_it(
    records, site, ann, error, caplog
):
    @records["users"].after("get")
    def keep_out(method, context):
        if context.result["age"] == 13:
            raise error("Blocked")

    with site.app.app_context():
        patched = records["users"].patch(1, {"age": 13})

    write(site)

    assert patched["age"] == 13
    assert ann.names() == ([] if error is RuntimeError else ["loggedOut"])


def test_user_whom_a_hook_refuses_can_connect_without_a_login(records, site, caplog):
    token = site.token()
    records["users"].after("get")(lambda method, context: 1 / 0)

    client = site.connect(**bearer(token))

    assert client.error("find", "echo")[0] == 500


def test_login_counts_again_after_it_could_not_be_checked(records, site, ann):
    is_down = True

    @records["users"].before("get")
    def check(method, context):
        if is_down:
            raise Unavailable("Try again.")

    [connection] = site.connections
    wait_until(lambda: not connection.is_logged_in)
    write(site)
    while_down = ann.names()
    is_down = False
    wait_until(lambda: connection.is_logged_in)
    write(site)

    assert while_down == []
    assert ann.names() == ["messages created"]


def test_login_that_can_not_be_checked_does_not_keep_that_of_others(
    records, site, ann, caplog
):
    bob = site.register(BOB)
    other = site.connect(**bearer(site.token(BOB)))
    connection = site.connections[1]

    @records["users"].after("get")
    def fail(method, context):
        if context.result["id"] == 1:
            raise RuntimeError("Not now")

    with site.app.app_context():
        records["users"]._remove(bob["id"])

    wait_until(lambda: not connection.is_logged_in)
    write(site)

    assert other.names() == ["loggedOut"]


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


def test_user_is_loaded_again_after_a_change(records, site, ann):
    with site.app.app_context():
        records["users"].patch(1, {"age": 18})

    site.settle()

    assert site.connections[0].user["age"] == 18


def test_change_of_a_user_without_events_is_noticed_within_a_second(records, site, ann):
    with site.app.app_context():
        records["users"]._patch(1, {"age": 18})

    assert wait_until(lambda: site.connections[0].user["age"] == 18) < 1.1
