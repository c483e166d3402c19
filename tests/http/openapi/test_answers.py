"""The answers in the OpenAPI document, compared with those of the application."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from openapi_spec_validator import validate
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    MultipartParser,
    NotAuthenticated,
    parse_json,
    SQLAlchemyService,
    Strategy,
)
from flask_records.openapi import document
from flask_records.openapi.typescript import typescript
from tests.authentication import ANY_LOGIN


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True)
    password: Mapped[str | None]


class Upload(Base):
    __tablename__ = "upload"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


def authenticate_by_cookie(service, data, params):
    if data["key"] != "open sesame":
        raise NotAuthenticated("Invalid key")

    return {"user": None}


def cookie_in(headers):
    key = headers.get("Cookie", "").partition("key=")[2]
    return {"key": key} if key else None


STRATEGIES = ["Local", "Cookie"]

COOKIE = {"type": "apiKey", "in": "cookie", "name": "key"}

KEY = {"properties": {"key": {"type": "string"}}, "required": ["key"]}


@pytest.fixture(scope="module")
def app():
    app = Flask("answers")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["SECRET_KEY"] = "5e" * 32
    app.config["MAX_CONTENT_LENGTH"] = 1000
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords()
    strategies = {
        "cookie": Strategy(authenticate_by_cookie, cookie_in, COOKIE, KEY),
        "header": Strategy(authenticate_by_cookie, lambda headers: None),
    }
    app.config["RECORDS_AUTHENTICATION"] = {"strategies": ["local", "cookie"]}
    records.add("authentication", AuthenticationService(strategies=strategies))
    users = SQLAlchemyService(User, hidden=["password"], paginate={"default": 5})
    users = records.add("users", users, strategies=["jwt", "cookie"], allow=ANY_LOGIN)
    users.before("create", "update", "patch")(hash_password())
    parsers = {
        "application/json": parse_json,
        "multipart/form-data": MultipartParser(),
        "text/csv": lambda request: {"name": request.get_data(as_text=True)},
    }
    uploads = SQLAlchemyService(Upload, multi=["create"])
    records.add("uploads", uploads, public=True, body_parsers=parsers)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        db.session.add(Upload(name="a"))
        db.session.commit()
        yield app


@pytest.fixture(scope="module")
def made(app):
    return document()


def test_bodies_are_json(made):
    one = {"$ref": "#/components/schemas/UploadsCreate"}
    many = {"$ref": "#/components/schemas/UploadsCreateList"}
    content = made["paths"]["/uploads"]["post"]["requestBody"]["content"]

    assert content == {"application/json": {"schema": {"anyOf": [one, many]}}}


def test_strategies_are_schemes(made):
    validate(made)
    schemes = made["components"]["securitySchemes"]

    assert made["paths"]["/users"]["get"]["security"] == [{"token": []}, {"cookie": []}]
    assert made["paths"]["/uploads"]["get"]["security"] == []
    assert [*schemes] == ["token", "cookie", "header"]
    assert schemes["cookie"] == {"description": "The strategy 'cookie'.", **COOKIE}
    assert schemes["token"] == {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "The accessToken of the answer to POST /authentication.",
    }


def test_strategy_describes_what_it_takes(made):
    schemas, text = made["components"]["schemas"], {"type": "string"}
    kinds = [f"#/components/schemas/AuthenticationCreate{n}" for n in STRATEGIES]

    assert schemas["AuthenticationCreate"]["anyOf"] == [{"$ref": n} for n in kinds]
    assert schemas["AuthenticationCreateCookie"] == {
        "type": "object",
        "properties": {"strategy": {**text, "const": "cookie"}, "key": text},
        "required": ["strategy", "key"],
    }
    assert (
        "export type AuthenticationData = "
        '{ strategy: "local"; email: string; password: string } | '
        '{ strategy: "cookie"; key: string }\n'
    ) in typescript()


def test_logins_are_named(made):
    paths = made["paths"]

    assert paths["/authentication"]["post"]["summary"] == "Log in"
    assert paths["/authentication"]["delete"]["summary"] == "Log out"
