"""Logins at a provider of somebody else, the package oidc-provider-mock."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
import requests

from tests.http.oauth.openid import CLAIMS
from tests.http.oauth.openid import provider as provider
from tests.http.oauth.openid import site as site
from tests.http.oauth.sites import EMAIL_TAKEN
from tests.oauth_providers import ADA_USER
from tests.oauth_providers import answer_of
from tests.oauth_providers import CLIENT_SECRET
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import KEY
from tests.oauth_providers import make_members
from tests.oauth_providers import serving_logins
from tests.oauth_providers import token_of


class Mock:
    """The provider of the package oidc-provider-mock."""

    def __init__(self, url):
        self.url = url
        self.settings = {
            "key": KEY,
            "secret": CLIENT_SECRET,
            "scope": "openid email profile",
            "discovery_url": f"{url}/.well-known/openid-configuration",
        }

    def know(self, sub, **claims):
        """Set the claims of a user."""
        requests.put(f"{self.url}/users/{sub}", json=claims).raise_for_status()


@contextmanager
def running_mock(port=0):
    options = ["--port", str(port), "--host", "127.0.0.1", "--require-nonce"]
    command = [sys.executable, "-m", "oidc_provider_mock", *options]

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        addresses = re.finditer(r"running on (\S+)", "".join(until_running(process)))
        # A process waits until its log is read.
        reader = threading.Thread(target=process.stderr.read)
        reader.start()

        try:
            yield Mock(next(addresses)[1])
        finally:
            process.terminate()
            reader.join()


def until_running(process):
    """Yield the lines of a log up to the address of the server."""
    for line in process.stderr:
        yield line

        if "running on" in line:
            return


@pytest.fixture(scope="module")
def mock():
    with running_mock() as mock:
        mock.know("ada", **CLAIMS)
        yield mock


@pytest.fixture
def records():
    return make_members()


@pytest.fixture
def mock_site(mock, records):
    with serving_logins({"fake": mock}, records=records) as site:
        yield site


def log_in_at_form(site, sub, started=None):
    """Return the answer to a login with the provider's form."""
    form = site.follow(started or site.start())
    assert (form.status_code, 'name="sub"' in form.text) == (200, True)
    back = site.browser.post(form.url, data={"sub": sub}, allow_redirects=False)
    return site.follow(back)


def start_with(site, token):
    """Return where a login begins that the user of a token connects."""
    return site.connect(token)


def test_login_makes_a_user_of_the_claims(mock_site):
    answer = log_in_at_form(mock_site, "ada")

    ada = {**ADA_USER, "fakeId": "ada"}
    assert answer_of(answer)[0] == HOME
    assert mock_site.users() == [ada]
    assert mock_site.caller(token_of(answer)) == ada


def test_second_login_finds_the_user_and_refreshes_name_and_avatar(mock, mock_site):
    mock.know("bob", **{**CLAIMS, "name": "Robert"})
    log_in_at_form(mock_site, "bob")
    changed = {"name": "Bob", "picture": "https://img.example/bob.png"}
    mock.know("bob", **{**CLAIMS, **changed, "email": "bob@example.com"})

    answer = log_in_at_form(mock_site, "bob")

    bob = {"fakeId": "bob", "name": "Bob", "avatar": "https://img.example/bob.png"}
    assert mock_site.users() == [{**ADA_USER, **bob}]
    assert mock_site.caller(token_of(answer)) == {**ADA_USER, **bob}


@pytest.mark.parametrize(
    ("verified", "email"),
    [
        ({"email_verified": True}, "eve@example.com"),
        ({"email_verified": False}, None),
        ({"email_verified": None}, None),
        ({}, None),
    ],
)
def test_email_is_kept_if_it_is_verified(mock, mock_site, verified, email):
    mock.know("eve", email="eve@example.com", **verified)

    log_in_at_form(mock_site, "eve")

    assert [user["email"] for user in mock_site.users()] == [email]


def test_login_is_linked_to_the_user_of_a_token(mock_site):
    id, token = mock_site.register(email="ann@example.com", name="Ann")

    answer = log_in_at_form(mock_site, "ada", start_with(mock_site, token))

    ann = {"id": id, "email": "ann@example.com", "name": "Ann", "fakeId": "ada"}
    assert mock_site.users() == [{**ADA_USER, **ann}]
    assert mock_site.caller(token_of(answer))["id"] == id


def test_linked_login_needs_no_token_any_more(mock_site):
    id, token = mock_site.register(email="ann@example.com")
    log_in_at_form(mock_site, "ada", start_with(mock_site, token))

    answer = log_in_at_form(mock_site, "ada")

    assert mock_site.caller(token_of(answer))["id"] == id


def test_login_is_never_linked_by_its_email(mock_site):
    mock_site.register(email=CLAIMS["email"])
    before = mock_site.users()

    answer = log_in_at_form(mock_site, "ada")

    assert answer_of(answer) == (HOME, {"error": EMAIL_TAKEN})
    assert mock_site.users() == before


def test_hooks_run_and_events_are_sent(mock_site, records):
    heard = []
    records.events()(lambda event, record, context: heard.append(event))
    records["users"].before("create")(
        lambda method, context: context.data.update(name="Countess")
    )

    log_in_at_form(mock_site, "ada")

    assert heard == ["created", "login"]
    assert [user["name"] for user in mock_site.users()] == ["Countess"]


def test_login_that_is_denied_at_the_form_is_an_error(mock_site):
    started = mock_site.start()
    url = started.headers["Location"]

    back = mock_site.browser.post(url, data={"action": "deny"}, allow_redirects=False)

    # It forgets the state, so that nobody can tell which login was denied.
    assert "error=access_denied" in back.headers["Location"]
    assert error_of(mock_site.follow(back))
    assert mock_site.users() == []
