"""Logins in the OpenAPI document."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_sqlalchemy import SQLAlchemy
from openapi_spec_validator import validate
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
)
from flask_records.openapi import document


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str | None] = mapped_column(unique=True)
    password: Mapped[str | None]
    githubId: Mapped[str | None] = mapped_column(unique=True)


def make_app(**providers):
    app = Flask("logins")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["SECRET_KEY"] = "5e" * 32
    app.config["RATELIMIT_STORAGE_URI"] = "memory://"
    app.config["RECORDS_AUTHENTICATION"] = {"oauth": {"redirect": "/", **providers}}
    db = SQLAlchemy(app, model_class=Base)
    limiter = Limiter(get_remote_address)
    records = FlaskRecords(limiter=limiter, url_prefix="/api")
    records.add("authentication", AuthenticationService())
    users = SQLAlchemyService(User, hidden=["password"], readonly=["githubId"])
    users = records.add("users", users, public=["create"])
    users.before("create", "update", "patch")(hash_password())
    records.init_app(app)

    with app.app_context():
        db.create_all()

    return app


@pytest.fixture(scope="module")
def app():
    app = make_app(github={"key": "a", "secret": "b"})

    with app.app_context():
        yield app


@pytest.fixture(scope="module")
def made(app):
    return document()


def test_an_application_without_providers_names_none():
    with make_app().app_context():
        made = document()

    validate(made)
    scheme = made["components"]["securitySchemes"]["token"]
    assert "oauth" not in scheme["description"]


def test_scheme_of_tokens_says_where_they_come_from(made):
    scheme = made["components"]["securitySchemes"]["token"]

    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert scheme["description"] == (
        "The accessToken of the answer to POST /api/authentication. Browsers get one at"
        " GET /api/oauth/{provider}, too. It is not a flow of OAuth 2.0 for clients."
    )


def test_logins_are_named(made):
    paths = made["paths"]

    assert paths["/api/authentication"]["post"]["summary"] == "Log in"
    assert paths["/api/authentication"]["delete"]["summary"] == "Log out"
    assert paths["/api/users"]["post"]["summary"] == "Create a record"
