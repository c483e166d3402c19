"""Logins at a provider of somebody else, the package oidc-provider-mock."""

import re
import subprocess
import sys
import threading
from contextlib import contextmanager, ExitStack
from urllib.parse import urlsplit

import pytest
import requests

from tests.http.oauth.messages import EMAIL_TAKEN
from tests.oauth_providers import (
    ADA_USER,
    answer_of,
    CLIENT_SECRET,
    error_of,
    HOME,
    KEY,
    make_members,
    serving_logins,
    token_of,
)

CLAIMS = {
    "name": "Ada Lovelace",
    "picture": "https://img.example/ada.png",
    "email": "ada@example.com",
    "email_verified": True,
}


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
        mock.know("bob", **CLAIMS)
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
    started = started or site.start()
    form = site.follow(started)
    assert (form.status_code, 'name="sub"' in form.text) == (200, True)
    back = site.post(started.headers["Location"], {"sub": sub})
    return site.follow(back)


def test_login_makes_a_user_of_the_claims_whom_the_next_one_finds(mock, mock_site):
    first = log_in_at_form(mock_site, "ada")
    changed = {"name": "Ada King", "email": "countess@example.com"}
    mock.know("ada", **{**CLAIMS, **changed})

    answer = log_in_at_form(mock_site, "ada")

    ada = {**ADA_USER, "fakeId": "ada", "name": "Ada King"}
    assert (answer_of(first)[0], answer_of(answer)[0]) == (HOME, HOME)
    assert mock_site.users() == [ada]
    assert mock_site.caller(token_of(answer)) == ada


def test_login_is_linked_to_the_user_of_a_token_and_never_by_its_email(mock_site):
    mock_site.register(email=CLAIMS["email"])
    id, token = mock_site.register(email="ann@example.com")

    taken = log_in_at_form(mock_site, "bob")
    log_in_at_form(mock_site, "bob", mock_site.connect(token))
    answer = log_in_at_form(mock_site, "bob")

    assert error_of(taken) == EMAIL_TAKEN
    assert mock_site.caller(token_of(answer))["id"] == id


def test_a_provider_that_restarts_with_other_keys_is_found_again():
    with ExitStack() as stack:
        with running_mock() as mock:
            site = stack.enter_context(serving_logins({"fake": mock}))
            before = log_in_at_form(site, "ada")

        with running_mock(urlsplit(mock.url).port):
            after = log_in_at_form(site, "ada")

    assert [error_of(answer) for answer in (before, after)] == [None, None]
