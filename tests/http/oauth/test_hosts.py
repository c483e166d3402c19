"""The hosts that logins send requests to: those of the provider, and no others."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import mapped_column
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request
from werkzeug.wrappers import Response

from flask_records.authentication.oauth_settings import OAuthSettings
from flask_records.authentication.providers import KNOWN
from tests.http.oauth.sites import INVALID
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import site as site
from tests.listening import running
from tests.oauth_profiles import PROFILES
from tests.oauth_providers import answer_of
from tests.oauth_providers import as_json
from tests.oauth_providers import Base
from tests.oauth_providers import CLIENT_SECRET
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import KEY
from tests.oauth_providers import make_members
from tests.oauth_providers import moved
from tests.oauth_providers import OpenIDProvider
from tests.oauth_providers import Provider
from tests.oauth_providers import serving_logins
from tests.recording_proxy import recording

EMAIL = {"email": "octocat@github.com", "primary": True, "verified": True}

URLS = ("discovery_url", "authorize_url", "access_url", "profile_url")


class KnownProvider(OpenIDProvider):
    """Answers at all addresses of a provider that is known by name."""

    def __init__(self, name, options):
        super().__init__()
        self.name = name
        self.options = options
        keys = {"key": KEY, "secret": CLIENT_SECRET, **options}
        known = OAuthSettings.parse({name: keys}, "OAUTH").providers[name]
        self.known = known

        if known.discovery_url:
            self.url = f"https://{urlsplit(known.discovery_url).hostname}"
        else:
            # The profile of GitHub has no email.
            self.claims = {**PROFILES[name][0], "email": None}

        self.endpoints = {
            path_of(known.access_url): self.token,
            path_of(known.profile_url): self.profile,
            path_of(known.emails_url): lambda request: as_json([EMAIL]),
        }

    @property
    def settings(self):
        return {"key": KEY, "secret": CLIENT_SECRET, **self.options}

    @Request.application
    def __call__(self, request):
        endpoint = self.endpoints.get(request.path)
        name = request.path.split("/")[-1].replace("-", "_")
        return (endpoint or getattr(self, name))(request)

    def grant(self, asked):
        # Not all of them have the nonce of an ID token.
        return super().grant({"nonce": None, **asked})

    def authorized(self, started):
        """Return the address that a user returns to, who was sent to the provider."""
        address = started.headers["Location"]
        request = Request(EnvironBuilder(address).get_environ())
        return self.authorize(request).headers["Location"]


KnownMember = type(
    "KnownMember",
    (Base,),
    {
        "__tablename__": "known_member",
        "id": mapped_column(sa.Integer, primary_key=True),
        "email": mapped_column(sa.String(100), unique=True),
        "password": mapped_column(sa.String(200)),
        **{f"{name}Id": mapped_column(sa.String(50), unique=True) for name in KNOWN},
    },
)
"""A user with an identifier at each provider that is known by name."""


def elsewhere(name):
    """The settings of a known provider that is at another host."""
    if KNOWN[name].discovery_url:
        return {"discovery_url": "https://idp.example/.well-known/openid-configuration"}

    names = {
        "authorize_url": "authorize",
        "access_url": "token",
        "profile_url": "api/v3/user",
    }
    return {option: f"https://idp.example/{path}" for option, path in names.items()}


def path_of(url):
    return url and urlsplit(url).path


def hosts_of(urls):
    return {urlsplit(url).hostname for url in urls if url}


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["own", "elsewhere"])
@pytest.mark.parametrize("name", KNOWN)
def test_a_login_sends_requests_to_the_hosts_of_its_provider_only(
    name, is_elsewhere, tmp_path, monkeypatch
):
    options = elsewhere(name) if is_elsewhere else {}
    # Nothing is posted back by this browser.
    provider = KnownProvider(name, {"params": {}, **options})
    known = provider.known
    own = {known.discovery_url, known.access_url, known.profile_url, known.emails_url}

    with (
        recording(provider, tmp_path, monkeypatch) as urls,
        serving_logins({name: provider}, records=make_members(KnownMember)) as site,
    ):
        answer = site.visit(provider.authorized(site.start(provider=name)))
        users = site.users()

    assert error_of(answer) is None
    assert len(users) == 1
    assert hosts_of(urls) == hosts_of(own)

    if is_elsewhere:
        assert hosts_of(urls) == {"idp.example"}


def test_github_elsewhere_is_asked_for_emails_beside_the_profile(tmp_path, monkeypatch):
    provider = KnownProvider("github", elsewhere("github"))

    with (
        recording(provider, tmp_path, monkeypatch) as urls,
        serving_logins({"github": provider}, records=make_members(KnownMember)) as site,
    ):
        site.visit(provider.authorized(site.start(provider="github")))
        users = site.users()

    assert urls[-1] == "https://idp.example/api/v3/user/emails"
    assert [user["email"] for user in users] == ["octocat@github.com"]


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("option", URLS)
def test_a_known_provider_is_elsewhere_with_all_its_addresses(name, option):
    """Its token would be sent to a host that did not issue it."""
    options = {"key": KEY, "secret": CLIENT_SECRET, option: "https://idp.example/x"}

    if option == "discovery_url":
        provider = OAuthSettings.parse({name: options}, "OAUTH").providers[name]
        urls = (getattr(provider, url) for url in (*URLS, "emails_url"))
        assert hosts_of(urls) == {"idp.example"}
        return

    message = f"OAUTH['{name}'] has an address on another host. It needs"

    with pytest.raises(RuntimeError, match=re.escape(message)):
        OAuthSettings.parse({name: options}, "OAUTH")


class Recorder(OpenIDProvider):
    """Another host, which would take whatever it is sent."""

    def __init__(self):
        super().__init__()
        self.requests = []

    @Request.application
    def __call__(self, request):
        self.requests.append(request.path)
        return as_json({"access_token": "x", "token_type": "Bearer", "id": "1"})


@pytest.fixture
def recorder():
    recorder = Recorder()

    with running(recorder) as recorder.url:
        yield recorder


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "endpoint", ["openid_configuration", "keys", "token", "profile"]
)
def test_a_redirect_to_another_host_is_not_followed(recorder, caplog, endpoint, status):
    provider = OpenIDProvider()
    headers = {"Location": f"{recorder.url}/{endpoint}"}
    provider.answers[endpoint] = Response(status=status, headers=headers)

    with (
        running(provider) as provider.url,
        serving_logins({"fake": provider}) as site,
    ):
        answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert recorder.requests == []
    assert f"It redirects to {recorder.url}, which is not its own." in caplog.text


def test_a_redirect_on_the_same_host_is_followed(site, provider):
    profile = provider.profile
    provider.answers["profile"] = lambda request: (
        profile(request) if "again" in request.args else moved(f"{request.url}?again=1")
    )

    assert error_of(site.log_in()) is None


def test_other_hosts_that_are_named_are_requested(provider):
    """The settings, and the configuration of a provider, may name several."""
    with running(Provider()) as other:
        provider.options = {"profile_url": f"{other}/profile"}

        with serving_logins({"fake": provider}) as site:
            answer = site.log_in()

    assert error_of(answer) is None


@pytest.mark.parametrize(
    "emails",
    [
        [],
        {},
        [1, None, "x", {}, {"email": "a@example.com"}],
        [{"email": ["x"], "primary": True, "verified": True}],
        [{"email": "a@example.com", "primary": True, "verified": False}],
    ],
    ids=str,
)
def test_emails_that_make_no_sense_keep_nobody_out(provider, emails):
    provider.options = {"emails_url": f"{provider.url}/emails"}
    provider.claims = {"id": "1"}
    provider.answers["emails"] = as_json(emails)

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()
        users = site.users()

    assert error_of(answer) is None
    assert [user["email"] for user in users] == [None]


def test_any_provider_may_have_an_address_of_emails(provider):
    provider.options = {"emails_url": f"{provider.url}/emails"}
    provider.claims = {"id": "1"}
    provider.answers["emails"] = as_json([EMAIL])

    with serving_logins({"fake": provider}) as site:
        site.log_in()
        users = site.users()

    assert [user["email"] for user in users] == ["octocat@github.com"]
