"""Providers that fail, or send what is not valid."""

from __future__ import annotations

import threading
import time

import pytest
from werkzeug.wrappers import Response

from tests.http.oauth.sites import AGAIN
from tests.http.oauth.sites import INVALID
from tests.http.oauth.sites import LATER
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import SILENT
from tests.http.oauth.sites import site as site
from tests.http.oauth.sites import TOKEN
from tests.listening import running
from tests.oauth_providers import ADA
from tests.oauth_providers import answer_of
from tests.oauth_providers import as_json
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import moved
from tests.oauth_providers import Provider
from tests.oauth_providers import serving_logins

TROUBLE = (SILENT, INVALID, LATER, AGAIN)


@pytest.mark.parametrize("endpoint", ["token", "profile"])
@pytest.mark.parametrize(
    "answer",
    [
        Response("<html>Oops</html>", mimetype="text/html"),
        Response("<html>Oops</html>", 500, mimetype="text/html"),
        as_json({"error": "server_error"}, 503),
        Response('{"id": 1', mimetype="application/json"),
        Response("[" * 100_000, mimetype="application/json"),
        Response("", 204),
        as_json([ADA, TOKEN]),
        as_json([]),
        as_json("text"),
        as_json(None),
        as_json(1),
        as_json({}),
        moved("ftp://evil.example/"),
        lambda request: moved(request.url),
        Response("x", headers={"Content-Encoding": "gzip"}),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error_for_people(
    site, provider, endpoint, answer
):
    provider.answers[endpoint] = answer

    answer = site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)
    assert error_of(answer) in TROUBLE
    assert site.users() == []


@pytest.mark.parametrize(
    "change",
    [
        {"access_token": None},
        {"access_token": ""},
        {"access_token": ["x"]},
        {"access_token": "a\r\nX-Header: b"},
        {"access_token": "\ud800"},
        {"token_type": None},
        {"token_type": 1},
        {"token_type": []},
        {"token_type": "mac"},
        {"expires_in": "soon"},
        {"expires_in": ["x"]},
        {"error": "invalid_grant"},
        {"error": {"a": 1}},
    ],
    ids=str,
)
def test_a_token_that_makes_no_sense_is_an_error_for_people(site, provider, change):
    provider.answers["token"] = as_json({**TOKEN, **change})

    answer = site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)
    assert error_of(answer) in TROUBLE


@pytest.mark.parametrize("refresh", [{}, {"refresh_token": "r"}], ids=str)
@pytest.mark.parametrize(
    "life",
    [*({"expires_in": value} for value in (0, 1, 30, "59", 3600)), {"expires_at": 1}],
    ids=str,
)
def test_a_token_that_the_provider_takes_logs_in_however_short_it_lives(
    site, provider, life, refresh
):
    provider.answers["token"] = as_json({**TOKEN, **life, **refresh})

    answer = site.log_in()

    assert error_of(answer) is None


def test_a_token_that_the_provider_takes_no_more_is_an_error_for_people(site, provider):
    provider.answers["token"] = as_json({**TOKEN, "expires_in": 1})
    provider.answers["profile"] = as_json({"error": "invalid_token"}, 401)

    answer = site.log_in()

    assert error_of(answer) in TROUBLE
    assert site.users() == []


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_code_that_the_provider_refuses_is_an_error_for_people(
    site, provider, status
):
    error = {"error": "invalid_grant", "error_description": "<b>expired</b>"}
    provider.answers["token"] = as_json(error, status)

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": AGAIN})


@pytest.mark.parametrize("option", ["access_url", "profile_url"])
def test_a_provider_that_is_down_is_an_error_for_people(provider, option):
    with running(Provider()) as gone:
        provider.options = {option: f"{gone}/{option}"}

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": SILENT})


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ["token", "profile"])
def test_a_provider_that_is_silent_for_5_seconds_is_an_error(site, provider, endpoint):
    is_over = threading.Event()

    def hang(request):
        is_over.wait(20)
        return as_json({})

    provider.answers[endpoint] = hang
    began = time.monotonic()
    answer = site.log_in()
    seconds = time.monotonic() - began
    is_over.set()

    assert answer_of(answer) == (HOME, {"error": SILENT})
    assert seconds < 10
