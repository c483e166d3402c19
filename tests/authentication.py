"""An application with users who log in, and tokens of all kinds for it."""

import json
import time
import uuid
from contextlib import contextmanager

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from jwt.api_jws import encode

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    NotAuthenticated,
    SQLAlchemyService,
    Strategy,
)

from .databases import leave
from .models import Base, User

SECRET = "s" * 32

ANN = {"email": "ann@example.com", "password": "correct horse"}

LOGIN = {"strategy": "local", **ANN}

CHEAP = {"memory": 64, "passes": 1, "min_length": 1}
"""Passwords for tests that are about something else: fast, of any length."""

ANY_LOGIN = dict.fromkeys(("update", "patch", "remove"), True)
"""Rules that let any login change all records, users too."""

ABSENT = object()
"""A claim that a token leaves out."""


class Echo:
    """Answers what the call knows of the caller, but for the token."""

    def find(self, params):
        return known(params)

    def get(self, id, params):
        return known(params)

    def create(self, data, params):
        return known(params)


def known(params):
    said = params.authentication or {}
    return {
        "user": params.user,
        "authentication": {k: v for k, v in said.items() if k != "accessToken"},
        "authenticated": params.authenticated,
        "extra": params.extra,
    }


def authenticate_by_key(service, data, params):
    if data.get("key") != "robot's key":
        raise NotAuthenticated("Invalid API key")

    return {"robot": "R2"}


def key_in(headers):
    key = headers.get("X-Api-Key")
    return None if key is None else {"key": key}


API_KEY = Strategy(authenticate_by_key, key_in)


class Directory:
    """Users who are not stored."""

    def __init__(self, users):
        self.users = {str(user["id"]): user for user in users}

    def get(self, id, params):
        return self.users[str(id)]


def add_users(records, *users):
    """Add users whom the header ``X-User`` names, for the strategy ``header``."""

    def user_in(headers):
        return {"id": headers["X-User"]} if "X-User" in headers else None

    directory = records.add("users", Directory(users))
    strategy = Strategy(lambda s, data, p: {"user": directory.get(data["id"])}, user_in)
    service = AuthenticationService(strategies={"header": strategy})
    records.add("authentication", service)


def make_records(*, users=None, limiter=None, url_prefix="", **options):
    """An extension with users, and with services that are closed or public."""
    records = FlaskRecords(
        app_errors=True, allow=ANY_LOGIN, limiter=limiter, url_prefix=url_prefix
    )
    options = {"strategies": {"api-key": API_KEY}, **options}
    records.add("authentication", AuthenticationService(**options))
    service = users or SQLAlchemyService(User, hidden=["password"])
    added = records.add("users", service, public=["create"])
    added.before("create", "update", "patch")(hash_password())
    records.add("secrets", Echo())
    records.add("vault", Echo(), strategies=["jwt", "api-key"])
    records.add("echo", Echo(), public=True)
    return records


@contextmanager
def serving(
    records, settings=None, *, realtime=None, url="sqlite://", base=Base, **config
):
    """A client of an application, whose only user is Ann if there are users."""
    app = Flask("tests")
    db = SQLAlchemy(model_class=base)
    settings = {"secret": SECRET, "passwords": CHEAP} if settings is None else settings
    app.config.update(
        RECORDS_AUTHENTICATION=settings, SQLALCHEMY_DATABASE_URI=url, **config
    )
    db.init_app(app)
    records.init_app(app)

    if realtime is not None:
        realtime.init_app(app)

    with app.app_context():
        db.create_all()

    try:
        client = app.test_client()

        if "users" in records.services:
            assert client.post("/users", json=ANN).status_code == 201

        yield client
    finally:
        with app.app_context():
            leave(db)


def log_in(client, path="/authentication"):
    return client.post(path, json=LOGIN).json["accessToken"]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def signed(key=SECRET, algorithm="HS256", headers=None, **claims):
    """A token for Ann that says something else than it should."""
    now = int(time.time())
    payload = {
        "iat": now,
        "exp": now + 60,
        "aud": "https://yourdomain.com",
        "iss": "feathers",
        "sub": "1",
        "jti": str(uuid.uuid4()),
        **claims,
    }
    said = {name: value for name, value in payload.items() if value is not ABSENT}
    return encode(json.dumps(said).encode(), key, algorithm, headers=headers)
