"""Users in channels of several processes, and the ends of their connections."""

from __future__ import annotations

import os
import signal
import uuid
from collections import Counter

import pytest

from .databases import redis_url
from .processes import call
from .processes import connected
from .realtime_clients import run_command
from .realtime_clients import serving
from .realtime_clients import settings_of
from .realtime_clients import Socket
from .realtime_clients import spread
from .waiting import wait_until

pytestmark = pytest.mark.slow

ANN, BOB = 0, 1
"""The numbers of two users of the team red. Their ids are one more."""

SERVERS = {
    "gthread": (["-k", "gthread", "--threads", "100"], "create_presence_app"),
    "gevent": (["-k", "gevent"], "create_presence_app"),
    "asgi": (["-k", "asgi", "--threads", "1"], "create_presence_asgi_app"),
}
"""Options and applications of the kinds of servers."""


@pytest.fixture(scope="module", params=SERVERS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("presence")
    own = {"REDIS_URL": redis_url(), "CHANNEL": uuid.uuid4().hex}
    return settings_of(folder, ["red", "red"], **own)


@pytest.fixture
def server(kind, settings):
    options, app = SERVERS[kind]

    with serving(settings, *options, app=app) as server:
        yield server


@pytest.fixture
def tokens(server):
    http = connected(server.host)

    def log_in(number):
        login = {"strategy": "local", "email": f"{number}@example.com"}
        body = {**login, "password": "correct horse battery"}
        return call(http, "POST", "/authentication", body)[1]["accessToken"]

    yield [log_in(ANN), log_in(BOB)]
    http.close()


def seen(socket):
    """The events of presence that a socket got, with the ids of the users."""
    return [
        (name, record["userId"])
        for _, name, record in list(socket.events)
        if name.startswith("presence")
    ]


def present(socket):
    error, found = socket.call("find", "presence", {"channel": "red"})
    assert error is None, error
    return sorted(record["userId"] for record in found)


def wait_for_users(sockets, users):
    for socket in sockets:
        wait_until(lambda socket=socket: present(socket) == users, 30)


def test_users_of_all_workers_are_seen_once(server, tokens):
    ann, bob = tokens
    places = spread(server.host, [ann, ann], server.workers[:2])
    sockets = [socket for place in places.values() for socket in place]
    wait_for_users(sockets, [1])
    places_of_bob = spread(server.host, [bob, bob], server.workers[:2])
    sockets_of_bob = [socket for place in places_of_bob.values() for socket in place]
    wait_for_users([*sockets, *sockets_of_bob], [1, 2])
    sockets_of_bob[0].close()
    wait_for_users(sockets, [1, 2])
    sockets_of_bob[1].close()
    wait_for_users(sockets, [1])

    for socket in sockets:
        wait_until(lambda socket=socket: ("presence removed", 2) in seen(socket), 10)
        events = Counter(seen(socket))
        assert events["presence created", 2] == events["presence removed", 2] == 1
        assert events["presence removed", 1] == 0
        socket.close()


def test_users_of_a_killed_worker_leave(server, tokens):
    ann, bob = tokens
    places = spread(server.host, [ann, bob], server.workers[:2])
    (place,) = [(pid, s) for pid, (s,) in places.items() if s.token == bob]
    (socket,) = [s for (s,) in places.values() if s.token == ann]
    wait_for_users([socket], [1, 2])
    os.kill(place[0], signal.SIGKILL)
    wait_for_users([socket], [1])

    wait_until(lambda: ("presence removed", 2) in seen(socket), 10)
    assert Counter(seen(socket))["presence removed", 2] == 1
    socket.close()


def test_worker_that_starts_knows_who_is_there(server, tokens):
    ann, bob = tokens
    places = spread(server.host, [ann, bob], server.workers[:2])
    (place,) = [(pid, s) for pid, (s,) in places.items() if s.token == bob]
    (socket,) = [s for (s,) in places.values() if s.token == ann]
    wait_for_users([socket], [1, 2])
    os.kill(place[0], signal.SIGKILL)
    wait_until(lambda: len(server.workers) == 3, 30)
    workers = [worker for worker in server.workers if worker != str(place[0])]
    new = spread(server.host, [bob, bob], workers)
    sockets = [s for place in new.values() for s in place]
    wait_for_users([socket, *sockets], [1, 2])

    for each in [socket, *sockets]:
        each.close()


def test_command_disconnects_a_user_from_all_workers(server, settings, tokens):
    ann, bob = tokens
    places = spread(server.host, [bob, bob], server.workers[:2])
    sockets = [socket for place in places.values() for socket in place]
    other = Socket(server.host, ann)
    run_command(settings, "disconnect", "2")

    for socket in sockets:
        assert socket.waits_for_end()
        assert socket.events[-1][1:] == ("disconnected", {"message": "By a command."})

    assert str(other.worker()) in server.workers
    other.close()
