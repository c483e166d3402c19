"""Users who have accounts."""

import pytest

from flask_records import TableTokens
from flask_records.accounts import mailed_tokens
from tests.http.accounts.people import make_records, register, served, Token


@pytest.fixture(autouse=True)
def without_delay(monkeypatch):
    """Send mails at once."""
    monkeypatch.setattr(mailed_tokens, "DELAY", 0)


@pytest.fixture
def store():
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
def ann(client):
    """The identifier of a user."""
    return register(client, "ann")


@pytest.fixture
def ben(client, ann):
    """The identifier of another user."""
    return register(client, "ben")
