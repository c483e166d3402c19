"""The example application behind granian, as the README starts it."""

from __future__ import annotations

import http.client
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..leaks import current_test, LEAKS
from ..processes import call, connected, environment, free_port, logged_in, ROOT
from ..waiting import START, wait_until

README = ROOT.joinpath("README.md").read_text()
COMMAND = re.search(r"^\.venv/bin/(granian .+)$", README, re.MULTILINE)[1]
"""The line of the README."""

WSGI = "granian --interface wsgi --blocking-threads 4 wsgi:app"


class Log:
    """The lines that a process writes, read by a thread of its own."""

    def __init__(self, stream):
        self.lines = []
        self._thread = threading.Thread(target=self._read, args=[stream])
        self._thread.start()

    @property
    def text(self):
        return "".join(self.lines)

    def end(self):
        self._thread.join()

    def _read(self, stream):
        with stream:
            self.lines.extend(stream)


@dataclass
class Granian:
    """A running server."""

    process: subprocess.Popen
    host: str
    log: Log

    @property
    def complaints(self):
        return [
            line for line in self.log.lines if re.search("Traceback|ERROR|WARN", line)
        ]


@contextmanager
def granian(folder, *options, command=WSGI, variables=None):
    """A granian that serves the example application from a new database, as soon as
    its worker has started, and is stopped after the block.

    :param variables: The environment of another application that the command names.
    """
    port = free_port()
    url = f"sqlite:///{folder}/example.db"
    process = subprocess.Popen(
        [Path(sys.executable).parent / "granian", *shlex.split(command)[1:]]
        + ["--workers", "1", *options],
        cwd=ROOT,
        env={**(variables or environment(url, folder)), "GRANIAN_PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    log = Log(process.stdout)

    try:
        wait_until(lambda: "Started worker-" in log.text, START)
        wait_until_open(f"127.0.0.1:{port}")
        yield Granian(process, f"127.0.0.1:{port}", log)
        process.terminate()
        process.wait(60)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

        process.wait()
        log.end()
        LEAKS.look_at(log.text, f"{current_test()}: the log of granian")

    assert process.returncode == 0, log.text


def wait_until_open(host):
    """Wait until a worker accepts connections, which is a little after its start."""

    def is_open():
        try:
            connected(host).close()
        except ConnectionRefusedError:
            return False

        return True

    wait_until(is_open, START)


@pytest.fixture(scope="module", params=[WSGI, COMMAND], ids=["wsgi", "asgi"])
def server(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("granian")

    with granian(folder, command=request.param) as server:
        yield server

    assert server.complaints == []


@pytest.fixture
def connection(server):
    with closing(connected(server.host)) as connection:
        yield connection


@pytest.fixture(scope="module")
def ann(server):
    """The token of a user."""
    with closing(connected(server.host)) as connection:
        return logged_in(connection, "ann")


def test_line_of_the_readme_serves_the_six_methods(connection, ann):
    def status_and(name, *request):
        status, body = call(connection, *request, token=ann)
        return status, body[name]

    status, message = call(connection, "POST", "/messages", {"text": "one"}, ann)
    path = f"/messages/{message['id']}"

    assert status == 201
    assert status_and("text", "GET", path) == (200, "one")
    assert status_and("total", "GET", "/messages?text=one") == (200, 1)
    assert status_and("text", "PUT", path, {"text": "two"}) == (200, "two")
    assert status_and("text", "PATCH", path, {"text": "three"}) == (200, "three")
    assert status_and("text", "DELETE", path) == (200, "three")
    assert status_and("name", "GET", path) == (404, "NotFound")


HEAD = "POST /users HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
JSON = f"{HEAD}Content-Type: application/json\r\n"
FORM = f"{HEAD}Content-Type: application/x-www-form-urlencoded\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("request_text", "status", "text"),
    [
        (f"{JSON}{CHUNKED}2\r\n{{}}\r\n0\r\n\r\n", 400, "'email' is required"),
        (f"{JSON}{CHUNKED}0\r\n\r\n", 400, "No data provided"),
        (f"{JSON}Content-Length: 2\r\n\r\n{{}}", 400, "'email' is required"),
        (f"{FORM}Content-Length: 3\r\n\r\na=1", 400, "'email' is required"),
        (f"{JSON}Content-Length: 0\r\n\r\n", 400, "No data provided"),
        (f"{HEAD}\r\n", 400, "No data provided"),
        (f"{JSON}{CHUNKED}100001\r\n{' ' * 0x100001}\r\n0\r\n\r\n", 413, "limit"),
        (f"{JSON}Content-Length: {2**21}\r\n\r\n", 413, "limit"),
        ("GET /nothing HTTP/1.0\r\n\r\n", 404, "Page not found"),
    ],
)
def test_request_is_answered_as_by_other_servers(server, request_text, status, text):
    answer = raw_answer(server.host, request_text)

    assert answer[0] == status
    assert text in answer[1]


BROKEN = {
    "length": f"{JSON}Content-Length: 20\r\n\r\n{{}}",
    "chunk": f"{JSON}{CHUNKED}20\r\n{{",
    "size": f"{JSON}{CHUNKED}zz\r\n{{}}",
    "form": f"{FORM}{CHUNKED}20\r\nemail=a%40b.de",
}


@pytest.mark.parametrize(
    ("server", "name", "status", "text"),
    [
        # granian does not tell a WSGI application that a connection broke.
        (WSGI, "length", 400, "could not be read"),
        (WSGI, "chunk", 400, "not valid JSON"),
        (WSGI, "size", 400, "No data provided"),
        (WSGI, "form", 411, "needs a Content-Length"),
        *((COMMAND, name, 400, "could not be read") for name in BROKEN),
    ],
    indirect=["server"],
    scope="module",
)
def test_body_that_breaks_off_is_refused(server, name, status, text):
    answer = raw_answer(server.host, BROKEN[name], is_end=True)

    assert answer[0] == status
    assert text in answer[1]


def raw_answer(host, text, *, is_end=False):
    """The status and the text of the answer to a request.

    :param is_end: Whether the client goes away in the middle of its body.
    """
    name, _, port = host.partition(":")

    with socket.create_connection((name, int(port)), timeout=60) as client:
        client.sendall(text.encode())

        if is_end:
            client.shutdown(socket.SHUT_WR)

        with http.client.HTTPResponse(client, method=text.split()[0]) as response:
            response.begin()
            return response.status, response.read().decode()
