"""The types of services for clients in Python. Those of tests/python_client check the
module of the example with mypy, and call with it.
"""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import sessionmaker

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService
from flask_records.openapi.python import python
from flask_records.openapi.python_forms import form_of
from flask_records.openapi.python_runtime import runtime
from flask_records.openapi.python_types import Declarations
from flask_records.openapi.typescript import typescript

DATE = {"type": "string", "format": "date"}


class Bell:
    def find(self, params):
        return []

    def ring(self, data, params):
        return None


def made(*paths, **options):
    """The module of an application with services at some paths."""
    records = FlaskRecords(**options)

    for path in paths:
        records.add(path, Bell(), methods=["find", "ring"], public=True)

    app = Flask("bells")
    records.init_app(app)

    with app.app_context():
        return python()


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "string"}, "str"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"type": "string", "format": "date-time"}, "dt.datetime"),
        ({"type": "string", "format": "email"}, "str"),
        ({"type": "string", "contentEncoding": "base64"}, "bytes"),
        ({"anyOf": [DATE, {"type": "null"}]}, "dt.date | None"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "int | float"),
        ({"anyOf": [{"type": "string"}, {}]}, "t.Any"),
        ({"enum": ["a", None]}, 't.Literal["a", None]'),
        ({"enum": [1.5]}, "t.Any"),
        ({"const": 'a"b'}, r't.Literal["a\"b"]'),
        ({"type": "array", "items": DATE}, "list[dt.date]"),
        ({"type": "array", "items": False}, "list[t.Any]"),
        ({"type": "object"}, "dict[str, t.Any]"),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            "dict[str, int]",
        ),
        # Clients do not read values of any name.
        ({"type": "object", "additionalProperties": DATE}, "dict[str, t.Any]"),
        ({"type": "object", "properties": {"b-c": True}}, "A"),
        ({}, "t.Any"),
        (True, "t.Any"),
    ],
)
def test_schemas_are_types(schema, type_):
    assert Declarations().type_of(schema, "A") == type_


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        (DATE, "date"),
        ({"type": "string"}, None),
        ({"type": ["string", "null"], "format": "decimal"}, "decimal"),
        ({"oneOf": [{"type": "null"}, DATE]}, "date"),
        ({"type": "array", "items": DATE}, ["date"]),
        ({"properties": {"a": DATE, "b": {}}}, {"a": "date"}),
        ({"type": "array", "items": True}, None),
        ({"anyOf": [{"type": "array", "items": DATE}, DATE]}, (["date"], "date")),
    ],
)
def test_schemas_have_forms_if_there_is_something_to_convert(schema, form):
    assert form_of(schema) == form


def test_types_are_declared_before_those_that_use_them():
    declarations = Declarations({"Address"})
    address = {"type": "object", "properties": {"zip": {"type": "string"}}}
    user = {"properties": {"": address, "$a": {"type": "integer"}}}

    declarations.object_type("Address", user, ["$a"])

    assert str(declarations) == (
        'Address_ = t.TypedDict(\n    "Address_",\n    {\n'
        '        "zip": t.NotRequired[str],\n    },\n)\n\n'
        'Address__ = t.TypedDict(\n    "Address__",\n    {\n'
        '        "": t.NotRequired[Address_],\n        "$a": int,\n    },\n)'
    )


def test_records_inside_of_others_are_declared_anywhere():
    user = {"type": "object", "properties": {"name": {"type": "string"}}}
    declarations = Declarations((), {"User", "LoginUser"}, [(user, "User")])
    address = {"type": "object", "properties": {"zip": {"type": "string"}}}
    login = {"properties": {"user": user, "users": {"type": "array", "items": user}}}

    assert declarations.type_of(address, "LoginUser") == "LoginUser_"
    declarations.object_type("Login", login, ["user"], [("by", "User | None")])

    assert str(declarations).partition("\n\n")[2] == (
        'Login = t.TypedDict(\n    "Login",\n    {\n        "user": "User",\n'
        '        "users": t.NotRequired["list[User]"],\n'
        '        "by": t.NotRequired["User | None"],\n    },\n)'
    )


def test_services_have_names_of_python():
    source = made("my/bell", "my-bell", "import", "close", "2nd", "a/:b/c")

    for name in ("my_bell", "my_bell_", "import_", "close_", "_2nd", "a_c"):
        assert source.count(f"    def {name}(self") == 2

    assert "class MyBell2Service(" in source
    compile(source, "bells.py", "exec")


def test_addresses_are_those_of_the_application():
    source = made("bells", url_prefix="/api/")

    assert source.count('    PREFIX = "/api"\n') == 2
    assert 'BellsService(self, quote("bells"), FORMS["bells"])' in source


def test_runtime_imports_packages_of_clients_only():
    packages = {
        line.split()[1].partition(".")[0] for line in runtime().imports.splitlines()
    }

    assert packages & {"flask", "flask_records", "sqlalchemy", "werkzeug"} == set()
    assert "httpx" in packages
    assert "flask_records " not in runtime().text


@pytest.mark.parametrize("name", ["order line", "class", "list", "größe"])
def test_models_that_are_named_as_tables_have_types_named_as_paths(name):
    """Automap takes the names of tables."""

    class Base(DeclarativeBase):
        pass

    columns = {"id": sa.Column(sa.Integer, primary_key=True)}
    model = type(name, (Base,), {"__tablename__": name, **columns})
    app = Flask("tables")
    records = FlaskRecords()
    session = sessionmaker(sa.create_engine("sqlite://"))
    service = SQLAlchemyService(model, session=session)
    records.add("my/orders", service, public=True)
    records.init_app(app)

    with app.app_context():
        module, client = python(), typescript()

    compile(module, "client.py", "exec")
    assert "\nMyOrders = t.TypedDict(" in module
    assert "export interface MyOrders {" in client
