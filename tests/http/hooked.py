"""An application with users, messages and hooks for them."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask

from flask_records import AuthenticationService, FlaskRecords, SQLAlchemyService
from tests.authentication import API_KEY, CHEAP, SECRET
from tests.models import Message, User

ANN = {"id": 1, "email": "ann@example.com", "password": "old", "age": 30}

BOB = {"id": 2, "email": "bob@example.com", "password": "old", "age": 40}

EVE = {"email": "eve@example.com", "age": 50}

OWNERS = {1: 1, 2: 2, 3: None}
"""The owner of each message."""

CALLS = [
    ("GET", "/users?$sort[age]=1", None),
    ("GET", "/users/1", None),
    ("POST", "/users", EVE),
    ("POST", "/users", [EVE]),
    ("PUT", "/users/1", EVE),
    ("PATCH", "/users/1", {"age": 31}),
    ("PATCH", "/users", {"age": 31}),
    ("DELETE", "/users/1", None),
    ("DELETE", "/users", None),
]
"""A call of each kind: the verb, the path and the data."""


class Echo:
    """Answers with the caller and the data of a call."""

    def find(self, params):
        strategy = (params.authentication or {}).get("strategy")
        return {"strategy": strategy, "user": params.user}

    def create(self, data, params):
        return data


class Workers:
    """Users who have a name instead of an id."""

    id = "name"

    def get(self, id, params):
        return {"name": id}


@pytest.fixture
def records():
    records = FlaskRecords()
    staff = AuthenticationService("workers", settings="STAFF")
    # The tests connect what hashes passwords.
    service = AuthenticationService(
        strategies={"api-key": API_KEY}, custom_hashing=True
    )
    records.add("authentication", service)
    records.add("staff", staff)
    records.add("workers", Workers(), public=True)
    return records


@pytest.fixture
def echo(records):
    return records.add("echo", Echo(), public=True)


@pytest.fixture
def users(records):
    return records.add(
        "users", SQLAlchemyService(User, hidden=["password"], multi=True), public=True
    )


@pytest.fixture
def messages(records):
    return records.add("messages", SQLAlchemyService(Message, multi=True), public=True)


@pytest.fixture(autouse=True)
def app(db, records, users, echo, messages):
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["RECORDS_AUTHENTICATION"] = {"secret": SECRET, "passwords": CHEAP}
    staff = {"secret": SECRET, "issuer": "staff", "passwords": CHEAP | {"memory": 72}}
    app.config["STAFF"] = staff
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        db.session.execute(sa.insert(User), [ANN, BOB])
        rows = [{"id": i, "text": "hi", "user_id": o} for i, o in OWNERS.items()]
        db.session.execute(sa.insert(Message), rows)
        db.session.commit()

    yield app

    with app.app_context():
        db.engine.dispose()


@pytest.fixture
def passwords(app, db):
    """A function that returns what the database has as passwords, by email."""
    return lambda: _pairs(app, db, User.email, User.password)


def _pairs(app, db, key, value):
    statement = sa.select(key, value).order_by(key)

    with app.app_context():
        return {row[0]: row[1] for row in db.session.execute(statement)}
