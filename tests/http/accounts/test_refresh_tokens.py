"""Logins that are renewed."""

import logging
import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from werkzeug.datastructures import Headers

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    Forbidden,
    NotAuthenticated,
    Params,
    TableTokens,
)
from flask_records.openapi import document
from tests.authentication import bearer, SECRET, signed
from tests.http.accounts.people import (
    clock,
    everywhere,
    in_sqlite,
    is_valid,
    log_in,
    make_records,
    register,
    renew,
    served,
    Token,
)
from tests.http.authentication.authenticated import refused

MONTH = 30 * 24 * 60 * 60

INVALID = refused("The refresh token is not valid. Log in again.")


@everywhere
def test_refresh_token_renews_a_login(client, ann):
    login = log_in(client)

    with clock(60):
        response = renew(client, login["refreshToken"])

    renewed = response.json
    payload = renewed["authentication"]["payload"]
    assert (response.status_code, renewed["user"]["id"]) == (201, ann)
    assert response.headers["Cache-Control"] == "no-store"
    assert is_valid(client, renewed["accessToken"])
    assert renewed["refreshToken"] != login["refreshToken"]
    assert payload["exp"] - payload["iat"] == 15 * 60
    assert payload["sid"] == login["authentication"]["payload"]["sid"]
    assert renewed["authentication"]["strategy"] == "refresh"


@everywhere
def test_refresh_token_that_is_used_later_again_ends_its_session(client, ann):
    first, other = log_in(client), log_in(client)
    second = renew(client, first["refreshToken"]).json

    with clock(31):
        responses = [
            renew(client, token)
            for token in (first["refreshToken"], second["refreshToken"])
        ]

    assert [response.json for response in responses] == [INVALID] * 2
    tokens = (first["accessToken"], second["accessToken"], other["accessToken"])
    assert [is_valid(client, token) for token in tokens] == [False, False, True]
    assert renew(client, other["refreshToken"]).status_code == 201


@everywhere
def test_refresh_token_of_two_renewals_ago_ends_its_session(client, ann):
    """A thief who renews twice at once does not get rid of the user."""
    first = log_in(client)
    stolen = renew(client, first["refreshToken"]).json
    stolen = renew(client, stolen["refreshToken"]).json

    assert renew(client, first["refreshToken"]).json == INVALID
    assert renew(client, stolen["refreshToken"]).json == INVALID
    assert not is_valid(client, stolen["accessToken"])


@everywhere
def test_tabs_that_renew_one_after_the_other_stay_logged_in(client, ann):
    token = log_in(client)["refreshToken"]

    first, second = renew(client, token), renew(client, token)

    assert (first.status_code, second.status_code) == (201, 201)
    assert is_valid(client, second.json["accessToken"])

    for each in (first, second, first):
        assert renew(client, each.json["refreshToken"]).status_code == 201


@everywhere
def test_of_twenty_renewals_at_once_all_get_a_token(app, client, ann):
    token = log_in(client)["refreshToken"]

    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda _: renew(app.test_client(), token), range(20)))

    assert [response.status_code for response in done] == [201] * 20

    for response in done:
        assert renew(client, response.json["refreshToken"]).status_code == 201


@everywhere
@pytest.mark.parametrize("seconds", [0, 60])
def test_nobody_ends_a_session_whose_name_they_know(client, ann, seconds):
    login = log_in(client)
    renewed = renew(client, login["refreshToken"]).json
    sid = login["authentication"]["payload"]["sid"]
    guesses = sid, other_secret(login["refreshToken"]), signed(sid=sid)

    with clock(seconds):
        for guess in guesses:
            assert renew(client, guess).json == INVALID
            assert client.delete(f"/authentication/{guess}").status_code == 401

    assert is_valid(client, renewed["accessToken"])
    assert renew(client, renewed["refreshToken"]).status_code == 201


