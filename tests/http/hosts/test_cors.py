"""Flask-CORS, with the settings of the documentation."""

from __future__ import annotations

import pytest
import requests

from ...test_docs import module as module
from .documented import serving

APP = {"Origin": "https://app.example"}
EVIL = {"Origin": "https://evil.example"}
ALLOWED = "Access-Control-Allow-Origin"


@pytest.fixture
def comments(module):
    """The address of the service that pages of another origin may use."""
    with serving("existing-applications.md", module) as url:
        yield f"{url}/comments"


@pytest.mark.parametrize("verb", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_preflight_request_names_the_verb_and_the_headers(comments, verb):
    asked = {
        "Access-Control-Request-Method": verb,
        "Access-Control-Request-Headers": "authorization, x-service-method",
    }

    answer = requests.options(f"{comments}/1", headers={**APP, **asked})

    assert answer.status_code == 204
    assert answer.headers[ALLOWED] == APP["Origin"]
    assert verb in answer.headers["Access-Control-Allow-Methods"]
    allowed = answer.headers["Access-Control-Allow-Headers"]
    assert allowed == "authorization, x-service-method"


def test_answers_name_the_origin(comments):
    created = requests.post(comments, json={"text": "Nice"}, headers=APP)

    assert created.headers[ALLOWED] == APP["Origin"]
    assert requests.get(comments, headers=APP).headers[ALLOWED] == APP["Origin"]


def test_errors_name_the_origin(comments):
    answer = requests.get(f"{comments}/7", headers=APP)

    assert (answer.status_code, answer.headers[ALLOWED]) == (404, APP["Origin"])


def test_pages_of_other_origins_are_not_named(comments):
    asked = {"Access-Control-Request-Method": "POST"}

    assert ALLOWED not in requests.options(comments, headers={**EVIL, **asked}).headers
    assert ALLOWED not in requests.get(comments, headers=EVIL).headers


def test_other_services_are_not_shared(comments):
    url = comments.replace("comments", "articles")

    assert ALLOWED not in requests.get(url, headers=APP).headers
