"""Tokens that are logged out."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import sqlalchemy as sa

from flask_records import AuthenticationService, FlaskRecords, Transaction
from tests.authentication import bearer, signed
from tests.http.accounts.people import clock, everywhere, is_valid, served
from tests.http.authentication.authenticated import refused
from tests.http.revocation.revocations import add_users, log_in, log_out, register


@everywhere
def test_logout_revokes_the_token_and_no_other(client, ann, ben):
    token, second, other = log_in(client), log_in(client), log_in(client, "ben")

    response = log_out(client, token)

    assert (response.status_code, response.json["accessToken"]) == (200, token)
    found = [is_valid(client, one) for one in (token, second, other)]
    assert found == [False, True, True]


def test_logout_may_have_a_body(client, ann):
    """Only a remove of many records has none."""
    token = log_in(client)

    response = client.delete("/authentication", json={}, headers=bearer(token))

    assert (response.status_code, is_valid(client, token)) == (200, False)


@everywhere
def test_revoked_token_is_refused_wherever_it_is_sent(client, ann):
    token = log_in(client)
    log_out(client, token)

    responses = [
        client.get("/users", headers=bearer(token)),
        log_out(client, token),
        client.post("/authentication", json={"strategy": "jwt", "accessToken": token}),
        client.delete(f"/authentication/{token}", headers=bearer(token)),
    ]

    assert [response.status_code for response in responses] == [401] * 4
    assert [response.json for response in responses] == [refused("jwt revoked")] * 4


@everywhere
@pytest.mark.parametrize(
    "claims",
    [
        {"jti": ""},
        {"jti": "é\0'\"%_*?[]:\n"},
        {"jti": "x" * 5_000},
        {"sub": 1},
        {"iat": 0},
        {"iat": time.time() - 5.5},
        {"iat": int(time.time()) + 3600},
        {"exp": time.time() + 100_000.5},
    ],
    ids=["empty", "odd", "long", "number", "zero", "past", "future", "fraction"],
)
def test_odd_token_that_is_valid_can_be_logged_out(client, ann, claims):
    token = signed(**{"sub": str(ann), **claims})
    before = is_valid(client, token)

    response = log_out(client, token)

    assert (before, response.status_code) == (True, 200)
    assert not is_valid(client, token)


@everywhere
def test_logouts_at_once_of_several_tokens_all_succeed(app, client, ann):
    """Both have looked for expired marks when they write theirs."""
    tokens, barrier = [log_in(client), log_in(client)], Barrier(2)

    def meet(connection, cursor, statement, *rest):
        # SQLite lets one in at a time.
        if "INTO token" in statement and connection.dialect.name != "sqlite":
            barrier.wait(5)

    with app.app_context():
        sa.event.listen(
            app.extensions["sqlalchemy"].engine, "before_cursor_execute", meet
        )

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda token: log_out(app.test_client(), token), tokens))

    assert [response.status_code for response in done] == [200, 200]
    assert not any(is_valid(client, token) for token in tokens)


@everywhere
def test_user_is_logged_out_everywhere(app, client, ann, ben):
    tokens = [log_in(client), log_in(client), signed(sub=str(ann))]
    other = log_in(client, "ben")

    with app.app_context():
        app.extensions["records"].authentication().revoke_user(f"0{ann}")

    assert [is_valid(client, token) for token in tokens] == [False] * 3
    assert is_valid(client, other)
    assert is_valid(client, log_in(client))


@everywhere
@pytest.mark.parametrize("seconds", [-4, 4])
def test_user_is_logged_out_by_a_machine_with_another_clock(app, client, ann, seconds):
    token = log_in(client)

    with clock(seconds), app.app_context():
        app.extensions["records"].authentication().revoke_user(ann)

    later = log_in(client)
    assert [is_valid(client, token), is_valid(client, later)] == [False, True]


@everywhere
def test_user_is_logged_out_everywhere_twice_at_once(app, client, ann):
    token = log_in(client)

    def revoke(_):
        with app.app_context():
            app.extensions["records"].authentication().revoke_user(ann)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(revoke, range(8)))

    assert [is_valid(client, token), is_valid(client, log_in(client))] == [False, True]


@everywhere
def test_token_of_a_login_before_the_commit_is_revoked(app, client, ann):
    with app.app_context(), ThreadPoolExecutor(1) as pool, Transaction():
        app.extensions["records"].authentication().revoke_user(ann)
        token = pool.submit(log_in, client).result()

    assert not is_valid(client, token)


@everywhere
def test_logging_out_everywhere_is_undone_with_its_call(app, client, ann):
    token = log_in(client)

    with app.app_context(), pytest.raises(ZeroDivisionError), Transaction():
        app.extensions["records"].authentication().revoke_user(ann)
        raise ZeroDivisionError

    assert is_valid(client, token)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_logging_out_everywhere_needs_a_store(database_url):
    records = FlaskRecords()
    add_users(records)
    records.add("authentication", AuthenticationService())

    with served(records, database_url) as app, app.app_context():
        records["users"].create({"email": "ann", "password": "old"})

        with pytest.raises(RuntimeError, match=r"AuthenticationService\(tokens="):
            records.authentication().revoke_user(1)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_logout_without_a_store_leaves_the_token_valid(database_url):
    records = FlaskRecords()
    add_users(records)
    records.add("authentication", AuthenticationService())

    with served(records, database_url) as app:
        client = app.test_client()
        register(client, "ann")
        token = log_in(client)
        response = log_out(client, token)

        assert (response.status_code, response.json["accessToken"]) == (200, token)
        assert response.json["user"] == {"id": 1, "email": "ann", "isVerified": False}
        assert is_valid(client, token)
