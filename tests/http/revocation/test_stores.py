"""Stores of revoked tokens delete expired ones, and may fail."""

from __future__ import annotations

import socket
import time

import pytest
import redis
import sqlalchemy as sa
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    RedisRevocations,
)
from tests.authentication import bearer
from tests.http.revocation.revocations import (
    add_users,
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


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_redis_that_does_not_answer_is_told_without_its_address(database_url):
    records = FlaskRecords()
    add_users(records)

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        client = redis.Redis(port=port, socket_timeout=1, retry=Retry(NoBackoff(), 0))
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


def test_redis_that_would_be_waited_for_for_ever_is_refused():
    with pytest.raises(ValueError, match="socket_timeout=2"):
        RedisRevocations(redis.Redis(socket_timeout=None))
