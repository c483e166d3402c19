"""Users whose tokens are in each kind of store."""

from __future__ import annotations

import uuid

import pytest
import redis

from flask_records import RedisTokens, TableTokens
from flask_records.accounts import mailed_tokens
from tests.databases import redis_url
from tests.http.accounts.people import make_records, register, served, Token


@pytest.fixture(autouse=True)
def without_delay(monkeypatch):
    """Send mails at once."""
    monkeypatch.setattr(mailed_tokens, "DELAY", 0)


@pytest.fixture
def redis_store():
    prefix = f"test:{uuid.uuid4().hex}:"

    with redis.Redis.from_url(redis_url(), socket_timeout=5) as client:
        yield RedisTokens(client, prefix=prefix)

        for key in client.scan_iter(f"{prefix}*"):
            client.delete(key)


@pytest.fixture(params=["table", "redis"])
def store(request):
    """A store of tokens: a table of the database, or Redis."""
    if request.param == "redis":
        return request.getfixturevalue("redis_store")

    return TableTokens(Token)


@pytest.fixture
def mails():
    """The mails that were sent."""
    return []


@pytest.fixture
def records(store, mails):
    return make_records(store, mails)


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
