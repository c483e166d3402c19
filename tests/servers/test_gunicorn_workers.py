"""Two workers of gunicorn serve the example as one would."""

import threading
from concurrent import futures

import pytest

from ..processes import call, connected, drop_tables, gunicorn, logged_in, PASSWORD


@pytest.fixture(scope="module")
def server(module_url, tmp_path_factory):
    """The example, whose workers have started at once on an empty database."""
    folder = tmp_path_factory.mktemp("example")
    is_in_memory = module_url == "sqlite://"
    url = f"sqlite:///{folder}/new.db" if is_in_memory else module_url

    with gunicorn(url, folder) as server:
        yield server

    drop_tables(url)


@pytest.fixture
def connection(server):
    connection = connected(server.host)
    yield connection

    connection.close()


def test_one_of_many_users_gets_a_unique_email(server):
    count = 20
    start = threading.Barrier(count)
    data = {"email": "ben@example.com", "password": PASSWORD}

    def register(host):
        connection = connected(host)
        start.wait()
        status, body = call(connection, "POST", "/users", data)
        connection.close()
        return status, body.get("errors")

    with futures.ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(register, [server.host] * count))

    refused = (409, {"email": "has to be unique"})
    assert sorted(answers, key=str) == [(201, None)] + [refused] * (count - 1)
    assert server.complaints == []


def test_logout_holds_in_every_worker(server, connection):
    def call_once(*args):
        connection = connected(server.host)
        status, body = call(connection, *args)
        connection.close()
        return status, body["message"]

    token = logged_in(connection, "eve")
    call(connection, "DELETE", "/authentication", None, token)
    answers = [call_once("GET", "/rooms", None, token) for _ in range(16)]

    assert answers == [(401, "jwt revoked")] * 16