@everywhere
def test_refresh_token_is_for_the_service_that_has_issued_it(
    app, client, ann, records, store
):
    token = log_in(client)["refreshToken"]
    login = {"strategy": "refresh", "refreshToken": token}

    refused = client.post("/staff-login", json=login)

    assert (refused.status_code, refused.json) == (401, INVALID)
    assert renew(client, token).status_code == 201


def other_secret(token):
    return f"{token.rpartition('.')[0]}.{secrets.token_urlsafe(32)}"


@in_sqlite
@pytest.mark.parametrize(
    "guess",
    [
        other_secret,
        str.upper,
        lambda token: secrets.token_hex(16) + token[32:],
        lambda token: token + "x",
        lambda token: "\0",
        lambda token: {"$ne": None},
        lambda token: None,
        lambda token: "é" * 10_000,
        # Tokens of another server.
        *(
            lambda token, claims=claims: signed(
                aud="https://yourdomain.com refresh", **claims
            )
            for claims in ({}, {"sid": ["x"]}, {"sid": "x"})
        ),
    ],
)
def test_guessed_refresh_token_is_refused(client, ann, guess):
    response = renew(client, guess(log_in(client)["refreshToken"]))

    assert (response.status_code, response.json) == (401, INVALID)


@everywhere
def test_refresh_token_expires_some_time_after_its_last_use(client, ann):
    token = log_in(client)["refreshToken"]

    with clock(MONTH - 10):
        token = renew(client, token).json["refreshToken"]

    with clock(2 * MONTH - 20):
        token = renew(client, token).json["refreshToken"]

    with clock(3 * MONTH - 10):
        assert renew(client, token).json == INVALID


@everywhere
def test_change_of_the_password_ends_all_refresh_tokens(client, ann, ben):
    tokens = [log_in(client)["refreshToken"] for _ in range(2)]
    other, login = log_in(client, "ben")["refreshToken"], log_in(client)

    client.patch(
        f"/users/{ann}",
        json={"password": "another horse"},
        headers=bearer(login["accessToken"]),
    )

    assert [renew(client, token).json for token in tokens] == [INVALID] * 2
    assert renew(client, other).status_code == 201


@in_sqlite
def test_session_that_does_not_depend_on_the_password_is_refused(
    app, client, ann, store
):
    """As the sessions of version 0.1.0, which have a digest in its place."""
    login = log_in(client)

    with app.app_context():
        sid = login["authentication"]["payload"]["sid"]
        assert store.replace(sid, "1", state="f" * 32)

    assert renew(client, login["refreshToken"]).json == INVALID


ENDS = {
    "the expired access token": lambda client, login: client.delete(
        "/authentication", headers=bearer(login["accessToken"])
    ),
    "the refresh token": lambda client, login: client.delete(
        f"/authentication/{login['refreshToken']}"
    ),
}


@everywhere
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_logout_needs_no_access_token_that_is_valid(client, ann, end):
    login, other = log_in(client), log_in(client)

    with clock(15 * 60):
        response = end(client, login)
        again = end(client, login)

    assert (response.status_code, response.json["user"]["id"]) == (200, ann)
    assert again.status_code == 401
    assert renew(client, login["refreshToken"]).json == INVALID
    assert renew(client, other["refreshToken"]).status_code == 201


@everywhere
def test_logout_ends_all_tokens_of_the_session_and_no_others(client, ann):
    login, other = log_in(client), log_in(client)
    renewed = renew(client, login["refreshToken"]).json

    client.delete("/authentication", headers=bearer(renewed["accessToken"]))

    tokens = [each["accessToken"] for each in (login, renewed, other)]
    assert [is_valid(client, token) for token in tokens] == [False, False, True]
    assert renew(client, renewed["refreshToken"]).json == INVALID
    assert renew(client, other["refreshToken"]).status_code == 201


@in_sqlite
def test_token_with_the_session_of_another_user_does_not_end_it(client, ann, ben):
    login = log_in(client, "ben")
    sid = login["authentication"]["payload"]["sid"]

    client.delete("/authentication", headers=bearer(signed(sid=sid)))

    assert renew(client, login["refreshToken"]).status_code == 201


