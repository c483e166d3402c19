"""The example application behind gunicorn: nothing acknowledged is lost.

Sixteen clients create, patch, read and remove messages for some seconds, and remember
what was acknowledged. At half time one of the two workers is killed. So one run tells
both what holds as long as nothing happens, and what a crash may cost. It is made once
for each database, and each test looks at another side of it.
"""

from __future__ import annotations

import http.client
import os
import random
import signal
import time
from collections import Counter
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field

import pytest
import sqlalchemy as sa

from .conftest import SERVERS
from .servers import call
from .servers import connected
from .servers import drop_tables
from .servers import Gunicorn
from .servers import gunicorn
from .servers import logged_in

CLIENTS = 16
SECONDS = {"sqlite": 20}
OTHER_SECONDS = 6
ACTIONS = ["create", "create", "create", "patch", "patch", "get", "find", "remove"]
GONE = None
"""Stands for the text of a record that is removed."""


@dataclass
class Client:
    """A user who writes messages, and remembers which writes were acknowledged."""

    host: str
    number: int
    known: dict[int, str | None] = field(default_factory=dict)
    """The text of each record, by its id."""

    doubtful: dict[int, tuple[str | None, ...]] = field(default_factory=dict)
    """The texts that a record may have after a write that was not answered."""

    unanswered: list[tuple[float, str]] = field(default_factory=list)
    """When requests got no answer, and what they would have written."""

    refused: list[object] = field(default_factory=list)
    """Answers that should have been others."""

    calls: Counter[str] = field(default_factory=Counter)
    token: str | None = None

    def log_in(self):
        connection = connected(self.host)
        self.token = logged_in(connection, f"client{self.number}")
        connection.close()

    def run(self, deadline):
        chance = random.Random(self.number)
        connection = connected(self.host)

        while time.monotonic() < deadline:
            # A new connection may meet the other worker.
            if self.calls.total() % 20 == 0:
                connection.close()

            ids = [id for id, text in self.known.items() if text is not GONE][-50:]
            action = chance.choice(ACTIONS) if len(ids) > 5 else "create"
            text = f"{self.number}-{self.calls.total()}"
            self.calls[action] += 1

            try:
                getattr(self, action)(connection, chance.choice(ids or [0]), text)
            except (http.client.HTTPException, OSError):
                self.unanswered.append((time.monotonic(), text))
                connection.close()

        connection.close()

    def create(self, connection, id, text):
        data = {"text": text}
        status, body = call(connection, "POST", "/messages", data, self.token)
        self.expect(status == 201 and body["text"] == text, status, body)
        self.known[body["id"]] = text

    def patch(self, connection, id, text):
        with self.writing(id, text):
            data = {"text": text}
            answer = call(connection, "PATCH", f"/messages/{id}", data, self.token)

        self.expect(answer[0] == 200 and answer[1]["text"] == text, *answer)

    def remove(self, connection, id, text):
        with self.writing(id, GONE):
            answer = call(connection, "DELETE", f"/messages/{id}", None, self.token)

        self.expect(answer[0] == 200, *answer)

    def get(self, connection, id, text):
        status, body = call(connection, "GET", f"/messages/{id}", None, self.token)
        self.expect(status == 200 and body["text"] == self.known[id], status, body)

    def find(self, connection, id, text):
        path = "/messages?$sort[createdAt]=-1&$limit=5&$populate=user"
        status, body = call(connection, "GET", path, None, self.token)
        self.expect(status == 200 and len(body["data"]) == 5, status, body)

    @contextmanager
    def writing(self, id, text):
        """Take a write for done if the block ends well, for doubtful otherwise."""
        before = self.known.pop(id)
        self.doubtful[id] = (before, text)
        yield
        del self.doubtful[id]
        self.known[id] = text

    def expect(self, is_right, *answer):
        if not is_right:
            self.refused.append(answer)


@dataclass
class Run:
    """The clients of a server whose worker was killed, and the rows in the end."""

    clients: list[Client]
    killed_at: float
    server: Gunicorn
    stored: dict[int, str]


@pytest.fixture(scope="module", params=["sqlite", *SERVERS])
def run(request, server_urls, tmp_path_factory):
    folder = tmp_path_factory.mktemp("load")

    if request.param not in ("sqlite", *server_urls):
        pytest.skip(f"{SERVERS[request.param]} is not set")

    url = sa.make_url(server_urls.get(request.param, f"sqlite:///{folder}/load.db"))
    seconds = SECONDS.get(request.param, OTHER_SECONDS)
    yield load(url.render_as_string(hide_password=False), folder, seconds)

    drop_tables(url)


def load(url, folder, seconds):
    with gunicorn(url, folder) as server:
        clients, killed_at = call_while_a_worker_is_killed(server, seconds)

    return Run(clients, killed_at, server, stored_messages(url))


def call_while_a_worker_is_killed(server, seconds):
    with futures.ThreadPoolExecutor(CLIENTS) as pool:
        clients = [Client(server.host, number) for number in range(CLIENTS)]
        list(pool.map(Client.log_in, clients))
        deadline = time.monotonic() + seconds
        running = [pool.submit(client.run, deadline) for client in clients]
        futures.wait(running, seconds / 2, futures.FIRST_EXCEPTION)
        killed_at = time.monotonic()
        os.kill(int(server.workers[0]), signal.SIGKILL)

        for each in running:
            each.result()

    return clients, killed_at


def stored_messages(url):
    engine = sa.create_engine(url)

    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT id, text FROM message"))
        stored = {row.id: row.text for row in rows}

    engine.dispose()
    return stored


@pytest.mark.slow
def test_every_request_is_answered_right(run):
    assert [client.refused for client in run.clients] == [[]] * CLIENTS


@pytest.mark.slow
def test_only_connections_to_a_killed_worker_break(run):
    broken = [when for client in run.clients for when, _ in client.unanswered]

    assert len(broken) <= CLIENTS
    assert all(when > run.killed_at for when in broken)


@pytest.mark.slow
def test_killed_worker_is_replaced(run):
    assert len(run.server.workers) == 3


@pytest.mark.slow
def test_every_acknowledged_write_is_stored(run):
    known = [item for client in run.clients for item in client.known.items()]

    assert len(known) > 100
    assert len(dict(known)) == len(known)
    assert {id: run.stored.get(id, GONE) for id, _ in known} == dict(known)


@pytest.mark.slow
def test_nothing_is_stored_but_what_was_asked_for(run):
    unanswered = {text for client in run.clients for _, text in client.unanswered}
    doubtful = {k: v for client in run.clients for k, v in client.doubtful.items()}
    known = {id for client in run.clients for id in client.known}
    others = run.stored.keys() - known - doubtful.keys()

    assert {run.stored[id] for id in others} <= unanswered
    assert all(run.stored.get(id, GONE) in texts for id, texts in doubtful.items())


@pytest.mark.slow
def test_log_has_no_complaint_but_of_the_killed_worker(run):
    others = [line for line in run.server.complaints if "SIGKILL" not in line]

    assert others == []
