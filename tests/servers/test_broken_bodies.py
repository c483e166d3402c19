"""Bodies that break on the way to a server."""

from __future__ import annotations

import json
import re
import socket

import pytest

from ..bounds import create_app, worker
from ..listening import running


def bad_request(message):
    return {
        "name": "BadRequest",
        "message": message,
        "code": 400,
        "className": "bad-request",
        "errors": {},
    }


HEAD = "POST /messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKS = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n"
NEXT = "GET /messages HTTP/1.1\r\nHost: x\r\n\r\n"
UNREADABLE = bad_request("The body could not be read. Send the request again.")
BROKEN = {
    "size": f"{CHUNKS}ZZ\r\n{{}}\r\n0\r\n\r\n{NEXT}",
    "negative size": f"{CHUNKS}-2\r\n{{}}\r\n0\r\n\r\n{NEXT}",
    "end of a chunk": f"{CHUNKS}2\r\n{{}}XX0\r\n\r\n{NEXT}",
}
"""Bodies of which nobody can tell where they end, with a request after them."""

BROKEN_FOR_GUNICORN = BROKEN | {
    "trailer": f"{CHUNKS}2\r\n{{}}\r\n0\r\nno trailer\r\n\r\n{NEXT}",
}
TRUNCATED = {
    "chunk": f"{CHUNKS}20\r\n{{}}",
    "length": f"{HEAD}Content-Length: 20\r\n\r\n{{}}",
    "form": HEAD.replace("json", "x-www-form-urlencoded")
    + "Content-Length: 20\r\n\r\ntext=a&rank=1",
    "all of it": HEAD.replace("json", "x-www-form-urlencoded")
    + "Content-Length: 20\r\n\r\n",
}
"""Bodies whose client goes away in the middle."""


def answers(host, data, *, shuts=False):
    """The status lines and the last body that a server sends until it closes."""
    name, _, port = host.partition(":")

    with socket.create_connection((name, int(port)), timeout=30) as connection:
        connection.sendall(data.encode())

        if shuts:
            connection.shutdown(socket.SHUT_WR)

        with connection.makefile("rb") as stream:
            received = stream.read()

    lines = re.findall(rb"^HTTP/1\.[01] (\d+)", received, re.MULTILINE)
    return [int(status) for status in lines], json.loads(
        received.split(b"\r\n\r\n")[-1]
    )


@pytest.fixture
def messages_app(monkeypatch, tmp_path):
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/body.db")
    return create_app()


@pytest.mark.parametrize("name", BROKEN)
def test_broken_body_is_a_400_of_the_development_server(messages_app, name):
    with running(messages_app) as url:
        answer = answers(url.removeprefix("http://"), BROKEN[name])

    assert answer == ([400], UNREADABLE)


@pytest.mark.parametrize("name", TRUNCATED)
def test_truncated_body_is_a_400_of_the_development_server(messages_app, name):
    with running(messages_app) as url:
        answer = answers(url.removeprefix("http://"), TRUNCATED[name], shuts=True)

    assert answer == ([400], UNREADABLE)


@pytest.mark.parametrize("options", [["-k", "sync"], ["-k", "gthread"]], ids=str)
def test_broken_body_is_a_400_of_gunicorn_and_ends_the_connection(tmp_path, options):
    with worker(tmp_path, *options) as gunicorn:
        broken = [answers(gunicorn.host, data) for data in BROKEN_FOR_GUNICORN.values()]
        truncated = [
            answers(gunicorn.host, data, shuts=True) for data in TRUNCATED.values()
        ]

    assert broken == [([400], UNREADABLE)] * len(BROKEN_FOR_GUNICORN)
    assert truncated == [([400], UNREADABLE)] * len(TRUNCATED)
    assert gunicorn.complaints == []
