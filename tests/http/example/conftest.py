"""The example application, and people who use it."""

import pytest

from ...databases import DATABASES, url_of
from .people import Api, loaded


@pytest.fixture(scope="module", params=DATABASES)
def example(request, server_urls, tmp_path_factory):
    """The module of the example, on an empty database of each kind."""
    folder = tmp_path_factory.mktemp("example")
    url = url_of(request.param, server_urls, folder / "example.db")

    with loaded(url, folder) as module:
        yield module


@pytest.fixture
def api(example):
    return Api(example.app)


@pytest.fixture
def ann(api):
    return api.person(name="Ann")


@pytest.fixture
def bob(api):
    return api.person(name="Bob")
