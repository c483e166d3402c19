"""The names of services in the OpenAPI document and in the types of TypeScript."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.openapi import document
from flask_records.openapi.typescript import typescript


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


def names_of(paths):
    """The names of the records of services over one model, by path.

    :param paths: The names of the services by path, or ``None``.
    """
    app, records = Flask("tests"), FlaskRecords()
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    SQLAlchemy(app, model_class=Base)

    for path, name in paths.items():
        records.add(path, SQLAlchemyService(User), public=True, name=name)

    records.init_app(app)

    with app.app_context():
        made, types = document(), typescript()

    services = dict(re.findall(r'"?([\w:/-]+)"?: (\w+)Service$', types, re.MULTILINE))
    operations = {
        item["get"]["tags"][0]: item["get"]["operationId"].removeprefix("find")
        for path, item in made["paths"].items()
        if "{id}" not in path
    }
    assert [*services.values()] == [*operations.values()]
    assert {*services.values()} <= made["components"]["schemas"].keys()
    return [*services.values()]


def test_names_are_made_of_paths_and_another_service_changes_none():
    assert names_of({"users": None}) == ["Users"]
    assert names_of({"users": None, "people": None}) == ["Users", "People"]
    assert names_of({"my-users/of_all": None}) == ["MyUsersOfAll"]
    assert names_of({"2nd": None, "rooms/:id_/users": None}) == ["The2nd", "RoomsUsers"]


def test_names_of_their_own_come_first():
    paths = {"user": None, "people": "User"}

    assert names_of({"users": "User", "people": None}) == ["User", "People"]
    assert names_of(paths) == ["User2", "User"]


@pytest.mark.parametrize("name", ["user", "My User", "", "Us-er", "Üser"])
def test_name_is_one_of_a_type(name):
    with pytest.raises(ValueError, match="'name' is the name of a type"):
        FlaskRecords().add("users", SQLAlchemyService(User), name=name)


def test_name_is_of_one_service():
    records = FlaskRecords()
    records.add("users", SQLAlchemyService(User), name="User")

    with pytest.raises(ValueError, match="a service with the name 'User' already"):
        records.add("people", SQLAlchemyService(User), name="User")