@in_sqlite
@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        ("", {}, "Not authenticated"),
        ("/x", {}, "Not authenticated"),
        ("", bearer("x"), "jwt malformed"),
        ("", bearer(signed("x" * 32, exp=1)), "invalid signature"),
        ("", bearer(signed(exp=1)), "jwt expired"),
        ("", bearer(signed(exp=1, sid="x")), "jwt expired"),
        ("", bearer(signed(exp=1, sid=["x"])), "jwt expired"),
    ],
)
def test_logout_without_a_session_is_refused(client, ann, path, headers, message):
    response = client.delete(f"/authentication{path}", headers=headers)

    assert (response.status_code, response.json["message"]) == (401, message)


class RenewedMeanwhile(TableTokens):
    """A store whose tokens are renewed by others once they were read."""

    is_on = False

    def get(self, id, kind):
        stored = super().get(id, kind)

        if self.is_on:
            self.replace(id, stored["digest"], digest="2")

        return stored


def test_logout_ends_a_session_that_is_renewed_at_the_same_time():
    store = RenewedMeanwhile(Token)

    with served(make_records(store, []), "sqlite://") as app:
        client = app.test_client()
        register(client, "ann")
        login = log_in(client)
        store.is_on = True
        client.delete("/authentication", headers=bearer(login["accessToken"]))
        store.is_on = False

        with app.app_context():
            left = store.get(login["authentication"]["payload"]["sid"], "refresh")

    assert left is None


@everywhere
def test_user_who_is_logged_out_everywhere_has_no_session(app, client, ann):
    token = log_in(client)["refreshToken"]

    with app.app_context():
        app.extensions["records"].authentication().revoke_user(ann)

    assert renew(client, token).json == INVALID
    later = renew(client, log_in(client)["refreshToken"])
    assert renew(client, later.json["refreshToken"]).status_code == 201


@everywhere
def test_user_stays_logged_out_longer_than_an_access_token_lives(app, client, ann, ben):
    token = log_in(client)["refreshToken"]

    with app.app_context():
        authentication = app.extensions["records"].authentication()
        authentication.revoke_user(ann)

        # The next mark lets the store forget what has expired.
        with clock(MONTH - 60):
            authentication.revoke_user(ben)
            assert renew(client, token).json == INVALID


@everywhere
def test_refresh_token_of_a_removed_user_is_refused(client, ann):
    login = log_in(client)
    client.delete(f"/users/{ann}", headers=bearer(login["accessToken"]))

    assert renew(client, login["refreshToken"]).status_code == 401


@in_sqlite
def test_access_token_and_refresh_token_do_not_replace_each_other(client, ann):
    login = log_in(client)

    assert renew(client, login["accessToken"]).json == INVALID
    assert not is_valid(client, login["refreshToken"])


@in_sqlite
def test_login_with_an_access_token_begins_no_session(client, ann):
    login = log_in(client)
    data = {"strategy": "jwt", "accessToken": login["accessToken"]}

    answer = client.post("/authentication", json=data).json

    assert "refreshToken" not in answer


@in_sqlite
def test_refresh_token_is_in_no_log_event_or_table(app, client, ann, caplog, records):
    events = []
    records.events()(lambda event, record, context: events.append(record))
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "sqlalchemy.engine")
    token = log_in(client)["refreshToken"]
    renew(client, token)
    renew(client, token)

    with app.app_context():
        db = app.extensions["sqlalchemy"]
        log_in(client)
        sessions = db.select(Token.__table__).filter_by(kind="refresh")
        rows = db.session.execute(sessions).all()

    assert len(events) == 4
    assert "INSERT INTO token" in caplog.text
    assert token not in f"{events} {caplog.text} {rows}"


@in_sqlite
def test_expired_sessions_are_removed_by_logins(app, client, ann):
    log_in(client)

    with clock(MONTH + 1):
        log_in(client)

    with app.app_context():
        db = app.extensions["sqlalchemy"]
        assert len(db.session.scalars(db.select(Token)).all()) == 1


