"""Failed logins are limited, in the process or by Flask-Limiter."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import redis
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from flask_records import (
    NotAuthenticated,
    SQLAlchemyService,
    TooManyRequests,
    Unavailable,
)
from flask_records.authentication import limits
from tests.authentication import ANN, CHEAP, LOGIN, make_records, SECRET, serving
from tests.databases import redis_url
from tests.models import User


@pytest.fixture
def few(monkeypatch):
    """Few logins of a user and of an address may fail."""
    monkeypatch.setattr(limits, "MAX_FAILURES", (3, 5))


@pytest.fixture
def client(few):
    with serving(make_records(normalize=str.lower)) as client:
        yield client


@contextmanager
def counting(**config):
    """A client of an application whose attempts Flask-Limiter counts by account."""
    limits = {"authentication.create": None, "authentication.account": "3 per hour"}
    records = make_records(limiter=Limiter(get_remote_address), normalize=str.lower)
    config = {"RATELIMIT_STORAGE_URI": "memory://", "RECORDS_LIMITS": limits, **config}

    with serving(records, **config) as client:
        yield client


@pytest.fixture(params=["process", "limiter"])
def either(request):
    """A client of an application that counts in each way."""
    if request.param == "process":
        yield request.getfixturevalue("client")
    else:
        with counting() as client:
            yield client


def log_in(client, address="192.0.2.1", **login):
    return client.post(
        "/authentication",
        json={**LOGIN, **login},
        environ_base={"REMOTE_ADDR": address},
    )


def fail(client, times, address="192.0.2.1", **login):
    login = {"password": "wrong", **login}
    return [log_in(client, address, **login).status_code for _ in range(times)]


@pytest.mark.parametrize("name", [ANN["email"], "nobody"])
def test_failed_logins_as_one_user_are_limited_whatever_the_address(either, name):
    found = [fail(either, 1, f"192.0.2.{n}", email=name) for n in range(1, 6)]

    assert found == [[401]] * 3 + [[429]] * 2


@pytest.mark.parametrize("spell", [str, str.upper, " {}".format, "{} ".format])
@pytest.mark.parametrize("name", [ANN["email"], "nobody"])
def test_name_counts_as_it_is_folded_whether_or_not_there_is_a_user(
    either, name, spell
):
    """The answers do not tell whether there is one."""
    found = fail(either, 3, email=name) + fail(either, 1, email=spell(name))

    assert found == [401, 401, 401, 429]


def test_refusal_says_when_to_try_again(client):
    fail(client, 3)
    response = log_in(client, "192.0.2.9")

    assert response.json["message"] == "Too many logins have failed. Try again later."
    assert 0 < int(response.headers["Retry-After"]) <= 15 * 60


def test_keys_of_the_storage_name_nobody():
    prefix = f"test:{uuid.uuid4().hex}"
    config = {
        "RATELIMIT_STORAGE_URI": redis_url(),
        "RATELIMIT_STORAGE_OPTIONS": {"key_prefix": prefix},
    }

    with counting(**config) as client:
        log_in(client)
        found = fail(client, 3, email="nobody@example.com", address="192.0.2.7")

    with redis.Redis.from_url(redis_url()) as connection:
        keys = b" ".join(connection.scan_iter(f"{prefix}*"))

        for key in keys.split():
            connection.delete(key)

    assert found == [401] * 3
    assert keys and b"example" not in keys


def test_failed_logins_of_one_address_are_limited_whoever_is_meant(client):
    found = [fail(client, 1, email=f"user{n}@example.com") for n in range(7)]

    assert found == [[401]] * 5 + [[429]] * 2
    assert log_in(client).status_code == 429
    assert log_in(client, "192.0.2.2").status_code == 201


@pytest.mark.parametrize(
    "address",
    [
        *("2001:db8::{}", "[2001:db8::{}]:443", "192.0.2.1:4430{}"),
        pytest.param(f"a{':1' * 5000}", id="of many ports"),
    ],
)
def test_network_of_an_address_counts(client, address):
    found = [
        fail(client, 1, address.format(n), email=f"{n}@example.com") for n in range(7)
    ]

    assert found == [[401]] * 5 + [[429]] * 2


def test_logins_that_succeed_do_not_count(client):
    assert [log_in(client).status_code for _ in range(9)] == [201] * 9


def test_login_that_succeeds_forgives_nothing(client):
    fail(client, 2)
    log_in(client)

    assert fail(client, 2) == [401, 429]


def test_failed_logins_are_forgotten_after_some_time(client, monkeypatch):
    now = time.monotonic
    fail(client, 3)

    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now() + 15 * 60)
        assert fail(client, 4) == [401, 401, 401, 429]


def test_login_that_succeeds_after_its_count_is_gone(few):
    records = make_records()

    @records["users"].after("get")
    def forget(method, context):
        records.authentication().settings.failed_logins._counts.clear()

    with serving(records) as client:
        assert log_in(client).status_code == 201


def test_outage_does_not_count(few):
    class Users(SQLAlchemyService):
        is_away = True

        def find(self, params):
            if self.is_away:
                raise Unavailable("Try again.")

            return super().find(params)

    users = Users(User, hidden=["password"])

    with serving(make_records(users=users)) as client:
        assert fail(client, 5) == [503] * 5
        users.is_away = False
        assert fail(client, 4) == [401] * 3 + [429]


def test_logins_at_once_are_limited_too(client):
    app = client.application

    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda _: fail(app.test_client(), 1), range(20)))

    assert sorted(found)[:3] == [[401]] * 3
    assert sorted(found)[3:] == [[429]] * 17


def test_memory_is_bounded(client, monkeypatch):
    monkeypatch.setattr(limits, "MAX_KEYS", 4)
    service = client.application.extensions["records"].authentication()

    # A name that fails again and again is not among those that are forgotten.
    found = []

    for n in range(4):
        found += fail(client, 1)
        fail(client, 1, f"198.51.100.{n}", email=f"{n}@example.com")

    assert found == [401] * 3 + [429]
    settings = service.settings_of(client.application)
    assert len(settings.failed_logins._counts) <= 5


def test_login_in_a_view_counts_and_a_call_in_python_or_a_script_does_not(either):
    app = either.application
    service = app.extensions["records"].authentication()

    def log_in(password):
        with pytest.raises(NotAuthenticated):
            service.login(ANN["email"], password)

    with app.app_context():
        for _ in range(9):
            log_in("wrong")

    with app.test_request_context():
        for _ in range(9):
            with pytest.raises(NotAuthenticated):
                service.as_service.create({**LOGIN, "password": "wrong"})

        for _ in range(3):
            log_in("wrong")

        with pytest.raises(TooManyRequests):
            service.login(ANN["email"], ANN["password"])


def test_limit_of_failed_logins_can_be_left_out(few):
    settings = {"secret": SECRET, "passwords": CHEAP, "failed_logins": False}

    with serving(make_records(), settings) as client:
        assert fail(client, 20) == [401] * 20


def test_default_is_for_people_who_forget_passwords():
    with serving(make_records()) as client:
        assert fail(client, 21) == [401] * 20 + [429]


def test_limiter_counts_in_its_place(few):
    records = make_records(limiter=Limiter(get_remote_address))

    with serving(records, RATELIMIT_STORAGE_URI="memory://") as client:
        assert fail(client, 21) == [401] * 20 + [429]
