"""The commands of ``flask records``."""

from __future__ import annotations

import json

import click
import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
)
from tests.authentication import ANY_LOGIN, CHEAP, SECRET
from tests.databases import leave


class Bell:
    """Rings in the café."""

    def find(self, params):
        return []


def run(*arguments):
    app = Flask("bells")
    records = FlaskRecords()
    records.add("bells", Bell(), public=True)
    records.init_app(app)
    return app.test_cli_runner().invoke(args=["records", *arguments])


def test_commands_of_the_application_of_this_name_stay():
    app = Flask("tests")
    own = click.Group("records")
    app.cli.add_command(own)

    FlaskRecords(app)

    assert app.cli.commands["records"] is own


def test_shell_has_the_extension():
    app = Flask("tests")
    records = FlaskRecords(app)

    with app.app_context():
        assert app.make_shell_context()["current_records"] == records


def test_document_is_printed_as_json():
    printed = run("openapi").stdout

    assert list(json.loads(printed)["paths"]) == ["/bells"]
    assert "Rings in the café." in printed


def test_types_are_printed():
    printed = run("types").stdout

    assert "export interface BellsService" in printed
    assert printed.endswith("as unknown as ClientApplication\n}\n")


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True)
    password: Mapped[str]
    isAdmin: Mapped[bool] = mapped_column(default=False)
    age: Mapped[int | None]


@pytest.fixture
def people():
    app, records = Flask("people"), FlaskRecords()
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["RECORDS_AUTHENTICATION"] = {"secret": SECRET, "passwords": CHEAP}
    db = SQLAlchemy(app, model_class=Base)
    records.add("authentication", AuthenticationService(normalize=str.lower))
    service = SQLAlchemyService(User, hidden=["password"], readonly=["isAdmin"])
    users = records.add("users", service, public=["create"], allow=ANY_LOGIN)
    users.before("create", "update", "patch")(hash_password())
    records.init_app(app)

    with app.app_context():
        db.create_all()

    yield app

    with app.app_context():
        leave(db)


def create_user(app, *options, **input):
    arguments = ["records", "create-user", *options]
    return app.test_cli_runner().invoke(args=arguments, **input)


def test_user_is_created_by_the_fields_of_the_model(people):
    options = ["email=Ann@Example.com", "isAdmin=true", "age=30"]

    done = create_user(people, *options, input="a long secret\n")

    login = {"strategy": "local", "email": "ann@example.com"}
    login["password"] = "a long secret"
    user = people.test_client().post("/authentication", json=login).json["user"]
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "Created the user 1.")
    assert "a long secret" not in done.output
    assert user == {"id": 1, "email": "ann@example.com", "isAdmin": True, "age": 30}


def test_user_that_does_not_fit_is_not_created(people):
    options = ["password=a long secret", "age=old"]

    done = create_user(people, *options)

    assert done.exit_code == 1
    assert done.stderr.startswith("Error: age ")
    assert "email is required" in done.stderr


def test_user_is_created_only_where_there_are_users():
    app = Flask("tests")
    FlaskRecords(app)

    done = create_user(app, "email=ann@example.com")

    assert (done.exit_code, done.stderr.splitlines()) == (
        1,
        [
            "Error: There is no authentication service. Add one:"
            " records.add('authentication', AuthenticationService())."
        ],
    )
