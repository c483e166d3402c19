import logging
import socket
import uuid
from io import BytesIO

import pytest
import redis
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_records import AuthenticationService, FlaskRecords, TooManyRequests

from ..databases import redis_url

AUTHENTICATION = {"secret": "s" * 32, "passwords": {"memory": 64, "passes": 1}}

LOGIN = {"strategy": "local", "email": "nobody", "password": "wrong"}

JSON = {"Content-Type": "application/json"}


class Users:
    """Takes what it gets, and keeps nothing."""

    def find(self, params):
        return []

    def get(self, id, params):
        return {"id": id}

    def create(self, data, params):
        return {"id": 1}

    def patch(self, id, data, params):
        return {"id": id}

    def shout(self, data, params):
        return data


def app_with(records, limiter, **config):
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = AUTHENTICATION
    app.config["RATELIMIT_STORAGE_URI"] = "memory://"
    app.config.update(config)
    limiter.init_app(app)
    records.init_app(app)
    return app


def make_app(limits=None, *, limiter=None, **config):
    limiter = limiter or Limiter(get_remote_address)
    records = FlaskRecords(limiter=limiter)
    methods = ["find", "get", "create", "patch", "shout"]
    records.add("users", Users(), public=True, methods=methods)
    records.add("authentication", AuthenticationService())
    return app_with(records, limiter, RECORDS_LIMITS=limits, **config)


@pytest.fixture
def client():
    return make_app().test_client()


@pytest.fixture
def shared():
    """Settings of applications that count in one Redis."""
    url = redis_url()
    prefix = f"test:{uuid.uuid4().hex}"
    yield {
        "RATELIMIT_STORAGE_URI": url,
        "RATELIMIT_STORAGE_OPTIONS": {"key_prefix": prefix},
    }

    with redis.Redis.from_url(url) as connection:
        for key in connection.scan_iter(f"{prefix}*"):
            connection.delete(key)


def log_in(client, address="192.0.2.1", **options):
    environ = {"REMOTE_ADDR": address}
    options = {"json": LOGIN, **options}
    return client.post("/authentication", environ_base=environ, **options)


def register(client):
    return client.post("/users", json={"email": "ann"})


def statuses(call, *args, times):
    return [call(*args).status_code for _ in range(times)]


@pytest.mark.parametrize(
    ("call", "status", "amount"), [(log_in, 401, 20), (register, 201, 10)]
)
def test_logins_and_registrations_of_a_minute_are_limited(client, call, status, amount):
    found = statuses(call, client, times=amount + 2)

    assert found == [status] * amount + [429] * 2


def test_call_over_the_limit_is_told_when_to_try_again(client):
    statuses(log_in, client, times=20)

    response = log_in(client)

    assert response.status_code == 429
    assert (
        response.json
        == TooManyRequests("Too many requests: 20 per 1 minute at most.").to_dict()
    )
    assert 1 <= int(response.headers["Retry-After"]) <= 60
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ({"json": LOGIN}, 401),
        ({"json": {"strategy": "nothing"}}, 401),
        ({"json": {**LOGIN, "email": 1}}, 400),
        ({"path": "/authentication?$limit=x"}, 401),
    ],
)
def test_attempt_to_log_in_counts_whatever_its_outcome(call, status):
    client = make_app({"authentication.create": "2 per minute"}).test_client()
    options = {"path": "/authentication", "json": LOGIN, **call}

    found = [client.post(**options).status_code for _ in range(3)]

    assert found == [status, status, 429]


def test_token_that_is_sent_again_is_no_attempt_to_log_in():
    """The official client does so when a page loads, and when it connects again."""
    app = make_app({"authentication.create": "1 per minute"})

    with app.app_context():
        service = app.extensions["records"].authentication()
        token, _ = service.create_token({"id": "1"})

    login = {"strategy": "jwt", "accessToken": token}
    client = app.test_client()

    assert statuses(lambda: log_in(client, json=login), times=30) == [201] * 30
    assert statuses(log_in, client, times=2) == [401, 429]


