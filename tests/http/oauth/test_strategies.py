"""Strategies of OAuth providers, and the start of an application."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from flask import session

from flask_records.authentication.oauth_strategy import OAuthStrategy
from tests.authentication import API_KEY
from tests.authentication import SECRET
from tests.http.authentication.authenticated import NOT_ALLOWED
from tests.http.oauth.sites import FAILED
from tests.http.oauth.sites import INVALID
from tests.http.oauth.sites import other as other
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import site as site
from tests.http.oauth.sites import TOKEN
from tests.oauth_providers import ADA
from tests.oauth_providers import ADA_USER
from tests.oauth_providers import answer_of
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import make_app
from tests.oauth_providers import make_members
from tests.oauth_providers import REFERENCE
from tests.oauth_providers import serving_logins

KEYS = {"api-key": API_KEY}


class Hidden(OAuthStrategy):
    """Sets no identifier of the provider."""

    def profile(self, login):
        found = super().profile(login)
        return replace(found, email=None, name=login.raw["login"])

    def user_data(self, login, profile, user):
        data = super().user_data(login, profile, user)
        return {**data, "avatar": f"https://img.example/{login.provider.name}"}


def test_a_subclass_changes_the_mapping(provider):
    records = make_members(strategies={**KEYS, "fake": Hidden()})
    provider.claims = {**ADA, "login": "ada1815"}

    with serving_logins({"fake": provider}, records=records) as site:
        site.log_in()

        changed = {"name": "ada1815", "avatar": "https://img.example/fake"}
        assert site.users() == [{**ADA_USER, **changed, "email": None}]


def test_a_subclass_that_misses_something_is_an_error_for_people(provider):
    records = make_members(strategies={**KEYS, "fake": Hidden()})

    with serving_logins({"fake": provider}, records=records) as site:
        answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": FAILED})


class Pages(OAuthStrategy):
    """Logs in to the session of pages that the server makes."""

    def success_url(self, target, result):
        session["email"] = result["user"]["email"]
        return target

    def failure_url(self, target, error):
        session["message"] = error.message
        return f"{target}/login"


@pytest.fixture
def pages(provider):
    """An application whose users log in to its session."""
    records = make_members(strategies={**KEYS, "fake": Pages()})

    with serving_logins({"fake": provider}, records=records, SECRET_KEY=SECRET) as site:
        site.app.add_url_rule("/session", view_func=lambda: dict(session))
        yield site


def callback_of(pages, query=""):
    """Return the answer to the browser that comes back from the provider."""
    return pages.visit(pages.authorize(pages.start(query)))


def test_a_subclass_logs_in_to_a_session(pages):
    answer = callback_of(pages)

    assert answer.headers["Location"] == HOME
    assert pages.get("/session").json() == {"email": ADA_USER["email"]}


def test_a_subclass_keeps_the_page_that_the_user_returns_to(pages):
    answer = callback_of(pages, "?redirect=/inbox?unread=true")

    assert answer.headers["Location"] == f"{HOME}/inbox?unread=true"


def test_a_subclass_tells_the_session_why_a_login_failed(pages, provider):
    provider.claims = {"name": "Nobody"}

    answer = callback_of(pages)

    assert answer.headers["Location"] == f"{HOME}/login"
    message = pages.get("/session").json()["message"]
    assert REFERENCE.sub("", message) == INVALID


def test_a_subclass_tells_the_session_that_a_login_was_lost(pages):
    answer = pages.get("/oauth/fake/callback?state=unknown&code=1")

    assert answer.headers["Location"] == f"{HOME}/login"
    assert "message" in pages.get("/session").json()


@pytest.mark.parametrize(
    ("strategies", "settings", "message"),
    [
        ({}, {}, NOT_ALLOWED),
        ({"fake": Hidden()}, {}, NOT_ALLOWED),
        (
            {"fake": Hidden()},
            {"strategies": ["jwt", "local", "fake"]},
            "Log in at /oauth/fake.",
        ),
    ],
)
def test_no_client_can_claim_a_login_at_a_provider(
    provider, strategies, settings, message
):
    records = make_members(strategies={**KEYS, **strategies})
    login = {"strategy": "fake", "oauth": {"raw": ADA}, "fakeId": "p-1001", **TOKEN}

    with serving_logins({"fake": provider}, records=records, settings=settings) as site:
        site.log_in()
        answer = site.browser.post(f"{site.url}/authentication", json=login)

    assert (answer.status_code, answer.json()["message"]) == (401, message)


def test_one_extension_serves_apps_with_providers_of_their_own(provider, other):
    records = make_members()

    with (
        serving_logins({"fake": provider}, records=records) as one,
        serving_logins({"fake": other, "other": provider}, records=records) as two,
    ):
        unknown = one.start(provider="other")
        logins = [one.log_in(), two.log_in(), two.log_in(provider="other")]

        ids = [[user["fakeId"] for user in site.users()] for site in (one, two)]
        assert unknown.status_code == 404
        assert [error_of(login) for login in logins] == [None] * 3
        assert ids == [["p-1001"], ["77", None]]


def test_a_provider_without_its_field_is_an_error_at_the_start(provider):
    message = re.escape("RECORDS_AUTHENTICATION['oauth']['third'] needs a field 'third")

    with pytest.raises(RuntimeError, match=message):
        make_app({"third": provider})


WITHOUT_PROVIDERS = """
import sys
from flask import Flask
from flask_records import AuthenticationService, FlaskRecords, SQLAlchemyService
records = FlaskRecords()
records.add("authentication", AuthenticationService())
records.add("users", type("Users", (), {"find": lambda self, params: []})())
app = Flask("tests")
app.config["SECRET_KEY"] = "s" * 32
records.init_app(app)
app.test_client().post("/authentication", json={"strategy": "fake"})
print(sorted({"authlib", "joserfc", "requests"} & set(sys.modules)))
"""


def test_nothing_of_oauth_is_imported_without_a_provider():
    command = [sys.executable, "-c", WITHOUT_PROVIDERS]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
