"""An application whose users have accounts, and what they do."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Barrier

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
    TokenMixin,
)
from flask_records.accounts import AccountManagement
from flask_records.accounts.mailed_tokens import mail_threads, MAX_THREADS
from tests.authentication import ANY_LOGIN, bearer, CHEAP, SECRET
from tests.databases import leave

PASSWORD = "correct horse"

everywhere = pytest.mark.parametrize(
    "database_url", ["sqlite", "postgresql", "mariadb"], indirect=True
)

in_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))
    isVerified: Mapped[bool] = mapped_column(default=False)


class Token(TokenMixin, Base):
    __tablename__ = "token"


def make_records(store, mails, *, limiter=None, refresh=True, staff=None, **users):
    """An extension with users whose logins are renewed."""
    records = FlaskRecords(app_errors=True, limiter=limiter)
    authentication = AuthenticationService(
        tokens=store, refresh=refresh, normalize=str.lower
    )
    records.add("authentication", authentication)
    options = {"hidden": ["password"], "readonly": ["isVerified"]}
    options["write_once"] = ["email"]
    service = SQLAlchemyService(User, **options)
    users = {"public": ["create"], "allow": ANY_LOGIN, **users}
    users = records.add("users", service, **users)
    users.before("create", "update", "patch")(hash_password())
    options = {"tokens": staff or store, "refresh": refresh, "settings": "STAFF"}
    records.add("staff-login", AuthenticationService(**options))
    accounts = AccountManagement(authentication, send=mails.append)
    records.add("authManagement", accounts, public=["create"])
    users.events("created")(accounts.send_verification)
    return records


@contextmanager
def served(records, url, base=Base, **settings):
    """An app that serves the services of an extension from an empty database."""
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["SECRET_KEY"] = SECRET
    app.config["RECORDS_AUTHENTICATION"] = {
        **{"secret": SECRET, "passwords": CHEAP},
        **settings,
    }
    app.config["STAFF"] = {
        **app.config["RECORDS_AUTHENTICATION"],
        "audience": "https://staff.example",
    }
    db = SQLAlchemy(app, model_class=base)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    try:
        yield app
    finally:
        settle()

        with app.app_context():
            leave(db)


def email_of(name):
    return f"{name}@example.com"


def register(client, name):
    user = {"email": email_of(name), "password": PASSWORD}
    response = client.post("/users", json=user)
    assert response.status_code == 201, response.json
    settle()
    return response.json["id"]


def settle():
    """Wait until all mails are sent: each thread has come to the barrier."""
    barrier = Barrier(MAX_THREADS + 1)

    for _ in range(MAX_THREADS):
        mail_threads().submit(barrier.wait, 10)

    barrier.wait(10)


def act(client, action, value, headers=None, **others):
    """The response to an action, after its mails."""
    data = {"action": action, "value": value, **others}
    response = client.post("/authManagement", json=data, headers=headers)
    settle()
    return response


def log_in(client, name="ann", password=PASSWORD):
    """A login with a password."""
    login = {"strategy": "local", "email": email_of(name), "password": password}
    response = client.post("/authentication", json=login)
    assert response.status_code == 201, response.json
    return response.json


def renew(client, token):
    """The response to a refresh token."""
    data = {"strategy": "refresh", "refreshToken": token}
    return client.post("/authentication", json=data)


def is_valid(client, token):
    status = client.get("/users", headers=bearer(token)).status_code
    assert status in (200, 401)
    return status == 200


@contextmanager
def clock(seconds):
    """Another time, that is later by some seconds."""
    now = time.time

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: now() + seconds)
        yield
