"""Limits on attempts to log in as one user."""

from __future__ import annotations

import uuid
from contextlib import contextmanager

import pytest
import redis
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from flask_records import NotAuthenticated, TooManyRequests

from ..authentication import ANN, LOGIN, make_records, serving
from ..databases import redis_url

WRONG = {**LOGIN, "password": "wrong"}
FEW = {"authentication.create": None, "authentication.account": "3 per hour"}


class Site:
    """A client of an application at addresses of its own."""

    def __init__(self, client):
        self.app = client.application
        self.client = client

    def log_in(self, address="192.0.2.1", **login):
        client, body = {"REMOTE_ADDR": address}, {**LOGIN, **login}
        return self.client.post("/authentication", json=body, environ_base=client)

    def fail(self, times, address="192.0.2.1", **login):
        login = {**WRONG, **login}
        return [self.log_in(address, **login).status_code for _ in range(times)]


@contextmanager
def serving_few(**config):
    records = make_records(limiter=Limiter(get_remote_address), normalize=str.lower)
    config = {"RATELIMIT_STORAGE_URI": "memory://", "RECORDS_LIMITS": FEW, **config}

    with serving(records, **config) as client:
        yield Site(client)


@pytest.fixture
def site():
    with serving_few() as site:
        yield site


def test_attempts_for_one_user_count_together_whatever_the_address(site):
    found = [site.fail(1, f"192.0.2.{last}") for last in range(1, 6)]

    assert found == [[401]] * 3 + [[429]] * 2


@pytest.mark.parametrize("name", ["ANN@example.com", "Ann@Example.com"])
def test_name_counts_as_the_user_that_it_finds(site, name):
    site.fail(3, email=name)

    assert site.fail(1, "192.0.2.9") == [429]


@pytest.mark.parametrize("spell", [str, str.upper, " {}".format, "{} ".format])
@pytest.mark.parametrize("name", ["ann@example.com", "nobody@example.com"])
def test_name_counts_as_it_is_folded_whether_or_not_there_is_a_user(site, name, spell):
    """The answers do not tell whether there is one."""
    found = site.fail(3, email=name) + site.fail(1, email=spell(name))

    assert found == [401, 401, 401, 429]


def test_login_in_a_view_counts_for_the_client(site):
    """A form of the application asks for a password, too."""
    service = site.app.extensions["records"].authentication()

    with site.app.test_request_context():
        for _ in range(3):
            with pytest.raises(NotAuthenticated):
                service.login(ANN["email"], "wrong")

        with pytest.raises(TooManyRequests):
            service.login(ANN["email"], ANN["password"])


def test_keys_of_the_storage_name_nobody():
    prefix = f"test:{uuid.uuid4().hex}"
    config = {
        "RATELIMIT_STORAGE_URI": redis_url(),
        "RATELIMIT_STORAGE_OPTIONS": {"key_prefix": prefix},
    }

    with serving_few(**config) as site:
        site.log_in()
        found = site.fail(3, email="nobody@example.com", address="192.0.2.7")

    with redis.Redis.from_url(redis_url()) as connection:
        keys = b" ".join(connection.scan_iter(f"{prefix}*"))

        for key in keys.split():
            connection.delete(key)

    assert found == [401] * 3
    assert keys and b"example" not in keys
