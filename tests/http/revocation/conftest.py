"""Users whose tokens are revoked."""

import pytest

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
    TableTokens,
)
from tests.authentication import ANY_LOGIN
from tests.http.accounts.people import served, Token, User
from tests.http.revocation.revocations import add_users, register


@pytest.fixture
def store():
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
def ann(client):
    """The identifier of a user."""
    return register(client, "ann")


@pytest.fixture
def ben(client, ann):
    """The identifier of another user."""
    return register(client, "ben")
