"""Options of another form are refused with what to write instead."""

import re

import pytest
from flask import Flask

from flask_records import FlaskRecords, SQLAlchemyService

from ..models import Message, User


class Plain:
    def find(self, params):
        return []


class Hiding(Plain):
    hidden = "secret"


class Announcing(Plain):
    events = "typing"


OPTIONS = [
    (lambda: SQLAlchemyService(User, hidden="password"), "hidden=['password']"),
    (lambda: SQLAlchemyService(User, readonly="age"), "readonly=['age']"),
    (lambda: SQLAlchemyService(User, whitelist="$regex"), "whitelist=['$regex']"),
    (lambda: SQLAlchemyService(User, events="blocked"), "events=['blocked']"),
    (lambda: SQLAlchemyService(User, multi="create"), "multi=['create']"),
    (lambda: SQLAlchemyService(User, multi=5), "multi=['name']"),
    (lambda: SQLAlchemyService(User, multi={"create": 5}), "multi=['create']"),
    (lambda: SQLAlchemyService(User, hidden=[User.password]), "hidden=['name']"),
    (lambda: SQLAlchemyService(User, hidden=True), "hidden=['name']"),
    (lambda: SQLAlchemyService(User, operators=["$x"]), 'operators={"$startsWith"'),
    (lambda: SQLAlchemyService(User, populate=["room"]), 'populate={"author": '),
    (lambda: SQLAlchemyService(User()), "SQLAlchemyService(Model)"),
    (lambda: SQLAlchemyService("User"), "SQLAlchemyService(Model)"),
    (lambda: add(Plain(), public="find"), "public=['find']"),
    (lambda: add(Plain(), public=1), "public=['name']"),
    (lambda: add(Plain(), methods="find"), "methods=['find']"),
    (lambda: add(Plain(), events="typing"), "events=['typing']"),
    (lambda: add(Plain(), strategies="jwt"), "strategies=['jwt']"),
    (lambda: add(Announcing()), "events=['typing']"),
    (lambda: add(Plain), "Plain(...)"),
    (lambda: add(User), "SQLAlchemyService(User)"),
]


def add(target, **options):
    return FlaskRecords().add("things", target, **{"public": True, **options})


@pytest.mark.parametrize(("make", "cure"), OPTIONS)
def test_an_option_of_another_form_is_refused_with_its_form(make, cure):
    with pytest.raises(TypeError, match=re.escape(cure)):
        make()


def test_hidden_of_an_object_is_a_list():
    with pytest.raises(TypeError, match=re.escape("hidden=['secret']")):
        FlaskRecords().add("things", Hiding(), public=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SQLAlchemyService(User, multi=["find"]),
            "'multi' names 'find'. It takes some of these: multi=['create', 'patch',"
            " 'remove'].",
        ),
        (
            lambda: add(Plain(), public=["fnd"]),
            "'public' of 'things' names 'fnd', which is not a method. The methods are:"
            " find, get, create, update, patch, remove, and methods of the object that"
            " 'methods' names.",
        ),
    ],
)
def test_a_wrong_name_is_told_with_the_right_ones(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("name", ["pasword", "messages"])
@pytest.mark.parametrize("option", ["id", "hidden", "readonly", "fields", "write_once"])
def test_a_wrong_field_is_told_with_the_right_ones(option, name):
    service = SQLAlchemyService(User, **{option: name if option == "id" else [name]})
    fields = "Its fields are: id, email, password, age."

    with pytest.raises(ValueError) as caught:
        service.check(Flask("app"))

    told = f"{option!r} names {name!r}, which is not a field of 'User'. {fields}"
    assert str(caught.value) == told


def test_any_iterable_of_names_is_a_list():
    service = SQLAlchemyService(
        Message, hidden=(name for name in ["rank"]), multi={"create"}, readonly={"read"}
    )

    assert service.hidden == {"rank"}
    assert "create" in service.multi
