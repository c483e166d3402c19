"""Bodies that a model of Pydantic checks, as the documentation does it."""

from __future__ import annotations

import pytest
import requests
from flask import Flask

from ...test_docs import module as module
from .documented import run_examples
from .documented import serving

STARS = {"stars": "should be less than or equal to 5"}


@pytest.fixture
def notes(module):
    """The address of the service."""
    with serving("existing-tools.md", module) as url:
        yield f"{url}/notes"


def errors_of(answer):
    assert answer.status_code == 400
    return answer.json()["errors"]


def test_valid_body_is_stored(notes):
    answer = requests.post(notes, json={"text": "Hello", "stars": 5})

    assert (answer.status_code, answer.json()["stars"]) == (201, 5)


def test_errors_of_a_body_are_by_field(notes):
    answer = requests.post(notes, json={"stars": 6})

    assert errors_of(answer) == {"text": "is required", **STARS}


def test_errors_of_a_list_have_their_place(notes):
    answer = requests.post(notes, json=[{"text": "Hello"}, {"text": "Hi, you"}, {}])

    assert errors_of(answer) == {"2.text": "is required"}


def test_patch_may_leave_fields_out(notes):
    requests.post(notes, json={"text": "Hello"})

    assert requests.patch(f"{notes}/1", json={"stars": 3}).json()["stars"] == 3
    assert errors_of(requests.patch(f"{notes}/1", json={"stars": 6})) == STARS


@pytest.mark.parametrize("body", [b"[1]", b'"text"', b"null", b"7", b'{"text": {}}'])
def test_body_of_another_shape_is_refused(notes, body):
    headers = {"Content-Type": "application/json"}

    assert requests.post(notes, data=body, headers=headers).status_code == 400


def test_errors_have_codes_if_the_application_asks(module):
    run_examples("existing-tools.md", module)
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["RECORDS_ERRORS"] = {"codes": True}
    module.db.init_app(app)
    module.records.init_app(app)

    answer = app.test_client().post("/notes", json={"text": "Hi"})

    assert answer.json["errors"] == {
        "text": {
            "code": "too_short",
            "message": "has fewer than 3 characters",
            "data": {"min": 3, "unit": "characters"},
        }
    }
