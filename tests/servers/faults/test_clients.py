"""Clients that leave in the middle of a request or of its answer."""

from __future__ import annotations

import json
import random
import socket
import uuid
from contextlib import closing

import pytest
import sqlalchemy as sa

from ...processes import call, connected, gunicorn, logged_in

pytestmark = pytest.mark.slow

LEAVERS = 120
"""Many more than the server has threads and connections to the database."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The URL of a database, and a server."""
    folder = tmp_path_factory.mktemp("clients")
    url = f"sqlite:///{folder}/clients.db"

    with gunicorn(url, folder) as server:
        yield url, server


def request_of(token, text):
    body = json.dumps({"text": text}).encode()
    head = (
        "POST /messages HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def send(host, data):
    """Send some bytes, and leave without a look at the answer."""
    name, port = host.split(":")

    with socket.create_connection((name, int(port))) as connection:
        connection.sendall(data)


def test_broken_requests_store_nothing_and_whole_ones_a_whole_record(site):
    url, server = site
    chance = random.Random(7)

    with closing(connected(server.host)) as connection:
        token = logged_in(connection, uuid.uuid4().hex)

        for number in range(LEAVERS):
            data = request_of(token, f"broken {number}")
            send(server.host, data[: chance.randrange(1, len(data))])
            send(server.host, request_of(token, f"whole {number}"))

        # Those that wait in the queue are served before.
        answers = [
            call(connection, "POST", "/messages", {"text": "stayed"}, token)[0]
            for _ in range(20)
        ]

    engine = sa.create_engine(url, poolclass=sa.NullPool)

    with engine.connect() as stored:
        texts = list(stored.scalars(sa.text("SELECT text FROM message")))

    others = [text for text in texts if text != "stayed"]
    assert answers == [201] * 20
    assert texts.count("stayed") == 20
    assert set(others) <= {f"whole {number}" for number in range(LEAVERS)}
    assert len(others) == len(set(others))
    assert server.complaints == []
