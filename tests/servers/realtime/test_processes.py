"""Events of several processes with Redis, and while Redis is not available."""

from __future__ import annotations

import uuid
from contextlib import closing, contextmanager

import pytest
import redis

from flask_records.realtime.bus.redis import RedisBroker
from flask_records.realtime.bus.shared import SharedBus

from ... import redis_server
from ...databases import redis_url
from ...processes import call, connected
from ...realtime_clients import login_of, run_command, serving, settings_of, Socket

AWAY = "The message queue is not available"

UNNAMED = ("CLIENT", "HELLO", "EVAL", "SELECT")
"""The commands of Redis that name nothing at first."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    own = {"REDIS_URL": redis_url(), "CHANNEL": uuid.uuid4().hex}
    return settings_of(folder, ["all"] * 7, **own)


@pytest.fixture(scope="module")
def server(settings):
    with serving(settings) as server:
        yield server

    assert server.complaints == []


class Place:
    """A worker, with an HTTP connection to it, and sockets."""

    def __init__(self, server, pid):
        self._server = server
        self.pid = int(pid)
        self._sockets = []
        self._http = self._until_mine(lambda: connected(server.host), self._pid_of)
        self._token = None

    def socket(self, token):
        """A new connection to the worker."""
        made = self._until_mine(
            lambda: Socket(self._server.host, token), lambda socket: socket.worker()
        )
        self._sockets.append(made)
        return made

    def __call__(self, verb, path, data=None, token=None):
        """The body of an answer of the worker."""
        status, body = call(self._http, verb, path, data, token)
        assert status < 400, body
        return body

    def log_in(self, number=0):
        return self("POST", "/authentication", login_of(number))["accessToken"]

    def create(self, text, token):
        return self("POST", "/items", {"team": "red", "text": text}, token)

    def close(self):
        self._http.close()

        for each in self._sockets:
            each.close()

    def _until_mine(self, connect, pid_of):
        while True:
            made = connect()

            if pid_of(made) == self.pid:
                return made

            made.close()

    @staticmethod
    def _pid_of(connection):
        return call(connection, "GET", "/processes")[1][0]["id"]


@contextmanager
def places_of(server):
    places = [Place(server, pid) for pid in server.workers[:2]]

    try:
        yield places
    finally:
        for place in places:
            place.close()


@pytest.fixture
def places(server):
    """The two workers."""
    with places_of(server) as places:
        yield places


def test_event_reaches_connections_of_both_workers(places):
    token = places[0].log_in()
    sockets = [place.socket(token) for place in places]

    for place in places:
        place.create(f"of {place.pid}", token)

    texts = {f"of {place.pid}" for place in places}
    arrived = [[socket.gets(text) for text in texts] for socket in sockets]
    assert arrived == [[True, True]] * 2


def test_event_of_a_command_reaches_connections_of_both_workers(places, settings):
    token = places[0].log_in()
    sockets = [place.socket(token) for place in places]

    run_command(settings, "create", "items", "red", "of a command")

    assert [socket.gets("of a command") for socket in sockets] == [True, True]


def log_out(place, user, token):
    place("DELETE", "/authentication", None, token)


def change_password(place, user, token):
    place("PATCH", f"/users/{user}", {"password": "another one"}, token)


def remove_user(place, user, token):
    place("DELETE", f"/users/{user}", None, token)


@pytest.mark.parametrize(
    ("number", "end"), [(1, log_out), (2, change_password), (3, remove_user)]
)
@pytest.mark.parametrize("by_header", [True, False])
def test_end_of_a_login_holds_at_the_other_worker(places, number, end, by_header):
    one, other = places
    number += 3 * by_header
    own = one.log_in(number)
    user = one("GET", f"/users?email={number}@example.com", None, own)[0]["id"]
    leaving = other.socket(own if by_header else None)
    token = one.log_in()
    staying = other.socket(token)

    if not by_header:
        own = leaving.log_in(number)

    one.create("before", token)
    assert leaving.gets("before")

    end(one, user, own)
    one.create("after", token)

    assert staying.gets("after")
    assert not leaving.gets("after", 0.3)
    assert leaving.call("find", "items")[0]["code"] == 401


@pytest.fixture
def own_redis():
    with redis_server.own_redis() as server:
        yield server


@pytest.fixture
def own_server(own_redis, tmp_path):
    with serving(settings_of(tmp_path, REDIS_URL=own_redis.url)) as server:
        yield server


def lines_with(server, text):
    return [line for line in server.log if text in line]


def resumes(place, socket, token):
    """Return ``True`` if events of a place arrive at a socket before long."""
    texts = [f"again {number} {uuid.uuid4().hex}" for number in range(50)]

    for text in texts:
        place.create(text, token)

        if socket.gets(text, 0.1):
            return True

    return False


def test_workers_go_on_alone_until_redis_is_back(own_redis, own_server):
    with places_of(own_server) as places:
        token = places[0].log_in()
        sockets = [place.socket(token) for place in places]
        own_redis.stop()

        for number in range(5):
            for place in places:
                place.create(f"{place.pid} {number}", token)

        alone = [f"{place.pid} 4" for place in places]
        arrived = [[socket.gets(text, 1) for text in alone] for socket in sockets]
        warnings = len(lines_with(own_server, AWAY))
        own_redis.start()
        one, other = places
        is_back = [
            resumes(one, sockets[1], token),
            resumes(other, sockets[0], token),
        ]

    assert arrived == [[True, False], [False, True]]
    assert warnings == 2
    assert is_back == [True, True]
    assert len(lines_with(own_server, AWAY)) == 2
    assert len(lines_with(own_server, "The message queue is available again")) == 2
    assert lines_with(own_server, "Traceback") == []


@pytest.fixture
def bus(own_redis):
    return SharedBus(RedisBroker(own_redis.url, "app"))


def test_names_on_redis_begin_with_the_channel(own_redis, bus):
    with closing(redis.Redis.from_url(own_redis.url)) as client:
        with client.monitor() as monitor:
            with bus.lock("items:1")[1]:
                bus.publish([{"service": "items"}])

            client.echo("end")
            lines = iter(lambda: monitor.next_command()["command"], "ECHO end")
            commands = [line.split() for line in lines]

    # Some versions of redis-py show the lines of a script as commands, too.
    known = [(name, rest) for name, *rest in commands if name.isalpha()]
    named = {name: rest[0] for name, rest in known if name not in UNNAMED}
    assert set(named) == {"SET", "XADD", "get", "del"}
    assert all(name.startswith("app") for name in named.values())
