"""The end of a server that has connections, and its reload."""

import http.client
import json
import operator
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from types import SimpleNamespace

import pytest

from ... import processes
from ...event_stream import listening
from ...processes import call, free_port, ROOT, started
from ...realtime import connected, reason_of
from ...realtime_clients import serving, settings_of
from ...waiting import START, wait_until

STOPPED = (1001, "The server stops.")
NAP = "/naps?seconds=1"


@contextmanager
def gunicorn(settings):
    options = ["-k", "asgi", "-w", "1", "--graceful-timeout", "20"]

    with started(
        [*options, "tests.realtime_app:create_asgi_app()"], settings
    ) as server:
        yield server


@contextmanager
def uvicorn(settings):
    port = free_port()
    options = ["--port", str(port), "--factory", "--ws-per-message-deflate", "false"]
    command = [sys.executable, "-m", "uvicorn", *options]
    process = subprocess.Popen(
        [*command, "tests.realtime_app:create_asgi_app"],
        cwd=ROOT,
        env=settings,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )

    def is_started():
        with closing(socket.socket()) as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(is_started, START)
        yield SimpleNamespace(host=f"127.0.0.1:{port}", process=process)
    finally:
        process.kill()
        process.wait()


SERVERS = {"gunicorn": gunicorn, "uvicorn": uvicorn}


@pytest.mark.parametrize("name", SERVERS)
def test_connections_and_streams_end_at_once_when_the_server_stops(tmp_path, name):
    settings = settings_of(tmp_path, WEB_CONCURRENCY="1")

    with (
        SERVERS[name](settings) as server,
        connected(f"http://{server.host}") as client,
        listening(server.host) as stream,
    ):
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        reason, end = reason_of(client), stream.end()
        seconds = time.monotonic() - start
        server.process.wait(15)

    assert (reason, end) == (STOPPED, ([], "broken"))
    assert seconds < 1


@pytest.mark.parametrize(
    ("serve", "number"),
    [(gunicorn, signal.SIGTERM), (uvicorn, signal.SIGTERM), (gunicorn, signal.SIGHUP)],
    ids=["gunicorn-stop", "uvicorn-stop", "gunicorn-reload"],
)
def test_calls_in_progress_are_answered_before_the_end(tmp_path, serve, number):
    settings = settings_of(tmp_path, WEB_CONCURRENCY="1")

    with serve(settings) as server, connected(f"http://{server.host}") as client:
        with closing(http.client.HTTPConnection(server.host, timeout=30)) as request:
            request.request("GET", NAP)
            client.send('421["find","naps",{"seconds":"1"}]')
            time.sleep(0.3)
            server.process.send_signal(number)
            answer = client.socket.recv()
            reason = reason_of(client)
            response = json.loads(request.getresponse().read())

            if number == signal.SIGTERM:
                server.process.wait(15)

        if number == signal.SIGHUP:
            with connected(f"http://{server.host}") as client:
                assert client.result("find", "naps", {"seconds": "0"}) == ["awake"]

    assert answer == '431[null,["awake"]]'
    assert response == ["awake"]
    assert reason == STOPPED


def test_reload_leaves_no_gap_of_a_second(tmp_path):
    settings = settings_of(tmp_path, WEB_CONCURRENCY="1")
    gaps = []

    with serving(settings) as server:
        for count in range(2, 5):
            answers = [time.monotonic()]
            server.process.send_signal(signal.SIGHUP)

            while len(server.workers) < count or answers[-1] < answers[0] + 3:
                connection = processes.connected(server.host)
                assert call(connection, "GET", "/processes")[0] == 200
                answers.append(time.monotonic())
                connection.close()

            gaps.append(max(map(operator.sub, answers[1:], answers)))

    # Other processes may take the time of one.
    assert min(gaps) < 1
