"""Bodies over HTTP, checked by models of pydantic before the model's own rules."""

from __future__ import annotations

import pytest
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field

from flask_records import SQLAlchemyService

from .people import ANN
from .people import Person
from .people import problems_of


def test_values_are_converted_and_defaults_filled_in(call):
    data = {
        "fullName": " Ann ",
        "born": "2000-01-02",
        "seen": "2026-01-01T12:00:00+02:00",
        "salary": "10.50",
        "color": "red",
        "picture": "AAH/",
        "site": "https://example.com/a",
        "address": {"zipCode": "12345", "since": "2020-01-01"},
    }

    status, person = call("POST", "/persons", data)

    assert status == 201
    assert person == {
        "id": 1,
        "full_name": "Ann",
        "role": "guest",
        "born": "2000-01-02",
        "seen": "2026-01-01T10:00:00.000Z",
        "salary": "10.50",
        "color": "red",
        "picture": "AAH/",
        "site": "https://example.com/a",
        "address": {"zipCode": "12345", "since": "2020-01-01"},
        "stars": 3,
        "fixed": "kept",
    }


def test_all_problems_have_paths_and_codes(call):
    data = {
        "fullName": "A",
        "born": "soon",
        "salary": -1,
        "color": "blue",
        "picture": "?",
        "address": {"zipCode": "x", "more": 1},
        "stars": 9,
        "role": "admin",
        "colour": "red",
        "fixed": "changed",
    }

    assert problems_of(call("POST", "/persons", data)) == {
        "fullName": "too_short",
        "born": "type",
        "salary": "out_of_range",
        "color": "choice",
        "picture": "type",
        "address.zipCode": "format",
        "address.more": "unknown_field",
        "stars": "out_of_range",
        "role": "read_only",
        "colour": "unknown_field",
        "fixed": "read_only",
    }


def test_message_follows_the_names(call):
    status, body = call("POST", "/persons", {"stars": 9})

    assert status == 400
    assert body["message"] == (
        "The data is not valid: 'fullName' is required, 'stars' should be less than or"
        " equal to 5."
    )
    assert body["errors"]["stars"]["data"] == {"max": 5}


def test_problem_of_the_whole_names_its_field(call):
    data = ANN | {"born": "2000-01-01", "seen": "1999-01-01T00:00:00Z"}

    assert problems_of(call("POST", "/persons", data)) == {"seen": "order"}


def test_bodies_of_a_list_are_told_apart(call):
    assert problems_of(call("POST", "/persons", [ANN, {"stars": 9}, {"x": 1}])) == {
        "1.fullName": "required",
        "1.stars": "out_of_range",
        "2.fullName": "required",
        "2.x": "unknown_field",
    }


def test_patch_checks_what_is_sent(call):
    call("POST", "/persons", ANN)

    assert call("PATCH", "/persons/1", {"stars": "4"})[1]["stars"] == 4
    assert call("PATCH", "/persons/1", {"born": "2000-01-01"})[1]["stars"] == 4
    assert problems_of(call("PATCH", "/persons/1", {"stars": 6, "fullName": ""})) == {
        "stars": "out_of_range",
        "fullName": "too_short",
    }


def test_patch_runs_validators_of_the_whole_that_see_all_values(call):
    call("POST", "/persons", ANN)
    times = {"born": "2000-01-01", "seen": "1999-01-01T00:00:00Z"}

    assert call("PATCH", "/persons/1", times)[0] == 200
    assert problems_of(call("PATCH", "/persons/1", times | ANN | {"stars": 1})) == {
        "seen": "order"
    }


def test_whole_record_is_taken_back(call):
    person = call("POST", "/persons", ANN)[1]
    names = ("id", "role", "fixed")
    shown = ANN | {name: person[name] for name in names}

    assert call("PUT", "/persons/1", shown)[0] == 200
    assert call("PATCH", "/persons/1", shown)[0] == 200
    assert problems_of(call("PATCH", "/persons/1", shown | {"role": "admin"})) == {
        "role": "read_only"
    }


def test_patch_of_many_compares_no_records(call):
    call("POST", "/persons", ANN)

    assert problems_of(call("PATCH", "/persons", {"role": "guest", "stars": 9})) == {
        "role": "read_only",
        "stars": "out_of_range",
    }


@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
def test_field_does_not_come_in_by_a_name_that_is_not_checked(call, verb):
    call("POST", "/persons", ANN)

    answer = call(verb, "/persons/1", ANN | {"full_name": "x"})

    assert problems_of(answer) == {"full_name": "unknown_field"}


def test_update_keeps_fields_beside_the_schema(call, persons):
    with call.app.app_context():
        persons.create({"full_name": "Ann", "role": "admin", "stars": 5})

    person = call("PUT", "/persons/1", {"fullName": "Bob"})[1]

    assert (person["full_name"], person["role"], person["stars"]) == ("Bob", "admin", 3)


def test_rules_of_the_model_stay(call):
    """The class allows a longer name than the column."""
    assert problems_of(call("POST", "/persons", {"fullName": "x" * 21})) == {
        "full_name": "too_long"
    }


def test_secrets_are_stored(call, persons):
    call("POST", "/persons", ANN | {"password": "secret"})

    with call.app.app_context():
        assert persons.get(1)["password"] == "secret"


@pytest.mark.parametrize("data", [None, 1, "x", [1], [[ANN]]])
def test_bodies_of_other_forms_are_refused(call, data):
    assert call("POST", "/persons", data)[0] == 400


@pytest.mark.parametrize("by_name", [True, False])
def test_alias_does_not_write_a_readonly_field(call, records, by_name):
    class Fixed(BaseModel):
        model_config = ConfigDict(populate_by_name=by_name)
        full_name: str
        fixed: str = Field(alias="FIXED")

    schemas = {"create": Fixed, "patch": Fixed}
    service = SQLAlchemyService(Person, readonly=["fixed"], schemas=schemas)
    records.add("fixed", service, public=True)

    answer = call("POST", "/fixed", {"full_name": "Ann", "FIXED": "changed"})

    assert problems_of(answer) == {"fixed": "read_only"}
