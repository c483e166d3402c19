"""Bodies of calls in Python, checked by models of pydantic."""

from __future__ import annotations

import enum

import pytest

from flask_records import BadRequest
from flask_records import SQLAlchemyService

from .people import Person


@pytest.mark.parametrize("name", ["update", "_update"])
def test_schema_is_not_that_of_calls_in_the_call(call, records, persons, name):
    plain = records.add("plain", SQLAlchemyService(Person), public=True)

    with call.app.app_context():
        plain.create({"full_name": "Ann", "role": "host"})

    @persons.before("patch")
    def replace(method, context):
        getattr(plain, name)(1, {"full_name": "Bob"}, context.params)

    assert call("PATCH", "/persons/1", {"stars": 2})[0] == 200
    assert call("GET", "/persons/1")[1]["role"] == "guest"


def test_enums_of_text_are_their_values_in_columns_of_text(call, persons):
    class Role(enum.Enum):
        host = "HOST"

    with call.app.app_context():
        person = persons.create({"full_name": "Ann", "role": Role.host})

    assert person["role"] == "HOST"


def test_python_names_fields(call, persons):
    with call.app.app_context():
        person = persons.create({"full_name": " Ann "})

        assert person["full_name"] == "Ann"

        with pytest.raises(BadRequest, match="'fullName' has fewer than 2 characters"):
            persons.patch(1, {"full_name": "A"})


def test_python_may_leave_out_and_add_what_a_class_does_not(call, persons):
    with call.app.app_context():
        person = persons.create({"full_name": "Ann", "fixed": "by us", "stars": "2"})

        assert (person["fixed"], person["stars"]) == ("by us", 2)
        # This default is that of the model.
        assert persons.create({"full_name": "Ann"})["stars"] == 1
