from __future__ import annotations

import pytest

from tests.conftest import running
from tests.example import loaded
from tests.example import new_email
from tests.servers import PASSWORD

from .modules import imported


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example application, on a database of SQLite."""
    folder = tmp_path_factory.mktemp("example")

    with loaded(f"sqlite:///{folder / 'example.db'}", folder) as module:
        yield module


@pytest.fixture(scope="module")
def url(example):
    """The address of a server of the example."""
    with running(example.app) as url:
        yield url


@pytest.fixture(scope="module")
def made(example):
    """The client that is made of the example."""
    with imported(example.app) as module:
        yield module


@pytest.fixture
def credentials(made, url):
    """The credentials of a new user."""
    credentials = {"email": new_email(), "password": PASSWORD}

    with made.Client(url) as client:
        client.users.create(credentials)

    return credentials


@pytest.fixture
def client(made, url, credentials):
    """A client with a login."""
    with made.Client(url) as client:
        client.log_in("local", **credentials)
        yield client
