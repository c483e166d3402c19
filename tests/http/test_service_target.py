from __future__ import annotations

import pytest
from flask import current_app

from flask_records import Params, SQLAlchemyService
from flask_records.service import Capabilities

from ..models import User


class Plain:
    """Has nothing but a method."""

    def get(self, id, params):
        return {"id": id}


def test_object_without_optional_parts_has_the_defaults():
    capabilities = Capabilities.of(Plain())

    assert capabilities == Capabilities()
    assert capabilities.begin("get") is None
    assert capabilities.check_multi("create", Params(), 2) is None


def test_optional_parts_of_an_adapter():
    target = SQLAlchemyService(User, events=["welcomed"], hidden=["password"])

    capabilities = Capabilities.of(target)

    assert capabilities == Capabilities(
        id="id",
        hidden=frozenset({"password"}),
        relationships=target.relationships,
        sends_events=True,
        model=User,
        begin=target.begin,
        check=target.check,
        check_multi=target.check_multi,
        fields_for=target.fields_for,
        schemas_for=target.schemas_for,
        beside_schema=target.beside_schema,
        client_fields=target.client_fields,
        matching=target.matching,
        own_methods=frozenset(target.own_methods),
        field_rules=target.field_rules,
        relations_of=target.relations_of,
        services_of=target.services_of,
    )


def test_collections_of_any_type_are_taken():
    class Things(Plain):
        hidden = ["secret"]
        relationships = {"room": None}

    capabilities = Capabilities.of(Things())

    assert capabilities.hidden == frozenset({"secret"})
    assert capabilities.relationships == frozenset({"room"})


def test_method_named_hidden_hides_no_field():
    class Things(Plain):
        def hidden(self, data, params):
            return data

    assert Capabilities.of(Things()).hidden == frozenset()


def test_optional_parts_are_read_once(records, app_context):
    class Things(Plain):
        reads = 0

        @property
        def id(self):
            type(self).reads += 1
            return "key"

    things = records.add("things", Things(), public=True)
    things.get(1)

    assert things.capabilities.id == "key"
    assert Things.reads == 1


def test_property_that_needs_an_application_is_left_out():
    class Things(Plain):
        @property
        def id(self):
            return current_app.config["ID"]

    assert Capabilities.of(Things()) == Capabilities()


@pytest.mark.parametrize("name", ["begin", "check_multi"])
def test_step_of_the_object_runs_before_its_hooks(records, app_context, name):
    calls = []

    class Things:
        def create(self, data, params):
            return data

    setattr(Things, name, lambda self, *arguments: calls.append(arguments[0]))
    things = records.add("things", Things(), public=True)
    things.before("create")(lambda method, context: calls.append("hook"))

    things.create([{}])

    assert calls == ["create", "hook"]
