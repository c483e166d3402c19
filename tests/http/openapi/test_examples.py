"""Each example of the OpenAPI document, sent to the application."""

from __future__ import annotations

import datetime as dt
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from flask import Flask
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
from flask_records.service.schemas import Schemas

PASSWORD = "correct horse battery"


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True, info={"example": "ann@example.com"})
    password: Mapped[str] = mapped_column(info={"example": PASSWORD})


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(info={"example": "Ulysses"})
    state: Mapped[str] = mapped_column(sa.Enum("new", "used"))
    price: Mapped[float | None] = mapped_column(info={"example": 9.5})
    day: Mapped[dt.date | None] = mapped_column(info={"example": "1922-02-02"})
    secret: Mapped[str | None] = mapped_column(info={"example": "hidden"})


class Untold(Base):
    """The values of its fields are not known."""

    __tablename__ = "untold"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    text: Mapped[str] = mapped_column(info={"example": "Hi"})


class Counter:
    def create(self, data, params):
        return {"value": data["value"] + 1}

    def schemas_for(self, params):
        number = {"type": "object", "properties": {"value": {"type": "integer"}}}
        return Schemas(number, number | {"examples": [{"value": 3}]})


class Broken:
    def find(self, params):
        raise LookupError


@pytest.fixture(scope="module")
def app():
    app = Flask("examples")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["SECRET_KEY"] = "5e" * 32
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords()
    records.add("authentication", AuthenticationService())
    users = SQLAlchemyService(User, hidden=["password"])
    users = records.add("users", users, public=["create"])
    users.before("create", "update", "patch")(hash_password())
    books = SQLAlchemyService(
        Book, paginate={"default": 5}, multi=True, exclude=["secret"]
    )
    records.add("books", books)
    records.add("untold", SQLAlchemyService(Untold), public=True)
    records.add("counter", Counter(), public=True)
    records.add("broken", Broken(), public=True)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        yield app


@pytest.fixture(scope="module")
def made(app):
    return document()


@pytest.fixture(scope="module")
def headers(app):
    """Those of a user who has logged in."""
    client = app.test_client()
    user = {"email": "bob@example.com", "password": PASSWORD}
    client.post("/users", json=user)
    login = client.post("/authentication", json={"strategy": "local", **user})
    return {"Authorization": f"Bearer {login.json['accessToken']}"}


def examples_of(made):
    """Yield the path, the verb and a request of each example, in order."""
    for path, operations in made["paths"].items():
        for verb, operation in operations.items():
            if verb == "parameters":
                continue

            for parameter in operation["parameters"]:
                if "example" in parameter:
                    yield path, verb, {"query_string": text_of(parameter)}

            content = operation.get("requestBody", {}).get("content", {})

            if "example" in content.get("application/json", {}):
                yield path, verb, {"json": content["application/json"]["example"]}


def text_of(parameter):
    """The query string of a parameter, by its style."""
    name, value = parameter["name"], parameter["example"]

    if parameter["style"] == "deepObject":
        return urlencode({f"{name}[{key}]": each for key, each in value.items()})

    return urlencode({name: value}, doseq=True)


def reset(session):
    """Leave the first user, who has logged in, and one record of each model."""
    session.execute(sa.delete(User).where(User.id != 1))
    session.execute(sa.delete(Book))
    session.execute(sa.delete(Untold))
    session.add(User(id=2, email="cat@example.com", password=""))
    session.add(Book(id=2, title="Emma", state="used"))
    session.add(Untold(id=2, name="b", text="c"))
    session.commit()


def test_each_example_is_accepted(app, made, headers):
    client, session = app.test_client(), app.extensions["sqlalchemy"].session
    number = 0

    for path, verb, example in examples_of(made):
        # A write needs a body, too.
        if verb in ("post", "put", "patch") and "json" not in example:
            continue

        reset(session)
        url = path.replace("{id}", "2")
        response = client.open(url, method=verb.upper(), headers=headers, **example)

        assert response.status_code < 300, (path, verb, example, response.text)
        number += 1

    assert number > 20


def test_examples_are_those_of_the_columns(made):
    book = {"title": "Ulysses", "state": "new", "price": 9.5, "day": "1922-02-02"}
    bodies = {
        (path, verb): example["json"]
        for path, verb, example in examples_of(made)
        if "json" in example
    }

    validate(made)
    assert bodies == {
        ("/users", "post"): {"email": "ann@example.com", "password": PASSWORD},
        ("/users/{id}", "put"): {"email": "ann@example.com", "password": PASSWORD},
        ("/users/{id}", "patch"): {"email": "ann@example.com", "password": PASSWORD},
        ("/books", "post"): book,
        ("/books", "patch"): {k: v for k, v in book.items() if k != "state"},
        ("/books/{id}", "put"): book,
        ("/books/{id}", "patch"): {k: v for k, v in book.items() if k != "state"},
        ("/untold/{id}", "patch"): {"text": "Hi"},
        ("/counter", "post"): {"value": 3},
    }


ERRORS = [
    ("BadRequest", "get", "/untold?$foo=red", {}),
    ("NotAuthenticated", "get", "/books", {}),
    ("NotFound", "get", "/untold/0", {}),
    ("MethodNotAllowed", "post", "/untold", {"X-Service-Method": "nope"}),
    ("GeneralError", "get", "/broken", {}),
]


@pytest.mark.parametrize(("name", "verb", "url", "headers"), ERRORS)
def test_examples_of_errors_are_answers(app, made, name, verb, url, headers):
    response = app.test_client().open(url, method=verb.upper(), headers=headers)

    content = made["components"]["responses"][name]["content"]["application/json"]
    assert content["example"] == response.json
