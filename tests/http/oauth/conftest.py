"""Providers that tests of logins share, and sites whose users log in there."""

import pytest

from tests.oauth_providers import (
    make_members,
    OpenIDProvider,
    Provider,
    running_once,
    serving_logins,
)


@pytest.fixture(scope="package")
def turns():
    """A server for the provider of each test."""
    with running_once() as turns:
        yield turns


@pytest.fixture(scope="package")
def other_turns():
    """A server for the other provider of a test."""
    with running_once() as turns:
        yield turns


@pytest.fixture
def provider(turns):
    """An OAuth provider without OpenID."""
    return turns.take(Provider())


@pytest.fixture
def openid(turns):
    """A provider with OpenID Connect."""
    return turns.take(OpenIDProvider())


@pytest.fixture
def other(other_turns):
    """Another provider."""
    return other_turns.take(Provider({"id": 77, "login": "ada77"}))


@pytest.fixture
def records():
    return make_members()


@pytest.fixture
def site(provider, records):
    with serving_logins({"fake": provider}, records=records) as site:
        yield site


@pytest.fixture
def openid_site(openid, records):
    with serving_logins({"fake": openid}, records=records) as site:
        yield site
