"""Logins of connections, and when they end."""

import pytest

from flask_records import NotAuthenticated, Unavailable

from ...authentication import ANN, bearer
from ...realtime import BOB


@pytest.fixture
def ann(site):
    return site.connect(**bearer(site.token()))


def test_token_of_the_handshake_makes_the_calls_and_gets_events(site, ann):
    site.write()

    assert ann.result("find", "secrets")["user"]["email"] == ANN["email"]
    assert ann.names() == ["messages created"]


@pytest.mark.parametrize("value", ["Basic eDp5", ""])
def test_handshake_without_a_token_has_no_login(site, value):
    client = site.connect(Authorization=value)
    site.write()

    assert client.error("find", "secrets") == (401, "Not authenticated")
    assert client.names() == []


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
    site.write()

    assert client.names() == ["messages created"]


def test_failed_login_leaves_the_one_before(site, ann):
    wrong = {"strategy": "local", **ANN, "password": "x"}

    assert ann.error("create", "authentication", wrong) == (401, "Invalid login")
    site.write()
    assert ann.names() == ["messages created"]


def test_second_login_replaces_the_first(site, ann):
    site.register(BOB)
    ann.log_in(BOB)
    [connection] = site.connections

    assert ann.result("find", "secrets")["user"]["email"] == BOB["email"]
    assert connection.user["email"] == BOB["email"]


def test_logout_over_the_socket_ends_calls_and_events(site, ann):
    ann.result("remove", "authentication", None)
    site.write()

    assert ann.names() == []
    assert ann.error("find", "secrets") == (401, "Not authenticated")
    assert ann.error("remove", "authentication", None)[0] == 401


def test_logout_with_another_token_is_refused(site, ann):
    error = ann.error("remove", "authentication", site.token())
    site.write()

    assert error == (401, "Invalid access token")
    assert ann.names() == ["messages created"]


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


def remove_user(site, token):
    site.http.delete("/users/1", headers=bearer(token))


def remove_all_users(site, token):
    with site.app.app_context():
        site.app.extensions["records"]["users"].remove(None)


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
    site.write()
    assert client.names() == ["messages created"]

    end(site, token)
    assert client.names()[-1] == "loggedOut"
    site.write()

    assert client.names() == []
    assert client.error("find", "secrets")[0] == 401


def test_other_logins_of_the_user_stay_after_a_logout(site, ann):
    other = site.token()

    log_out_over_http(site, other)
    site.write()

    assert ann.names() == ["messages created"]


def test_login_that_is_replaced_during_its_check_stays(records, site, ann):
    site.register(BOB)
    others = [{"strategy": "jwt", "accessToken": site.token(BOB)}]
    [connection] = site.connections

    @records["users"].after("get")
    def log_in_as_bob(method, context):
        if others:
            connection.authentication = others.pop()
            raise NotAuthenticated("Blocked")

    with site.app.app_context():
        records["users"].patch(1, {"age": 13})

    assert ann.result("find", "secrets")["user"]["email"] == BOB["email"]
    assert "loggedOut" not in ann.names()


def test_connection_whose_login_can_not_be_checked_ends(records, site, ann):
    @records["users"].after("get")
    def fail(method, context):
        raise RuntimeError

    with site.app.app_context():
        records["users"].patch(1, {"age": 13})

    assert not ann.is_connected


def test_routine_check_keeps_logins_during_an_outage(records, site, ann):
    @records["users"].after("get")
    def fail(method, context):
        raise Unavailable("Try again.")

    with site.app.app_context():
        site.app.extensions["records_realtime"].logins._check_some()

    assert ann.is_connected
