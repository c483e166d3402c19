"""Logouts at providers."""

from __future__ import annotations

from urllib.parse import parse_qs
from urllib.parse import urlsplit

import pytest

from tests.http.oauth.sites import SILENT
from tests.listening import running
from tests.oauth_providers import answer_of
from tests.oauth_providers import as_json
from tests.oauth_providers import HOME
from tests.oauth_providers import KEY
from tests.oauth_providers import OpenIDProvider
from tests.oauth_providers import serving_logins


@pytest.fixture
def provider():
    provider = OpenIDProvider()

    with running(provider) as provider.url:
        provider.metadata = {"end_session_endpoint": f"{provider.url}/end"}
        yield provider


def log_out(site, query=""):
    return site.get(f"/oauth/fake/logout{query}")


def sent_to(answer):
    """Where a user is sent, and the parameters."""
    url = urlsplit(answer.headers["Location"])
    return url._replace(query="").geturl(), parse_qs(url.query)


@pytest.mark.parametrize(
    ("redirect", "query", "back"),
    [
        (HOME, "", HOME),
        (HOME, "?redirect=/bye", f"{HOME}/bye"),
        ("/", "", "{site}/"),
        ("/app", "?redirect=/bye", "{site}/app/bye"),
        (None, "", None),
    ],
)
def test_a_user_is_sent_to_the_provider_and_back(provider, redirect, query, back):
    oauth = {} if redirect is None else {"redirect": redirect}

    with serving_logins({"fake": provider}, oauth) as site:
        address, params = sent_to(log_out(site, query))

        assert address == f"{provider.url}/end"
        to = [] if back is None else [back.format(site=site.url)]
        assert params == {
            "client_id": [KEY],
            **({"post_logout_redirect_uri": to} if to else {}),
        }


def test_the_way_back_has_the_address_that_users_see(provider):
    oauth = {"redirect": "/", "base_url": "https://records.example/api"}

    with serving_logins({"fake": provider}, oauth) as site:
        _, params = sent_to(log_out(site))

    assert params["post_logout_redirect_uri"] == ["https://records.example/"]


def test_the_settings_may_have_the_address(provider):
    provider.options = {"logout_url": "https://login.example/logout?v=2"}

    with serving_logins({"fake": provider}) as site:
        address, params = sent_to(log_out(site))

    assert (address, params["v"]) == ("https://login.example/logout", ["2"])


def test_nobody_is_sent_to_another_site_afterwards(provider):
    with serving_logins({"fake": provider}) as site:
        answer = log_out(site, "?redirect=https://evil.example/")

    assert answer.status_code == 400


def test_a_provider_without_such_an_address_is_named(provider):
    provider.metadata = {}
    message = "Fake has no address to log out at."

    with serving_logins({"fake": provider}) as site:
        assert answer_of(log_out(site)) == (HOME, {"error": message})

    with serving_logins({"fake": provider}, {}) as site:
        answer = log_out(site)
        assert (answer.status_code, answer.json()["message"]) == (404, message)


def test_a_provider_that_does_not_respond_is_an_error_for_people(provider):
    provider.answers["openid_configuration"] = as_json({}, 500)

    with serving_logins({"fake": provider}) as site:
        assert answer_of(log_out(site)) == (HOME, {"error": SILENT})


def test_an_unknown_provider_is_not_found(provider):
    with serving_logins({"fake": provider}) as site:
        assert site.get("/oauth/unknown/logout").status_code == 404
