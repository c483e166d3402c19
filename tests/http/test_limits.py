from __future__ import annotations

import logging
import socket
import uuid
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest
import redis
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from redis.backoff import NoBackoff
from redis.retry import Retry
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records import AuthenticationService, FlaskRecords

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

    def remove(self, id, params):
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
    methods = ["find", "get", "create", "patch", "remove", "shout"]
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
    assert response.json == {
        "name": "TooManyRequests",
        "message": "Too many requests: 20 per 1 minute at most.",
        "code": 429,
        "className": "too-many-requests",
        "errors": {},
    }
    assert 1 <= int(response.headers["Retry-After"]) <= 60
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ({"json": LOGIN}, 401),
        ({"json": {"strategy": "nothing"}}, 401),
        ({"json": {**LOGIN, "email": 1}}, 400),
        ({"json": None, "data": b"{", "headers": JSON}, 400),
        ({"json": None, "data": b"x" * 2000, "headers": JSON}, 413),
        ({"path": "/authentication?$limit=x"}, 401),
        ({"path": "/authentication/1"}, 405),
        ({"path": "/authentication/"}, 401),
        ({"headers": {"X-Service-Method": "create"}}, 401),
    ],
)
def test_call_counts_whatever_its_outcome(call, status):
    limits = {"authentication.create": "2 per minute"}
    client = make_app(limits, MAX_CONTENT_LENGTH=1000).test_client()
    options = {"path": "/authentication", "json": LOGIN, **call}

    found = [client.post(**options).status_code for _ in range(3)]

    assert found == [status, status, 429]


def test_body_of_a_call_over_the_limit_is_not_read(client):
    class Unreadable(BytesIO):
        def read(self, *args):
            raise AssertionError

        readinto = readline = read

    statuses(log_in, client, times=20)

    environ = {"wsgi.input": Unreadable(), "CONTENT_LENGTH": "1000"}
    response = client.post(
        "/authentication",
        headers=JSON,
        environ_overrides={**environ, "REMOTE_ADDR": "192.0.2.1"},
    )

    assert response.status_code == 429


@pytest.mark.parametrize(
    ("one", "other", "is_one_client"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8:0:0:1::", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::1", "127.0.0.1", False),
        ("fe80::1%eth0", "fe80::1%eth0", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("", "", True),
        ("unix:", "192.0.2.1", False),
    ],
)
def test_clients_are_told_apart_by_address_or_network(
    client, one, other, is_one_client
):
    statuses(log_in, client, one, times=20)

    response = log_in(client, other)

    assert response.status_code == (429 if is_one_client else 401)


def test_client_behind_a_trusted_proxy_has_its_own_address():
    app = make_app()
    app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1)
    client = app.test_client()
    one, other = ({"X-Forwarded-For": f"198.51.100.{last}"} for last in (1, 2))

    found = [log_in(client, headers=one).status_code for _ in range(21)]

    assert found[-1] == 429
    assert log_in(client, headers=other).status_code == 401


def test_other_methods_are_not_limited(client):
    statuses(register, client, times=11)

    for _ in range(11):
        found = [
            client.get("/users"),
            client.get("/users/1"),
            client.patch("/users/1", json={}),
            client.delete("/users/1"),
            client.post("/users", json={}, headers={"X-Service-Method": "shout"}),
        ]
        assert [response.status_code for response in found] == [200] * 5


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("users.find", lambda client: client.get("/users")),
        ("users.find", lambda client: client.head("/users")),
        ("users.get", lambda client: client.get("/users/1")),
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


def test_setting_replaces_a_limit_and_leaves_the_others():
    client = make_app({"authentication.create": "1 per minute"}).test_client()

    assert statuses(log_in, client, times=2) == [401, 429]
    assert statuses(register, client, times=11) == [201] * 10 + [429]


