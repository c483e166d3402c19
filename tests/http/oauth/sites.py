"""Sites whose users log in at a provider."""

from __future__ import annotations

import pytest

from tests.listening import running
from tests.oauth_providers import make_members
from tests.oauth_providers import Provider
from tests.oauth_providers import serving_logins

SILENT = "Fake is not responding. Try again later."

INVALID = "Fake sent an invalid response. Try again later."

LATER = "Fake has a problem. Try again later."

AGAIN = "Fake did not accept the login. Try again."

MISCONFIGURED = (
    "Fake refused the login, because it is not set up correctly. Tell the owner of this"
    " site."
)

FAILED = "The login failed because of an error of this site. Try again later."

DENIED = "The login was cancelled."

LOST = "The login took too long, or began in another browser. Try again."

EMAIL_TAKEN = (
    "There is a user with this email already. Log in as this user, then connect Fake."
)

TOKEN = {"access_token": "token-of-the-provider", "token_type": "Bearer"}


@pytest.fixture
def other():
    other = Provider({"id": 77, "login": "ada77"})

    with running(other) as other.url:
        yield other


@pytest.fixture
def records():
    return make_members()


@pytest.fixture
def site(provider, records):
    with serving_logins({"fake": provider}, records=records) as site:
        yield site


def cookie_of(started):
    """The cookie that a browser sends back to the callback."""
    return started.headers["Set-Cookie"].split(";")[0]
