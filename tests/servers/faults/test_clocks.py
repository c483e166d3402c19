"""Three servers of one database, whose clocks differ."""

from __future__ import annotations

import uuid
from contextlib import closing, ExitStack
from pathlib import Path

import jwt
import pytest

from ...processes import call, connected, gunicorn, logged_in, PASSWORD

pytestmark = pytest.mark.slow

CLOCKS = (0, -2, 60 * 60)
"""How far the clock of each server is ahead, in seconds."""

ALL = [200] * len(CLOCKS)
NONE = [401] * len(CLOCKS)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """The addresses of the servers."""
    folder = tmp_path_factory.mktemp("clocks")
    own = {"PYTHONPATH": str(Path(__file__).parent / "clock")}
    url = f"sqlite:///{folder}/clocks.db"

    with ExitStack() as stack:
        yield [
            stack.enter_context(gunicorn(url, folder, CLOCK=str(ahead), **own)).host
            for ahead in CLOCKS
        ]


@pytest.fixture
def name():
    return uuid.uuid4().hex


@pytest.fixture
def token(hosts, name):
    """The token of a new user, by the server whose clock is right."""
    with closing(connected(hosts[0])) as connection:
        return logged_in(connection, name)


def claims(token):
    return jwt.decode(token, options={"verify_signature": False})


def ask(host, *request):
    with closing(connected(host)) as connection:
        return call(connection, *request)


def statuses(hosts, token):
    return [ask(host, "GET", "/rooms", None, token)[0] for host in hosts]


@pytest.mark.parametrize("number", range(len(CLOCKS)))
def test_changed_password_ends_tokens_and_no_later_ones(hosts, name, token, number):
    id = claims(token)["sub"]
    before = statuses(hosts, token)
    user = {"email": f"{name}@example.com", "password": PASSWORD}

    ask(hosts[number], "PATCH", f"/users/{id}", {"password": PASSWORD}, token)
    logins = [
        ask(host, "POST", "/authentication", {"strategy": "local", **user})[1]
        for host in hosts
    ]

    assert (before, statuses(hosts, token)) == (ALL, NONE)
    assert [statuses(hosts, each["accessToken"]) for each in logins] == [ALL] * 3


@pytest.mark.parametrize("number", range(len(CLOCKS)))
def test_logout_ends_the_token_on_all(hosts, token, number):
    before = statuses(hosts, token)

    ask(hosts[number], "DELETE", "/authentication", None, token)

    assert (before, statuses(hosts, token)) == (ALL, NONE)
