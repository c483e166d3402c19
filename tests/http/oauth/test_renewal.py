"""Providers that change their keys and addresses while an application runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from werkzeug.wrappers import Response

from tests.http.oauth.openid import provider as provider
from tests.http.oauth.openid import site as site
from tests.http.oauth.sites import INVALID
from tests.oauth_providers import as_json
from tests.oauth_providers import error_of
from tests.oauth_providers import serving_logins
from tests.oauth_providers import SIGNING_KEY
from tests.oauth_providers import Site
from tests.servers.test_oauth_mock_provider import log_in_at_form
from tests.servers.test_oauth_mock_provider import running_mock

OTHER_KEY = rsa.generate_private_key(65537, 2048)

CONFIGURATION = "openid_configuration"


def rotate(provider, kid):
    """Let a provider sign with another key."""
    provider.key, provider.header = OTHER_KEY, {"kid": kid}
    provider.published = {kid: OTHER_KEY}


def count(provider, *endpoints):
    """Count the requests of some endpoints."""
    requests = []

    def counted(endpoint):
        answer = getattr(provider, endpoint)
        return lambda request: requests.append(endpoint) or answer(request)

    provider.answers.update({name: counted(name) for name in endpoints})
    return requests


@pytest.mark.parametrize("kid", ["1", "2"], ids=["the same kid", "another kid"])
def test_a_key_that_is_rotated_is_read_again(site, provider, kid):
    site.log_in()
    rotate(provider, kid)

    assert error_of(site.log_in()) is None


ODD_KEYS = [
    {"kty": "AKP", "kid": "1", "alg": "ML-DSA-44", "pub": "AAAA"},
    {"kty": "EC", "kid": "2", "crv": "P-999", "x": "AAAA", "y": "AAAA"},
    {"kty": "RSA", "kid": "3", "n": "!", "e": 1},
    {},
    None,
    "key",
]


@pytest.mark.parametrize("key", ODD_KEYS, ids=str)
def test_a_key_of_an_unknown_kind_does_not_spoil_the_others(site, provider, key):
    provider.answers["keys"] = lambda request: as_json(
        {"keys": [key, *provider.keys(request).json["keys"]]}
    )

    assert error_of(site.log_in()) is None


@pytest.mark.parametrize("endpoint", ["token", "profile"])
@pytest.mark.parametrize("status", [404, 410, 502])
def test_an_endpoint_that_has_moved_is_found_during_a_login(
    site, provider, endpoint, status
):
    answer = getattr(provider, endpoint)
    site.log_in()
    provider.answers[endpoint] = Response("Gone", status)
    provider.answers["elsewhere"] = answer
    name = {"token": "token_endpoint", "profile": "userinfo_endpoint"}[endpoint]
    provider.metadata = {name: f"{provider.url}/elsewhere"}

    assert error_of(site.log_in()) is None


def test_bad_tokens_are_a_reason_to_ask(site, provider):
    site.log_in()
    asked = count(provider, CONFIGURATION, "keys")
    provider.key = OTHER_KEY

    answer = site.log_in()

    assert error_of(answer) == INVALID
    assert asked == [CONFIGURATION, "keys"]


def test_keys_may_be_rotated_again_at_once(site, provider):
    site.log_in()
    rotate(provider, "2")
    first = site.log_in()
    provider.key, provider.header = SIGNING_KEY, {"kid": "3"}
    provider.published = {"3": SIGNING_KEY}

    second = site.log_in()

    assert [error_of(answer) for answer in (first, second)] == [None, None]


def test_all_of_a_burst_get_the_new_keys(provider, tmp_path):
    url = f"sqlite:///{tmp_path}/logins.db"

    with serving_logins({"fake": provider}, url=url) as site:
        site.log_in()
        rotate(provider, "1")

        def log_in(number):
            with requests.Session() as browser:
                return Site(site.app, site.url, browser).log_in()

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(log_in, range(6)))

    assert [error_of(answer) for answer in answers] == [None] * 6


def test_a_code_that_is_refused_is_no_reason_to_ask(site, provider):
    site.log_in()
    asked = count(provider, CONFIGURATION, "keys")
    provider.answers["token"] = as_json({"error": "invalid_grant"}, 400)

    site.log_in()

    assert asked == []


@pytest.mark.parametrize("endpoint", [CONFIGURATION, "keys"])
@pytest.mark.parametrize(
    "answer",
    [
        as_json({}, 500),
        as_json([]),
        Response("no"),
        as_json({"issuer": 1}),
        as_json({"keys": []}),
        as_json({"keys": 1}),
    ],
)
def test_older_metadata_is_used_while_the_provider_has_no_other(
    site, provider, endpoint, answer
):
    site.log_in()
    provider.answers[endpoint] = answer
    provider.key = OTHER_KEY
    failed = site.log_in()
    provider.key = SIGNING_KEY

    assert (error_of(failed), error_of(site.log_in())) == (INVALID, None)


def test_the_package_of_a_provider_restarts_with_other_keys():
    with ExitStack() as stack:
        with running_mock() as mock:
            site = stack.enter_context(serving_logins({"fake": mock}))
            before = log_in_at_form(site, "ada")

        with running_mock(urlsplit(mock.url).port):
            after = log_in_at_form(site, "ada")

    assert [error_of(answer) for answer in (before, after)] == [None, None]
