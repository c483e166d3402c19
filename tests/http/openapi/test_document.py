"""The OpenAPI document of an application."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from openapi_spec_validator import validate
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship

from flask_records import AuthenticationService
from flask_records import FlaskRecords
from flask_records import hash_password
from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records.openapi import document
from flask_records.realtime import Realtime
from flask_records.service.schemas import Schemas


class Base(DeclarativeBase):
    pass


class Person(Base):
    """A reader."""

    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(50), unique=True)
    password: Mapped[str]
    salary: Mapped[int] = mapped_column(default=0, comment="In euros.")


class Page(Base):
    __tablename__ = "page"
    book: Mapped[str] = mapped_column(sa.String(20), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    notes: Mapped[str | None]
    readerId: Mapped[int] = mapped_column(sa.ForeignKey("person.id"))
    reader: Mapped[Person] = relationship()


class Bell:
    """A bell at the door."""

    def find(self, params):
        """Return what has rung."""
        return ["ding"]

    def ring(self, data, params):
        return None


def salary_of(user):
    return user is not None and {"id": user["id"]}


@pytest.fixture
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
    people = records.add("people", people, public=["find"])
    people.before("create", "update", "patch")(hash_password())
    pages = SQLAlchemyService(
        Page,
        multi=["create", "remove"],
        writable_relations=["reader"],
        whitelist=["$populate"],
    )
    records.add("people/<int:reader>/pages", pages, methods=["find", "get", "create"])
    records.add("bell", Bell(), methods=["find", "ring"], public=True)
    records.add("authentication", AuthenticationService("people"))
    records.init_app(app)

    with app.app_context():
        db.create_all()
        yield app


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


def test_document_is_valid(app):
    made = document()

    validate(made)
    assert made["openapi"] == "3.1.0"
    assert made["info"]["title"] == "library"
    assert [*made["paths"]] == [
        "/api/people",
        "/api/people/{id}",
        "/api/people/{reader}/pages",
        "/api/people/{reader}/pages/{id}",
        "/api/bell",
        "/api/authentication",
        "/api/authentication/{id}",
    ]


def test_operations_are_those_that_a_service_has(app):
    paths = document()["paths"]

    assert {*paths["/api/people"]} == {"get", "post"}
    assert {*paths["/api/people/{id}"]} == {
        "get",
        "put",
        "patch",
        "delete",
        "parameters",
    }
    assert {*paths["/api/people/{reader}/pages"]} == {"get", "post", "parameters"}
    assert {*paths["/api/bell"]} == {"get", "post"}


def test_services_with_similar_paths_have_names_of_their_own():
    app, records = Flask("tests"), FlaskRecords()
    paths = ("my-bells", "my/bells", "my-bells-page", "error")

    for path in paths:
        records.add(path, Bell(), public=True, methods=["find", "ring"])

    records.init_app(app)

    with app.app_context():
        made = document()

    ids = [item["get"]["operationId"] for item in made["paths"].values()]
    validate(made)
    assert ids == ["findMyBells", "findMyBells2", "findMyBellsPage2", "findError2"]
    assert set(made["components"]["schemas"]) == {
        *("Error", "MyBells", "MyBells2", "MyBellsPage2", "Error2")
    }


def test_operators_go_by_the_field(app):
    find = document()["paths"]["/api/people"]["get"]
    value, operations = parameters_of(find)["email"]["anyOf"]

    assert value == {"type": "string", "maxLength": 50}
    assert operations["properties"]["$gt"] == value
    assert operations["properties"]["$in"] == {"type": "array", "items": value}
    assert "$like" not in operations["properties"]
    assert parameters_of(find)["$limit"]["default"] == 10


def test_relationships_are_those_that_a_service_shows(app):
    made = document()
    pages, people = "/api/people/{reader}/pages", "/api/people"

    for path in (pages, f"{pages}/{{id}}"):
        populate = parameters_of(made["paths"][path]["get"])["$populate"]
        assert populate["items"] == {"enum": ["reader"]}

    assert "$populate" not in parameters_of(made["paths"][people]["get"])


def test_bodies_have_what_a_client_sends(app):
    made = document()
    body = body_of(made, made["paths"]["/api/people"]["post"])
    change = body_of(made, made["paths"]["/api/people/{id}"]["patch"])

    assert body["required"] == ["email", "password"]
    assert body["properties"]["password"]["writeOnly"]
    assert "id" not in body["properties"]
    assert "required" not in change


def test_fields_of_a_relationship_are_given_by_it(app):
    body = document()["components"]["schemas"]["PeoplePagesCreate"]

    assert body["required"] == ["book", "number"]
    assert "reader" in body["properties"]


def test_answers_are_records_or_pages(app):
    made = document()
    found = made["paths"]["/api/people"]["get"]["responses"]["200"]
    page = resolved(made, found["content"]["application/json"]["schema"])
    record = resolved(made, page["properties"]["data"]["items"])

    assert record["description"] == "A reader."
    assert "password" not in record["properties"]
    assert made["components"]["schemas"]["PeoplePages"]["required"] == ["id"]


def test_errors_are_those_of_the_method(app):
    paths = document()["paths"]

    assert {*paths["/api/people/{id}"]["get"]["responses"]} == {
        *("200", "304", "412"),
        *("400", "401", "403", "404", "405", "500", "503", "default"),
    }
    assert "409" in paths["/api/people"]["post"]["responses"]


def test_methods_that_need_a_token_say_so(app):
    made = document()

    assert made["paths"]["/api/people"]["get"]["security"] == []
    assert made["paths"]["/api/people"]["post"]["security"] == [{"token": []}]
    assert made["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_custom_methods_are_named_by_their_header(app):
    ring = document()["paths"]["/api/bell"]["post"]

    (header,) = ring["parameters"]
    assert header["schema"]["enum"] == ["ring"]
    assert header["required"]


def test_texts_are_those_of_the_application(app):
    made = document(Params(provider="rest", user={"id": 1}))

    assert made["tags"][0] == {"name": "people", "description": "A reader."}
    assert made["tags"][2] == {"name": "bell", "description": "A bell at the door."}
    find = made["paths"]["/api/bell"]["get"]
    assert find["description"] == "Return what has rung."
    salary = made["components"]["schemas"]["People"]["properties"]["salary"]
    assert salary["description"] == "In euros."


def test_document_has_what_its_reader_may_see(app):
    for user, is_shown in ((None, False), ({"id": 1}, True)):
        made = document(Params(provider="rest", user=user))
        find = made["paths"]["/api/people"]["get"]

        assert ("salary" in made["components"]["schemas"]["People"]["properties"]) is (
            is_shown
        )
        assert ("salary" in parameters_of(find)) is is_shown


def test_command_prints_the_document(app):
    result = app.test_cli_runner().invoke(args=["records", "openapi"])

    assert result.exit_code == 0
    assert json.loads(result.output) == document()


def test_events_are_webhooks_of_an_application_with_real_time(app):
    assert "webhooks" not in document()

    records = app.extensions["records"]
    heard = {"type": "object", "properties": {"times": {"type": "integer"}}}
    target = Bell()
    target.schemas_for = lambda params: Schemas(events={"rung": heard})
    records.add("bells", target, methods=["find"], events=["rung", "muted"])
    Realtime(records).init_app(app)

    made = document()

    validate(made)
    assert {
        name: (each["post"]["operationId"], body_schema(each["post"]))
        for name, each in made["webhooks"].items()
    } == {
        "people created": ("PeopleCreated", {"$ref": "#/components/schemas/People"}),
        "people updated": ("PeopleUpdated", {"$ref": "#/components/schemas/People"}),
        "people patched": ("PeoplePatched", {"$ref": "#/components/schemas/People"}),
        "people removed": ("PeopleRemoved", {"$ref": "#/components/schemas/People"}),
        "people/<int:reader>/pages created": (
            "PeoplePagesCreated",
            {"$ref": "#/components/schemas/PeoplePages"},
        ),
        "bells rung": ("BellsRung", heard),
        "bells muted": ("BellsMuted", {}),
    }


def body_schema(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]
