"""Revocation holds on machines whose clocks differ."""

from __future__ import annotations

import time

import jwt
import pytest

from flask_records import AuthenticationService, FlaskRecords
from tests.http.revocation.revocations import (
    add_users,
    clock,
    everywhere,
    is_valid,
    log_in,
    register,
    served,
    signed,
)

HOUR = 60 * 60


def claims(token):
    return jwt.decode(token, options={"verify_signature": False})


def revoke(app, id):
    with app.app_context():
        app.extensions["records"].authentication().revoke_user(id)


def replace(app, id):
    """Remove a user, and give its identifier to another one."""
    users = app.extensions["records"]["users"]

    with app.app_context():
        users.remove(id)
        users.create({"id": id, "email": "ann", "password": "old"})


def change(app, id):
    with app.app_context():
        app.extensions["records"]["users"].patch(id, {"password": "old"})


@everywhere
@pytest.mark.parametrize("seconds", [-HOUR, -2, 0, HOUR])
@pytest.mark.parametrize("end", [revoke, replace, change])
def test_user_revoked_on_another_machine_is_logged_out(app, client, ann, end, seconds):
    token = log_in(client)

    with clock(seconds):
        end(app, ann)

    later = log_in(client)
    assert [is_valid(client, token), is_valid(client, later)] == [False, True]


@everywhere
def test_each_revocation_holds_whichever_machine_was_first(app, client, ann):
    tokens = []

    for seconds in (HOUR, -HOUR, 0, HOUR, 0):
        tokens.append(log_in(client))

        with clock(seconds):
            revoke(app, ann)

    found = [is_valid(client, token) for token in tokens]
    assert (found, is_valid(client, log_in(client))) == ([False] * 5, True)


@everywhere
def test_token_of_another_server_is_revoked_by_a_clock_that_is_behind(app, client, ann):
    token = signed(ann, iat=int(time.time()))
    before = is_valid(client, token)

    with clock(-4):
        revoke(app, ann)

    assert (before, is_valid(client, token)) == (True, False)


@everywhere
def test_token_of_another_server_is_valid_some_seconds_after_a_revocation(
    app, client, ann
):
    with clock(-7):
        revoke(app, ann)

    assert is_valid(client, signed(ann, iat=int(time.time())))


class Marks(dict):
    """A store of an application's own."""

    def put(self, key, issued_before, expires):
        self[key] = issued_before

    def latest(self, *keys):
        return max(self.get(key, 0) for key in keys)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_token_outlives_the_mark_that_it_was_issued_under(database_url):
    marks = Marks()
    records = FlaskRecords()
    add_users(records)
    records.add("authentication", AuthenticationService(revocations=marks))

    with served(records, database_url) as app:
        client = app.test_client()
        revoke(app, register(client, "ann"))
        token = log_in(client)
        marks.clear()

        assert is_valid(client, token)
