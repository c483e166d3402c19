"""Stores of tokens delete expired marks, and may fail."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
import sqlalchemy as sa
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    RedisTokens,
)
from tests.authentication import bearer
from tests.http.revocation.revocations import (
    add_users,
    everywhere,
    in_tables,
    is_valid,
    log_in,
    log_out,
    register,
    served,
    signed,
    Token,
)


@everywhere
def test_mark_of_a_key_never_goes_back(app, store):
    later = int(time.time()) + 60

    def put(mark):
        with app.app_context():
            store.put_mark("key", mark, later)
            return store.latest_mark("key", "other")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, [7] * 8))

    assert [put(9), put(8), put(10)] == [9, 9, 10]


@in_tables
def test_user_and_revocation_of_a_token_are_read_by_one_statement(app, client, ann):
    token, statements = log_in(client), []
    is_valid(client, token)

    with app.app_context():
        engine = app.extensions["sqlalchemy"].engine

    sa.event.listen(
        engine, "before_cursor_execute", lambda *args: statements.append(args[2])
    )
    is_valid(client, token)

    assert ["FROM token" in statement for statement in statements] == [True, False]


@in_tables
def test_mark_is_removed_once_it_has_expired(app, client, ann, store):
    with app.app_context():
        store.put_mark("expired", 1, int(time.time()) - 1)
        store.put_mark("kept", 1, int(time.time()) + 60)

    log_out(client, log_in(client))

    with app.app_context():
        session = app.extensions["sqlalchemy"].session
        keys = set(session.scalars(sa.select(Token.digest)))

    assert (len(keys), "expired" in keys, "kept" in keys) == (2, False, True)


def test_redis_forgets_a_mark_when_its_tokens_have_expired(redis_store, redis_client):
    redis_store.put_mark("key", 1, int(time.time()) + 60)

    assert 55 < redis_client.ttl(redis_store._prefix + "key") <= 60


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_redis_that_does_not_answer_is_told_without_its_address(database_url):
    records = FlaskRecords()
    add_users(records)

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        client = redis.Redis(port=port, socket_timeout=1, retry=Retry(NoBackoff(), 0))
        store = RedisTokens(client)
        records.add("authentication", AuthenticationService(tokens=store))

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
        RedisTokens(redis.Redis(socket_timeout=None))
