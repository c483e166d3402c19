"""Bodies that break on the way to a server."""

import json
import re
import socket

import pytest

from flask_records import BadRequest

from ..bounds import worker

HEAD = "POST /messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKS = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n"
NEXT = "GET /messages HTTP/1.1\r\nHost: x\r\n\r\n"
UNREADABLE = BadRequest("The body could not be read. Send the request again.").to_dict()
BROKEN = [
    f"{CHUNKS}ZZ\r\n{{}}\r\n0\r\n\r\n{NEXT}",
    f"{CHUNKS}-2\r\n{{}}\r\n0\r\n\r\n{NEXT}",
    f"{CHUNKS}2\r\n{{}}XX0\r\n\r\n{NEXT}",
    f"{CHUNKS}2\r\n{{}}\r\n0\r\nno trailer\r\n\r\n{NEXT}",
]
"""Bodies of which nobody can tell where they end, with a request after them."""

FORM = HEAD.replace("json", "x-www-form-urlencoded")
TRUNCATED = [
    f"{CHUNKS}20\r\n{{}}",
    f"{HEAD}Content-Length: 20\r\n\r\n{{}}",
    f"{FORM}Content-Length: 20\r\n\r\ntext=a&rank=1",
    f"{FORM}Content-Length: 20\r\n\r\n",
]
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


@pytest.mark.parametrize("options", [["-k", "sync"], ["-k", "gthread"]], ids=str)
def test_broken_body_is_a_400_of_gunicorn_and_ends_the_connection(tmp_path, options):
    with worker(tmp_path, *options) as gunicorn:
        broken = [answers(gunicorn.host, data) for data in BROKEN]
        truncated = [answers(gunicorn.host, data, shuts=True) for data in TRUNCATED]

    assert broken == [([400], UNREADABLE)] * len(BROKEN)
    assert truncated == [([400], UNREADABLE)] * len(TRUNCATED)
    assert gunicorn.complaints == []
