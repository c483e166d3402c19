"""The OpenAPI document of an application."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from openapi_spec_validator import validate
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    Params,
    SQLAlchemyService,
)
from flask_records.openapi import document
from flask_records.realtime import Realtime
from tests.authentication import ANY_LOGIN


class Base(DeclarativeBase):
    pass


class Person(Base):
    """A reader."""

    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(50), unique=True)
    password: Mapped[str]
    salary: Mapped[int] = mapped_column(default=0, comment="In euros.")
    pages: Mapped[list[Page]] = relationship(back_populates="reader")


class Page(Base):
    __tablename__ = "page"
    book: Mapped[str] = mapped_column(sa.String(20), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    notes: Mapped[str | None]
    readerId: Mapped[int] = mapped_column(sa.ForeignKey("person.id"))
    reader: Mapped[Person] = relationship(back_populates="pages")


class Bell:
    """A bell at the door."""

    def find(self, params):
        """Return what has rung."""
        return ["ding"]

    def ring(self, data, params):
        return None


class Doors:
    def find(self, params):
        return []

    def create(self, data, params):
        return data

    def remove(self, id, params):
        return {"id": id}


def salary_of(user):
    return user is not None and {"id": user["id"]}


@pytest.fixture(scope="module")
def app():
    app = Flask("library")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["SECRET_KEY"] = "5e" * 32
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords(url_prefix="/api")
    people = SQLAlchemyService(
        Person,
        hidden=["password"],
        visible={"salary": salary_of},
        paginate={"default": 10, "max": 50},
    )
    people = records.add("people", people, public=["find"], allow=ANY_LOGIN)
    people.before("create", "update", "patch")(hash_password())
    pages = SQLAlchemyService(
        Page,
        multi=["create", "remove"],
        whitelist=["$populate"],
    )
    records.add("people/<int:reader>/pages", pages, methods=["find", "get", "create"])
    records.add("bell", Bell(), methods=["find", "ring"], public=True)
    records.add("authentication", AuthenticationService("people"))
    records.init_app(app)

    with app.app_context():
        db.create_all()
        yield app


@pytest.fixture(scope="module")
def made(app):
    return document()


def resolved(made, part):
    """Return a part of a document that a reference stands for."""
    for name in part["$ref"].removeprefix("#/").split("/"):
        made = made[name]

    return made


def parameters_of(operation):
    return {each["name"]: each["schema"] for each in operation["parameters"]}


def body_of(made, operation):
    content = operation["requestBody"]["content"]["application/json"]
    return resolved(made, content["schema"])


def test_document_is_valid(made):
    validate(made)
    assert (made["openapi"], made["info"]["title"]) == ("3.1.0", "library")


def test_operations_are_those_that_a_service_has(made):
    assert {
        path: [verb for verb in item if verb != "parameters"]
        for path, item in made["paths"].items()
    } == {
        "/api/people": ["get", "post"],
        "/api/people/{id}": ["get", "put", "patch", "delete"],
        "/api/people/{reader}/pages": ["get", "post"],
        "/api/people/{reader}/pages/{id}": ["get"],
        "/api/bell": ["get", "post"],
        "/api/authentication": ["post", "delete"],
        "/api/authentication/{id}": ["delete"],
    }


def test_parameters_are_those_of_the_fields_and_options(made):
    paths = made["paths"]
    find = parameters_of(paths["/api/people"]["get"])
    value = {"type": "string", "maxLength": 50}

    assert (find["email"], find["email[$gt]"]) == (value, value)
    assert find["email[$in]"] == {"type": "array", "items": value}
    assert "email[$like]" not in find
    names = {"x-enum-varnames": ["ascending", "descending"]}
    direction = {"$ref": "#/components/schemas/Direction"}
    assert find["$sort[email]"] == direction
    assert resolved(made, direction) == {"type": "integer", "enum": [1, -1], **names}
    assert find["$limit"]["default"] == 10
    # A list of queries has no place in a document.
    assert "$or" not in find
    assert "$populate" not in find

    for path in ("/api/people/{reader}/pages", "/api/people/{reader}/pages/{id}"):
        populate = parameters_of(paths[path]["get"])["$populate"]
        assert populate["items"] == {"enum": ["reader"]}


def test_bodies_have_what_a_client_sends(made):
    body = body_of(made, made["paths"]["/api/people"]["post"])
    change = body_of(made, made["paths"]["/api/people/{id}"]["patch"])

    assert body["required"] == ["email", "password"]
    assert body["properties"]["password"]["writeOnly"]
    assert "id" not in body["properties"]
    # Tools take a property with a default for one that is always there.
    assert "default" not in body["properties"]["salary"]
    assert "required" not in change


def test_answers_are_records_or_pages(made):
    found = made["paths"]["/api/people"]["get"]["responses"]["200"]
    page = resolved(made, found["content"]["application/json"]["schema"])
    record = resolved(made, page["properties"]["data"]["items"])

    assert record["description"] == "A reader."
    assert "password" not in record["properties"]
    assert made["components"]["schemas"]["PeoplePages"]["required"] == ["id"]


def test_errors_are_those_of_the_method(made):
    paths = made["paths"]

    assert {*paths["/api/people/{id}"]["get"]["responses"]} == {
        *("200", "400", "401", "403", "404", "500", "503", "default"),
    }
    assert "409" in paths["/api/people"]["post"]["responses"]


def test_custom_methods_are_named_by_their_header(made):
    post = made["paths"]["/api/bell"]["post"]
    (header,) = post["parameters"]

    assert (header["schema"]["enum"], header["required"]) == (["ring"], True)
    assert "content" not in post["responses"]["200"]


def test_texts_are_those_of_the_application(app):
    made = document(Params(provider="rest", user={"id": 1}))

    assert made["tags"][0] == {"name": "people", "description": "A reader."}
    assert made["tags"][1] == {"name": "bell", "description": "A bell at the door."}
    find = made["paths"]["/api/bell"]["get"]
    assert find["description"] == "Return what has rung."
    salary = made["components"]["schemas"]["People"]["properties"]["salary"]
    assert salary["description"] == "In euros."


@pytest.mark.parametrize(("user", "is_shown"), [(None, False), ({"id": 1}, True)])
def test_document_has_what_its_reader_may_see(app, user, is_shown):
    made = document(Params(provider="rest", user=user))
    fields = made["components"]["schemas"]["People"]["properties"]

    assert ("salary" in fields) is is_shown
    assert ("salary" in parameters_of(made["paths"]["/api/people"]["get"])) is is_shown


def test_events_are_webhooks_of_an_application_with_real_time(made):
    app, records = Flask("tests"), FlaskRecords()
    app.config["RECORDS_OPENAPI"] = {"events": True}
    records.add("doors", Doors(), public=True)
    bells = {"methods": ["find"], "events": ["rung"]}
    records.add("bells", Bell(), public=True, **bells)
    records.init_app(app)
    Realtime(records).init_app(app)

    with app.app_context():
        live = document()

    validate(live)
    assert all(each["post"]["security"] == [] for each in live["webhooks"].values())
    assert "webhooks" not in made
    assert {
        name: (each["post"]["operationId"], body_schema(each["post"]))
        for name, each in live["webhooks"].items()
    } == {
        "doors created": ("DoorsCreated", {"$ref": "#/components/schemas/Doors"}),
        "doors removed": ("DoorsRemoved", {"$ref": "#/components/schemas/Doors"}),
        "bells rung": ("BellsRung", {}),
    }


def body_schema(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]
