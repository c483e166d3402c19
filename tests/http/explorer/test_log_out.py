"""Users who are logged out everywhere, by those who may patch them."""

from contextlib import contextmanager

import pytest

from flask_records import AuthenticationService, FlaskRecords, FromUser, TableTokens

from ...authentication import bearer
from ..accounts.people import everywhere, is_valid, served, Token
from ..revocation.revocations import add_users, log_in, register
from .sites import Explored, SERVICES


@contextmanager
def serving_users(url, *, tokens=None, allow=True):
    """A client of an application with two users, their tokens, and its services."""
    records = FlaskRecords(allow={"patch": allow})
    add_users(records)
    records.add("authentication", AuthenticationService(tokens=tokens))

    with served(Explored(records, allow=lambda user: True), url) as app:
        client = app.test_client()
        names = ["ann", "ben"]
        assert [register(client, name) for name in names] == [1, 2]
        yield client, [log_in(client, name) for name in names], records


def end_logins(client, id, token=None, **options):
    headers = bearer(token) if token else {}
    return client.delete(f"/_records/logins/{id}", headers=headers, **options)


@everywhere
def test_user_is_logged_out_everywhere_and_stays_the_same(database_url):
    with serving_users(database_url, tokens=TableTokens(Token)) as site:
        client, (ann, ben), records = site
        seen, second = [], log_in(client)
        records.services["users"].events()(lambda event, *rest: seen.append(event))

        answer = end_logins(client, 1, ben)
        services = client.get(SERVICES, headers=bearer(ben)).json

        assert (answer.status_code, services["endsLogins"]) == (200, True)
        assert [is_valid(client, each) for each in (ann, second, ben)] == [
            *(False, False, True)
        ]
        assert is_valid(client, log_in(client))
        assert seen == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_callers_who_may_not_patch_a_user_end_none_of_their_logins(database_url):
    own = {"id": FromUser("id")}

    with serving_users(database_url, tokens=TableTokens(Token), allow=own) as site:
        client, (ann, ben), _ = site
        others = [end_logins(client, 1, ben), end_logins(client, 7, ben)]
        nobody, got = end_logins(client, 1), client.get("/_records/logins/1")
        posted = client.post("/_records/logins/2", headers=bearer(ben))

        assert is_valid(client, ann)
        assert end_logins(client, 2, ben).status_code == 200
        assert [is_valid(client, each) for each in (ann, ben)] == [True, False]

    assert {each.status_code for each in others} <= {403, 404}
    assert nobody.status_code == 401
    assert (got.status_code, posted.status_code) == (405, 405)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_logins_are_not_ended_without_a_store(database_url):
    with serving_users(database_url) as (client, (_, ben), _records):
        services = client.get(SERVICES, headers=bearer(ben)).json

        assert end_logins(client, 1, ben).status_code == 404
        assert services["endsLogins"] is False
