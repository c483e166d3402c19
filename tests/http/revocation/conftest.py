"""Users whose tokens are revoked in each kind of store."""

from __future__ import annotations

import uuid

import pytest
import redis

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    RedisTokens,
    SQLAlchemyService,
    TableTokens,
)
from tests.authentication import ANY_LOGIN
from tests.databases import redis_url
from tests.http.revocation.revocations import (
    add_users,
    register,
    served,
    Token,
    User,
)


@pytest.fixture
def redis_client():
    with redis.Redis.from_url(redis_url(), socket_timeout=5) as client:
        yield client


@pytest.fixture
def redis_store(redis_client):
    prefix = f"test:{uuid.uuid4().hex}:"
    yield RedisTokens(redis_client, prefix=prefix)

    for key in redis_client.scan_iter(f"{prefix}*"):
        redis_client.delete(key)


@pytest.fixture(params=["table", "redis"])
def store(request):
    """A store of marks: a table of the database, or Redis."""
    if request.param == "redis":
        return request.getfixturevalue("redis_store")

    return TableTokens(Token)


@pytest.fixture
def records(store):
    records = FlaskRecords()
    add_users(records)
    people = SQLAlchemyService(User, hidden=["password"], id="email")
    people = records.add("people", people, allow=ANY_LOGIN)
    people.before("create", "update", "patch")(hash_password())
    service = AuthenticationService(tokens=store)
    records.add("authentication", service)
    return records


@pytest.fixture
def app(records, database_url):
    with served(records, database_url) as app:
        yield app


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def ann(client):
    """The identifier of a user."""
    return register(client, "ann")


@pytest.fixture
def ben(client, ann):
    """The identifier of another user."""
    return register(client, "ben")
