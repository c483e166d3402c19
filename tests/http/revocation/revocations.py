"""An application with users whose tokens can be revoked."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager

import jwt
import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import hash_password, SQLAlchemyService, TokenMixin
from tests.authentication import bearer, CHEAP, SECRET

SETTINGS = {"secret": SECRET, "passwords": CHEAP}

everywhere = pytest.mark.parametrize(
    "database_url", ["sqlite", "postgresql", "mariadb"], indirect=True
)


class Base(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))
    name: Mapped[str | None] = mapped_column(sa.String(100))


class Token(TokenMixin, Base):
    __tablename__ = "token"


@contextmanager
def served(records, url, **settings):
    """An app that serves the services of an extension from an empty database."""
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["RECORDS_AUTHENTICATION"] = {**SETTINGS, **settings}
    db = SQLAlchemy(app, model_class=Base)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    try:
        yield app
    finally:
        with app.app_context():
            db.session.remove()
            db.drop_all()
            db.engine.dispose()


def add_users(records, path="users", model=User, *, password="password"):
    service = SQLAlchemyService(model, hidden=[password], multi=True)
    users = records.add(path, service, public=["create"], readable=True)
    users.before("create", "update", "patch")(hash_password(password))
    return users


def register(client, email):
    return client.post("/users", json={"email": email, "password": "old"}).json["id"]


def log_in(client, email="ann", password="old", path="/authentication"):
    login = {"strategy": "local", "email": email, "password": password}
    response = client.post(path, json=login)
    assert response.status_code == 201, response.json
    return response.json["accessToken"]


def log_out(client, token):
    return client.delete("/authentication", headers=bearer(token))


def is_valid(client, token, path="/users"):
    status = client.get(path, headers=bearer(token)).status_code
    assert status in (200, 401)
    return status == 200


@contextmanager
def clock(seconds):
    """Another machine, whose clock is ahead by some seconds."""
    now = time.time

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: now() + seconds)
        yield


def signed(subject, **claims):
    """A token of another server that has the secret."""
    issued = int(time.time()) - 10
    payload = {
        "iat": issued,
        "exp": issued + 1000,
        "aud": "https://yourdomain.com",
        "iss": "feathers",
        "sub": str(subject),
        "jti": uuid.uuid4().hex,
        **claims,
    }
    return jwt.encode(payload, SETTINGS["secret"], headers={"typ": "access"})
