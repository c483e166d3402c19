"""Providers that change their keys and addresses while an application runs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from werkzeug.wrappers import Response

from flask_records.authentication.metadata_cache import INTERVAL
from flask_records.authentication.metadata_cache import MetadataCache
from flask_records.authentication.providers import Provider as ProviderSettings

from .conftest import running
from .oauth_providers import as_json
from .oauth_providers import error_of
from .oauth_providers import HOME
from .oauth_providers import OpenIDProvider
from .oauth_providers import serving_logins
from .oauth_providers import Site
from .oauth_sites import INVALID
from .openid_sites import provider as provider
from .openid_sites import site as site
from .test_oauth_mock_provider import log_in_at_form
from .test_oauth_mock_provider import running_mock
from .waiting import wait_until

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


@pytest.mark.slow
def test_a_provider_that_moves_its_endpoints_is_found_again(provider):
    oauth = {"redirect": HOME, "discovery_max_age": 3}

    with serving_logins({"fake": provider}, oauth) as site:
        site.start()

        with running(moved := OpenIDProvider()) as moved.url:
            moved.answers["keys"] = provider.keys
            provider.answers[CONFIGURATION] = moved.openid_configuration
            # Nothing is left where it was.
            provider.answers["authorize"] = Response("Gone", 410)
            wait_until(lambda: "#" in site.log_in().headers.get("Location", ""), 30)
            answer = site.log_in()

    assert error_of(answer) is None


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


def test_bad_tokens_are_a_reason_to_ask_once_a_minute(site, provider):
    site.log_in()
    asked = count(provider, CONFIGURATION, "keys")
    provider.key = OTHER_KEY

    def log_in(number):
        with requests.Session() as browser:
            return Site(site.app, site.url, browser).log_in()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(log_in, range(12)))

    assert {error_of(answer) for answer in answers} == {INVALID}
    assert sorted(asked) == ["keys", CONFIGURATION]


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


@pytest.mark.slow
def test_a_provider_that_hangs_keeps_no_login(provider):
    oauth, may_end = {"redirect": HOME, "discovery_max_age": 3}, threading.Event()

    with serving_logins({"fake": provider}, oauth) as site:
        site.start()
        asked = []

        def hang(request):
            asked.append(request)
            may_end.wait(30)
            return as_json({})

        provider.answers[CONFIGURATION] = hang
        answers = []
        wait_until(lambda: answers.append(site.log_in()) or asked, 30)
        answers.append(site.log_in())
        may_end.set()

    assert {error_of(answer) for answer in answers} == {None}


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.seconds = 1000.0

    def __call__(self):
        return self.seconds


def cached(provider, max_age=3600):
    """A cache of the metadata of a provider, and its clock."""
    clock = Clock()
    settings = ProviderSettings("fake", **provider.settings)
    return MetadataCache(settings, max_age, clock), clock


def test_a_minute_after_a_failure_it_is_asked_again(provider):
    asked = count(provider, CONFIGURATION)

    cache, clock = cached(provider)
    known = cache.current()

    for _ in range(3):
        cache.newer(known)

    clock.seconds += INTERVAL
    cache.newer(known)
    cache.newer(known)

    assert len(asked) == 3


def test_metadata_is_used_until_it_has_its_age(provider):
    asked = count(provider, CONFIGURATION)

    cache, clock = cached(provider, max_age=600)
    cache.current()
    clock.seconds += 600
    cache.current()
    before = len(asked)
    clock.seconds += 1
    cache.current()
    wait_until(lambda: len(asked) > 1, 30)
    cache.current()

    assert (before, len(asked)) == (1, 2)


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
def test_what_is_known_is_used_while_the_provider_can_not_tell_it(
    provider, caplog, endpoint, answer
):
    cache, clock = cached(provider)
    known = cache.current()
    provider.answers[endpoint] = answer
    clock.seconds += 3601
    still_known = cache.current()
    wait_until(lambda: caplog.records, 30)

    assert still_known is known
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("The configuration of fake can't be read again: ")
    assert line.endswith("The one that was read 3601 seconds ago stays in use.")


def test_the_package_of_a_provider_restarts_with_other_keys():
    with ExitStack() as stack:
        with running_mock() as mock:
            site = stack.enter_context(serving_logins({"fake": mock}))
            before = log_in_at_form(site, "ada")

        with running_mock(urlsplit(mock.url).port):
            after = log_in_at_form(site, "ada")

    assert [error_of(answer) for answer in (before, after)] == [None, None]