def test_body_of_a_call_over_the_limit_is_not_read():
    class Unreadable(BytesIO):
        def read(self, *args):
            raise AssertionError

        readinto = readline = read

    client = make_app().test_client()
    statuses(register, client, times=10)

    environ = {"wsgi.input": Unreadable(), "CONTENT_LENGTH": "1000"}
    response = client.post("/users", headers=JSON, environ_overrides=environ)

    assert response.status_code == 429


@pytest.mark.parametrize(
    ("one", "other", "is_one_client"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("", "", True),
    ],
)
def test_clients_are_told_apart_by_address_or_network(
    client, one, other, is_one_client
):
    statuses(log_in, client, one, times=20)

    response = log_in(client, other)

    assert response.status_code == (429 if is_one_client else 401)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("users.find", lambda client: client.get("/users")),
        ("users.patch", lambda client: client.patch("/users", json={})),
        (
            "users.shout",
            lambda client: client.post(
                "/users", json={}, headers={"X-Service-Method": "shout"}
            ),
        ),
    ],
)
def test_setting_limits_any_method(name, call):
    client = make_app({name: "2 per minute"}).test_client()

    assert statuses(call, client, times=3) == [200, 200, 429]


@pytest.mark.parametrize("nothing", [None, ""])
def test_setting_removes_a_limit(nothing):
    client = make_app({"authentication.create": nothing}).test_client()

    assert statuses(log_in, client, times=50) == [401] * 50


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"users.creat": "1/minute"}, "has no key 'users.creat'. The keys are "),
        ({"users.update": "1/minute"}, "has no key 'users.update'"),
        (
            {"users.find": "often"},
            r"\['users.find'\] must be like '10 per minute', or None",
        ),
        ({"users.find": 10}, r"\['users.find'\] must be like"),
        ({"users.find": {}}, r"\['users.find'\] must be like"),
        ({"users.find": {"limit": "1/minute", "by": "user"}}, "must be like"),
        ("10 per minute", "RECORDS_LIMITS"),
    ],
)
def test_wrong_limits_are_refused_at_start_up(limits, message):
    with pytest.raises(RuntimeError, match=message):
        make_app(limits)


def test_calls_pass_while_they_can_not_be_counted(caplog):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        client = make_app(
            RATELIMIT_STORAGE_URI=f"redis://127.0.0.1:{port}",
            RATELIMIT_STORAGE_OPTIONS={"retry": Retry(NoBackoff(), 0)},
        ).test_client()
        found = statuses(log_in, client, times=21)

    assert found == [401] * 21
    lines = [one for one in caplog.records if "can't be counted" in one.getMessage()]
    assert {one.levelno for one in lines} == {logging.ERROR}
    assert {one.exc_info for one in lines} == {None}
    # One line a second, though each login is counted more than once.
    assert 1 <= len(lines) < 21
    assert "ConnectionError" in lines[0].getMessage()


def test_workers_count_together_in_redis(shared):
    one, other = make_app(**shared).test_client(), make_app(**shared).test_client()

    found = statuses(log_in, one, times=15) + statuses(log_in, other, times=6)

    assert found == [401] * 20 + [429]
    assert 1 <= int(log_in(one).headers["Retry-After"]) <= 60


def test_document_is_there_beside_limits():
    client = make_app(RECORDS_OPENAPI={"enabled": True}).test_client()

    assert client.get("/openapi.json").status_code == 200


@pytest.mark.parametrize(
    ("settings", "is_told"),
    [
        ({}, False),
        ({"RECORDS_REALTIME": {"message_queue": "redis://127.0.0.1:9"}}, True),
        (
            {
                "RECORDS_REALTIME": {"message_queue": "redis://127.0.0.1:9"},
                "RATELIMIT_STORAGE_URI": "redis://127.0.0.1:9",
            },
            False,
        ),
        (
            {
                "RECORDS_REALTIME": {"message_queue": "redis://127.0.0.1:9"},
                "RATELIMIT_ENABLED": False,
            },
            False,
        ),
    ],
)
def test_start_tells_that_workers_count_apart(caplog, settings, is_told):
    make_app(**settings)

    assert ("Each worker counts the calls" in caplog.text) == is_told
