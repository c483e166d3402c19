"""Forms with files, sent by other programs to the servers that applications use."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ..http.uploads_app import MEBIBYTE
from ..processes import ROOT, started
from .test_granian import free_port, Log, wait_until_open

APP = "tests.http.uploads_app:create_large_app"
"""An application whose forms have 64 MiB at most."""


@contextmanager
def gunicorn(folder, *options):
    # Some versions wait for idle connections until they must stop.
    own = ["-w", "1", "--graceful-timeout", "5", *options, f"{APP}()"]

    with started(own, environment(folder)) as server:
        yield server.host, lambda: server.memory


@contextmanager
def granian(folder):
    port = free_port()
    command = [Path(sys.executable).parent / "granian", "--interface", "wsgi"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--factory", APP],
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    log = Log(process.stdout)

    try:
        log.wait_for("Started worker-")
        wait_until_open(f"127.0.0.1:{port}")
        yield f"127.0.0.1:{port}", None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

        process.wait()
        log.end()


def environment(folder):
    own = {"DATABASE_URL": f"sqlite:///{folder}/uploads.db"}
    return {**os.environ, **own, "XDG_RUNTIME_DIR": str(folder), "TMPDIR": str(folder)}


SERVERS = {
    "gthread": lambda folder: gunicorn(folder, "-k", "gthread", "--threads", "4"),
    "granian": granian,
}


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uploads")

    with SERVERS[request.param](folder) as (host, memory):
        yield host, memory, folder


@pytest.fixture
def url(server):
    return f"http://{server[0]}"


def curl(*args):
    done = subprocess.run(
        ["curl", "-s", "-g", "-w", "\n%{http_code}", *args],
        capture_output=True,
        timeout=120,
    )
    body, _, status = done.stdout.rpartition(b"\n")
    return int(status), body and json.loads(body)


@pytest.mark.parametrize(
    "encoding", [[], ["-H", "Transfer-Encoding: chunked"]], ids=len
)
def test_large_file_does_not_fill_the_memory(server, url, encoding, tmp_path):
    path = tmp_path / "large"
    path.write_bytes(b"x" * 60 * MEBIBYTE)
    memory = server[1]
    before = memory and memory()

    status, body = curl(*encoding, "-F", f"file=@{path}", f"{url}/described")

    assert (status, body["file"][2]) == (201, 60 * MEBIBYTE)
    assert not memory or memory() - before < 45
    # Temporary files have no name, or are removed.
    assert [
        each for each in server[2].iterdir() if each.stat().st_size > MEBIBYTE
    ] == []


def test_form_that_announces_too_much_is_not_read(url):
    with raw(url, f"Content-Length: {1024 * MEBIBYTE}") as connection:
        assert b" 413 " in connection.recv(1000)


TYPE = "multipart/form-data; boundary=x"


def part_start(name, filename=None):
    file = f'; filename="{filename}"' if filename else ""
    return (
        f'--x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
    ).encode()


@contextmanager
def raw(url, length, body=b""):
    host, port = url.removeprefix("http://").split(":")
    head = f"POST /photos HTTP/1.1\r\nHost: {host}\r\nContent-Type: {TYPE}\r\n{length}"

    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode() + body)
        yield connection


WHOLE = (
    part_start("title") + b"half\r\n" + part_start("image", "a") + b"12\r\n--x--\r\n"
)


@pytest.mark.parametrize("end", [60, -3])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_form_that_breaks_off_creates_nothing(url, end, is_chunked):
    body, length = WHOLE[:end], f"Content-Length: {len(WHOLE)}"

    if is_chunked:
        length = "Transfer-Encoding: chunked"
        body = f"{len(body):x}\r\n".encode() + body + b"\r\n"

    with raw(url, length, body) as connection:
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(1000)

    assert answer == b"" or b" 400 " in answer
    assert curl(f"{url}/photos") == (200, [])
