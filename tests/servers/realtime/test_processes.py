"""Events of several processes with Redis."""

import uuid
from contextlib import contextmanager

import pytest

from ...databases import redis_url
from ...processes import call, connected
from ...realtime_clients import login_of, run_command, serving, settings_of, Socket


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    own = {"REDIS_URL": redis_url(), "CHANNEL": uuid.uuid4().hex}
    return settings_of(folder, ["all"] * 4, **own)


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
def test_end_of_a_login_holds_at_the_other_worker(places, number, end):
    one, other = places
    own = one.log_in(number)
    user = one("GET", f"/users?email={number}@example.com", None, own)[0]["id"]
    leaving = other.socket(own)
    token = one.log_in()
    staying = other.socket(token)

    one.create("before", token)
    assert leaving.gets("before")

    end(one, user, own)
    one.create("after", token)

    assert staying.gets("after")
    assert leaving.call("find", "items")[0]["code"] == 401
    assert "after" not in leaving.texts()
