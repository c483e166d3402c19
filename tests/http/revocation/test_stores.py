"""Stores of revoked tokens delete expired ones, and may fail."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager

import pytest
import redis
import sqlalchemy as sa
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    RedisRevocations,
    Unavailable,
)
from tests.authentication import bearer
from tests.http.revocation.revocations import (
    add_users,
    clock,
    in_tables,
    log_in,
    log_out,
    register,
    RevokedToken,
    served,
    signed,
)


@in_tables
def test_mark_is_removed_once_it_has_expired(app, client, ann, store):
    with app.app_context():
        store.put("expired", 1, int(time.time()) - 1)
        store.put("kept", 1, int(time.time()) + 60)

    log_out(client, log_in(client))

    with app.app_context():
        session = app.extensions["sqlalchemy"].session
        keys = set(session.scalars(sa.select(RevokedToken.key)))

    assert (len(keys), "expired" in keys, "kept" in keys) == (2, False, True)


def test_redis_forgets_a_mark_when_its_tokens_have_expired(redis_store, redis_client):
    redis_store.put("key", 1, int(time.time()) + 60)

    assert 55 < redis_client.ttl(redis_store._prefix + "key") <= 60


@pytest.mark.parametrize("marks", [[(7, 60), (5, 600)], [(5, 600), (7, 60)]])
def test_highest_mark_and_latest_expiry_stay_in_redis(redis_store, redis_client, marks):
    for mark, seconds in marks:
        redis_store.put("key", mark, int(time.time()) + seconds)

    assert redis_store.latest("key") == 7
    assert 595 < redis_client.ttl(redis_store._prefix + "key") <= 600


@in_tables
@pytest.mark.parametrize("marks", [[(7, 10), (5, 60)], [(5, 60), (7, 10)]])
def test_highest_mark_and_latest_expiry_stay_in_a_table(app, store, marks):
    with app.app_context():
        for mark, seconds in marks:
            store.put("key", mark, int(time.time()) + seconds)

        with clock(30):
            store.put("other", 1, int(time.time()) + 60)

        assert store.latest("key") == 7


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_redis_that_does_not_answer_is_told_without_its_address(database_url):
    records = FlaskRecords()
    users = add_users(records)

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        client = redis.Redis(port=port, retry=Retry(NoBackoff(), 0))
        store = RedisRevocations(client)
        records.add("authentication", AuthenticationService(revocations=store))

        with served(records, database_url) as app:
            client = app.test_client()
            id = register(client, "ann")
            headers = bearer(signed(id))
            login = {"strategy": "local", "email": "ann", "password": "old"}
            responses = [
                client.get("/users", headers=headers),
                client.post("/users", json={"email": "eve"}, headers=headers),
                client.delete("/authentication", headers=headers),
                client.post("/authentication", json=login),
            ]

            with app.app_context():
                before = users.get(id)

                with pytest.raises(Unavailable):
                    users.patch(id, {"password": "new"})

                assert users.get(id) == before

    assert [response.status_code for response in responses] == [503] * 4
    assert [response.headers["Retry-After"] for response in responses] == ["1"] * 4
    assert [response.json for response in responses] == [
        {
            "name": "Unavailable",
            "message": "Logins can't be checked at the moment.",
            "code": 503,
            "className": "unavailable",
            "errors": {},
        }
    ] * 4


@contextmanager
def silent(family, address):
    """A server that takes connections and answers nothing, as a frozen Redis does."""
    with socket.socket(family) as server:
        server.bind(address)
        server.listen()
        yield server.getsockname()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "options",
    [{"socket_timeout": None}, {"retry": Retry(NoBackoff(), 20)}],
    ids=["timeout", "retry"],
)
@pytest.mark.parametrize("is_file", [False, True])
def test_redis_that_hangs_is_waited_for_as_long_as_the_store_says(
    database_url, tmp_path, options, is_file
):
    """Whatever the application's client says."""
    records = FlaskRecords()
    add_users(records)
    family = socket.AF_UNIX if is_file else socket.AF_INET
    address = str(tmp_path / "redis.sock") if is_file else ("127.0.0.1", 0)

    with silent(family, address) as place:
        where = {"unix_socket_path": place} if is_file else {"port": place[1]}
        store = RedisRevocations(redis.Redis(**where, **options), timeout=0.1)
        records.add("authentication", AuthenticationService(revocations=store))

        with served(records, database_url) as app:
            client = app.test_client()
            headers = bearer(signed(register(client, "ann")))
            response = client.get("/users", headers=headers)

    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "names",
    [["ADMINS", "RECORDS_AUTHENTICATION"], ["RECORDS_AUTHENTICATION", "ADMINS"]],
)
def test_mark_is_kept_for_the_longest_lifetime_of_all_services(
    database_url, redis_store, redis_client, names
):
    """Services that share users and marks, with tokens of a day and of 30 days."""
    records = FlaskRecords()
    users = add_users(records)

    for name in names:
        service = AuthenticationService(revocations=redis_store, settings=name)
        records.add(name.lower(), service)

    with served(records, database_url) as app, app.app_context():
        id = users.create({"email": "ann", "password": "old"})["id"]
        users.patch(id, {"password": "new"})

    keys = redis_client.scan_iter(f"{redis_store._prefix}*")
    assert max(map(redis_client.ttl, keys)) > 29 * 24 * 60 * 60