@in_sqlite
def test_refresh_token_is_described(app):
    with app.test_request_context():
        schemas = document()["components"]["schemas"]

    refresh, text = schemas["AuthenticationCreateRefresh"], {"type": "string"}
    assert refresh["properties"] == {
        "strategy": {**text, "const": "refresh"},
        "refreshToken": text,
    }
    assert refresh["required"] == ["strategy", "refreshToken"]
    assert schemas["Authentication"]["properties"]["refreshToken"] == text


@pytest.fixture
def cookie_client():
    records = make_records(TableTokens(Token), [], refresh="cookie")

    with served(records, "sqlite://", refresh_lifetime="7d") as app:
        client = app.test_client()
        register(client, "ann")
        yield client


def test_refresh_token_in_a_cookie_is_for_the_server_alone(cookie_client):
    login = {"strategy": "local", "email": "ann@example.com"}
    login["password"] = "correct horse"
    response = cookie_client.post("https://localhost/authentication", json=login)

    name, *attributes = response.headers["Set-Cookie"].split("; ")
    assert name.startswith("refreshToken=")
    assert {*attributes} >= {
        "HttpOnly",
        "Secure",
        "SameSite=Strict",
        "Path=/authentication",
        "Max-Age=604800",
    }
    assert "refreshToken" not in response.json


def test_cookie_renews_a_login_until_the_logout(cookie_client):
    log_in(cookie_client)
    data = {"strategy": "refresh"}
    first = cookie_client.get_cookie("refreshToken", path="/authentication").value

    renewed = cookie_client.post("/authentication", json=data)
    second = cookie_client.get_cookie("refreshToken", path="/authentication").value
    headers = bearer(renewed.json["accessToken"])
    cookie_client.delete("/authentication", headers=headers)

    assert (renewed.status_code, first != second) == (201, True)
    assert cookie_client.get_cookie("refreshToken", path="/authentication") is None
    assert cookie_client.post("/authentication", json=data).json == INVALID
    assert renew(cookie_client, second).json == INVALID


def test_cookie_alone_ends_its_session(cookie_client):
    log_in(cookie_client)
    token = cookie_client.get_cookie("refreshToken", path="/authentication").value

    response = cookie_client.delete("/authentication")

    assert (response.status_code, response.json["user"]["id"]) == (200, 1)
    assert cookie_client.get_cookie("refreshToken", path="/authentication") is None
    cookie_client.set_cookie("refreshToken", token, path="/authentication")
    data = {"strategy": "refresh"}
    assert cookie_client.post("/authentication", json=data).json == INVALID


def test_cookie_is_set_by_logins_that_succeed_over_http(cookie_client):
    log_in(cookie_client)
    app = cookie_client.application
    service = app.extensions["records"].authentication().as_service
    token = cookie_client.get_cookie("refreshToken", path="/authentication").value
    headers = Headers({"Cookie": f"refreshToken={token}"})

    with app.app_context(), pytest.raises(NotAuthenticated, match="over HTTP"):
        params = Params(provider="socketio", headers=headers)
        service.create({"strategy": "refresh"}, params)

    @service.after("create")
    def refuse(method, context):
        raise Forbidden("Blocked")

    response = cookie_client.post("/authentication", json={"strategy": "refresh"})

    assert response.status_code == 403
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize(
    "options", [{"refresh": True}, {"refresh": "cookies", "tokens": TableTokens(Token)}]
)
def test_refresh_tokens_need_a_store(options):
    with pytest.raises(ValueError, match=r"tokens=TableTokens\(Token\)"):
        AuthenticationService(**options)


def test_lifetime_of_refresh_tokens_needs_refresh_tokens():
    app = Flask("tests")
    settings = {"secret": SECRET, "refresh_lifetime": "7d"}
    app.config["RECORDS_AUTHENTICATION"] = settings
    records = FlaskRecords()
    records.add("authentication", AuthenticationService())

    with pytest.raises(RuntimeError, match=r"needs AuthenticationService\(refresh="):
        records.init_app(app)
