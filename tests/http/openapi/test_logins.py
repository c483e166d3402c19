"""Logins in the OpenAPI document, compared with the application's."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_sqlalchemy import SQLAlchemy
from jsonschema import Draft202012Validator
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
    appleId: Mapped[str | None] = mapped_column(unique=True)


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
    users = SQLAlchemyService(
        User, hidden=["password"], readonly=["githubId", "appleId"]
    )
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


def check(made, path, verb, response):
    """Check that the document has an answer."""
    answers = made["paths"][path][verb]["responses"]
    part = answers[str(response.status_code)]

    if "$ref" in part:
        part = made["components"]["responses"][part["$ref"].rpartition("/")[2]]

    assert {*part.get("headers", {})} <= {*response.headers.keys()}

    if "content" in part:
        schema = part["content"][response.mimetype]["schema"]
        schema = {**schema, "components": made["components"]}
        Draft202012Validator(schema).validate(response.json)


VIEWS = [
    ("", "/github?redirect=/page", 302),
    ("", "/nope", 404),
    ("", "/github?redirect=//evil.test", 400),
    ("/callback", "/github/callback?code=a&state=b", 302),
]


@pytest.mark.parametrize(("end", "url", "status"), VIEWS)
def test_views_of_oauth_are_as_described(app, made, end, url, status):
    headers = {"Accept": "application/json"}

    response = app.test_client().get(f"/api/oauth{url}", headers=headers)

    assert response.status_code == status
    check(made, f"/api/oauth/{{provider}}{end}", "get", response)


def test_views_of_oauth_are_those_of_the_providers(made):
    validate(made)
    paths = made["paths"]

    assert {
        path: [verb for verb in item if verb != "parameters"]
        for path, item in paths.items()
        if "oauth" in path
    } == {
        "/api/oauth/{provider}": ["get"],
        "/api/oauth/{provider}/callback": ["get"],
    }
    start = paths["/api/oauth/{provider}"]
    assert start["parameters"][0]["schema"] == {"enum": ["github"]}
    assert "Limits: 30 per 1 minute." in start["get"]["responses"]["429"]["description"]


def test_a_provider_that_posts_has_a_view_for_it():
    apple = {"key": "a", "secret": "b"}

    with make_app(apple=apple).app_context():
        made = document()

    validate(made)
    answer = made["paths"]["/api/oauth/{provider}/callback"]["post"]
    assert [*answer["requestBody"]["content"]] == ["application/x-www-form-urlencoded"]


def test_an_application_without_providers_has_no_views():
    with make_app().app_context():
        made = document()

    assert not [path for path in made["paths"] if "oauth" in path]
    assert "oauth" not in [tag["name"] for tag in made["tags"]]
    scheme = made["components"]["securitySchemes"]["token"]
    assert "oauth" not in scheme["description"]


def test_scheme_of_tokens_says_where_they_come_from(made):
    scheme = made["components"]["securitySchemes"]["token"]

    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert scheme["description"] == (
        "The accessToken of the answer to POST /api/authentication. Browsers get one at"
        " GET /api/oauth/{provider}, too. It is not a flow of OAuth 2.0 for clients."
    )
    assert "/api/oauth/{provider}" in made["paths"]


def test_logins_are_named(made):
    paths = made["paths"]

    assert paths["/api/authentication"]["post"]["summary"] == "Log in"
    assert paths["/api/authentication"]["delete"]["summary"] == "Log out"
    assert paths["/api/users"]["post"]["summary"] == "Create a record"
