"""Fixtures of the example application, and of a provider of logins."""

from __future__ import annotations

import pytest

from .databases import DATABASES
from .listening import running


@pytest.fixture(scope="module", params=DATABASES)
def example(request, server_urls, tmp_path_factory):
    """The example application, on an empty database of each kind."""
    from .example import loaded_on

    folder = tmp_path_factory.mktemp("example")

    with loaded_on(request.param, server_urls, folder) as module:
        yield module


@pytest.fixture
def api(example):
    """A client of the example application."""
    from .example import Api

    return Api(example.app)


@pytest.fixture
def ann(api):
    """A user of the example application."""
    return api.person(name="Ann")


@pytest.fixture
def bob(api):
    """Another user of the example application."""
    return api.person(name="Bob")


@pytest.fixture
def provider():
    """An OAuth provider that runs."""
    from .oauth_providers import Provider

    provider = Provider()

    with running(provider) as provider.url:
        yield provider