@pytest.mark.parametrize("nothing", [None, ""])
def test_setting_removes_a_limit(nothing):
    client = make_app({"authentication.create": nothing}).test_client()

    assert statuses(log_in, client, times=50) == [401] * 50


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"nothing.create": "1/minute"}, "names 'nothing.create', which is not a"),
        ({"users.creat": "1/minute"}, "names 'users.creat', which is not a"),
        ({"users.update": "1/minute"}, "names 'users.update', which is not a"),
        ({"users.find": "often"}, r"\['users.find'\] is 'often'. It is like '10 per"),
        ({"users.find": 10}, r"\['users.find'\] is 10"),
        ("10 per minute", "RECORDS_LIMITS"),
    ],
)
def test_wrong_limits_are_refused_at_start_up(limits, message):
    with pytest.raises(RuntimeError, match=message):
        make_app(limits)


def test_users_that_are_no_service_need_no_limit():
    """An application without tokens may have no such service."""
    limiter = Limiter(get_remote_address)
    records = FlaskRecords(limiter=limiter)
    records.add("authentication", AuthenticationService())
    settings = {**AUTHENTICATION, "strategies": []}
    app = app_with(records, limiter, RECORDS_AUTHENTICATION=settings)

    assert app.extensions["records"] is records


def test_services_added_to_an_app_later_are_limited_too():
    limiter = Limiter(get_remote_address)
    records = FlaskRecords(limiter=limiter)
    client = app_with(records, limiter).test_client()
    records.add("users", Users(), public=True)
    records.add("authentication", AuthenticationService())

    assert statuses(log_in, client, times=21)[-1] == 429
    assert statuses(register, client, times=11)[-1] == 429


def test_logins_of_each_authentication_service_count_apart():
    limiter = Limiter(get_remote_address)
    records = FlaskRecords(limiter=limiter)
    records.add("users", Users(), public=True)
    records.add("authentication", AuthenticationService())
    records.add("admins", AuthenticationService(settings="ADMINS"))
    admins = {**AUTHENTICATION, "audience": "admins"}
    client = app_with(records, limiter, ADMINS=admins).test_client()

    found = [client.post("/admins", json=LOGIN).status_code for _ in range(21)]

    assert found == [401] * 20 + [429]
    assert log_in(client, "127.0.0.1").status_code == 401


@pytest.mark.parametrize("is_extension_first", [True, False])
def test_extensions_can_be_set_up_in_either_order(is_extension_first):
    limiter = Limiter(get_remote_address, storage_uri="memory://")
    records = FlaskRecords(limiter=limiter)
    records.add("users", Users(), public=True)
    app = Flask("tests")
    app.config["RECORDS_LIMITS"] = {"users.find": "1 per minute"}

    for extension in (records, limiter) if is_extension_first else (limiter, records):
        extension.init_app(app)

    found = statuses(app.test_client().get, "/users", times=2)
    assert found == [200, 429]


def test_nothing_is_limited_where_flask_limiter_is_off():
    client = make_app(RATELIMIT_ENABLED=False).test_client()

    assert statuses(log_in, client, times=50) == [401] * 50


def test_calls_at_once_are_all_counted():
    app = make_app()

    with ThreadPoolExecutor(8) as pool:
        done = pool.map(lambda _: log_in(app.test_client()).status_code, range(60))

    assert sorted(done) == [401] * 20 + [429] * 40


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


def test_default_limits_of_the_host_hold_for_each_url_of_a_service_too():
    limiter = Limiter(get_remote_address, default_limits=["2 per minute"])
    app = make_app(limiter=limiter)
    app.add_url_rule("/view", "view", lambda: "view")
    client = app.test_client()

    found = {
        path: statuses(client.get, path, times=3)
        for path in ("/view", "/users", "/users/1")
    }

    assert found == dict.fromkeys(["/view", "/users", "/users/1"], [200, 200, 429])
    assert client.get("/users").json == {
        "name": "TooManyRequests",
        "message": "2 per 1 minute",
        "code": 429,
        "className": "too-many-requests",
        "errors": {},
    }
