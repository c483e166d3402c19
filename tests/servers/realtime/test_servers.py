"""The same cases with each server that applications use."""

import json
import os
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from types import SimpleNamespace

import pytest
from websocket import ABNF

from ...authentication import bearer
from ...event_stream import EventStream
from ...polling import calls, Polling, received
from ...processes import call
from ...realtime import connected, running_asgi
from ...realtime_app import create_app
from ...realtime_clients import login_of, serving, settings_of
from .. import test_granian

MB = 1 << 20


@contextmanager
def granian(settings):
    command = "granian --interface asgi tests.realtime_app:create_asgi_app"

    with test_granian.granian(
        None, "--factory", command=command, variables=settings
    ) as it:
        yield it


@contextmanager
def uvicorn(settings):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items() - os.environ.items():
            patch.setenv(name, value)

        app = create_app()

        with running_asgi(app, app.extensions["tests_realtime"]) as url:
            yield SimpleNamespace(host=url.removeprefix("http://"), complaints=[])


SERVERS = {"gunicorn": serving, "granian": granian, "uvicorn": uvicorn}


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("servers")
    settings = settings_of(folder, WEB_CONCURRENCY="1", MAX_UNSENT=str(20 * MB))

    with SERVERS[request.param](settings) as server:
        yield server

    assert server.complaints == []


@contextmanager
def connect(server, **headers):
    """A connected socket that reads only on request."""
    with connected(f"http://{server.host}", **headers) as client:
        yield client.socket


def test_client_that_is_busy_gets_all_of_it_whole(server):
    pad = "x" * 50_000

    with closing(HTTPConnection(server.host)) as http:
        token = call(http, "POST", "/authentication", login_of(0))[1]["accessToken"]

        with connect(server, **bearer(token)) as socket:
            texts = [f"{number} {pad}" for number in range(300)]

            for text in texts:
                assert call(http, "POST", "/pads", {"text": text}, token)[0] == 201

            events = [json.loads(socket.recv()[2:]) for _ in texts]
            socket.send('421["find","pads"]')
            answer = json.loads(socket.recv()[3:])

    assert events == [["pads created", {"text": text}] for text in texts]
    assert answer == [None, ["x" * 1_000_000] * 6]


@pytest.mark.parametrize("version", ["3", "4"])
def test_calls_before_and_after_an_upgrade_are_answered(server, version):
    polling = Polling(f"http://{server.host}", version)
    first, second = range(300), range(300, 600)

    if version == "4":
        polling.connect()

    assert polling.post(*calls(first, "find", "processes"))[0] == 200
    polling.answers(10)
    socket = polling.upgrade()

    for packet in calls(second, "find", "processes"):
        socket.send(packet)

    assert list(received(socket, 600, polling.packets)) == [*first, *second]
    polling.close()


def test_calls_and_requests_are_answered_with_logins(server):
    with closing(HTTPConnection(server.host)) as http:
        token = call(http, "POST", "/authentication", login_of(0))[1]["accessToken"]
        status, found = call(http, "GET", "/items", None, token)

    with connect(server, **bearer(token)) as socket:
        socket.send('421["find","items"]')
        assert json.loads(socket.recv()[3:]) == [None, found]

    with connect(server) as socket:
        socket.send('421["find","items"]')
        assert json.loads(socket.recv()[3:])[0]["code"] == 401

    assert status == 200


def test_server_ends_a_connection_that_is_no_client(server):
    with connect(server) as socket:
        socket.send("x")
        opcode, data = socket.recv_data()

    assert (opcode, int.from_bytes(data[:2], "big")) == (ABNF.OPCODE_CLOSE, 1008)


def test_stream_over_http_1_0_is_refused(server):
    client = EventStream(f"http://{server.host}", version="1.0")
    body = client.json()
    client.close()

    assert client.status == 400
    assert body["message"].startswith("A stream needs HTTP/1.1.")
