"""The example application behind gunicorn: nothing acknowledged is lost.

Sixteen clients create, patch, read and remove messages for some seconds, and remember
what was acknowledged. At half time one of the two workers is killed. So one run tells
both what holds as long as nothing happens, and what a crash may cost. It is made once
for each database, and each test looks at another side of it.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

import pytest
import sqlalchemy as sa

from .conftest import current_test
from .conftest import LEAKS
from .conftest import SERVERS

ROOT = Path(__file__).parent.parent
CLIENTS = 16
SECONDS = {"sqlite": 20}
OTHER_SECONDS = 6
ACTIONS = ["create", "create", "create", "patch", "patch", "get", "find", "remove"]
PASSWORD = "correct horse battery"
SECRET = "5e" * 32
GONE = None
"""What the text of a record is once it is removed."""


@dataclass
class Gunicorn:
    """A running server."""

    process: subprocess.Popen
    host: str
    log: list[str]
    """The lines that it has written, all of them once it has ended."""

    @property
    def workers(self):
        """The ids of the worker processes there have been, the oldest first."""
        return re.findall(r"Booting worker with pid: (\d+)", "".join(self.log))

    @property
    def served(self):
        """How many requests each worker process has answered."""
        return Counter(re.findall(r"Served by <(\d+)>", "".join(self.log)))

    @property
    def complaints(self):
        return [line for line in self.log if re.search("Traceback|ERROR|WARN", line)]


@contextmanager
def gunicorn(url, folder, **variables):
    """A gunicorn that serves the example application from a database, as soon as each
    of its workers has answered, and is stopped after the block.
    """
    options = "-c instance/gunicorn.conf.py --bind 127.0.0.1:0 --access-logfile -"
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *options.split()]
        + ["--access-logformat", "Served by %(p)s"],
        cwd=ROOT,
        env={**environment(url, folder), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    log = []
    started = threading.Event()
    reader = threading.Thread(target=remember, args=(process.stdout, log, started))
    reader.start()

    try:
        assert started.wait(30)
        host = re.search(r"http://(\S+)", "".join(log))[1]
        server = Gunicorn(process, host, log)
        wait_for_workers(server)
        yield server
        process.terminate()
        process.wait(15)
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
        LEAKS.look_at("".join(log), f"{current_test()}: the log of gunicorn")

    assert process.returncode == 0, "".join(log)


def remember(lines, log, started):
    for line in lines:
        log.append(line)

        if "Booting worker" in line:
            started.set()


def wait_for_workers(server):
    """Ask until every worker has answered."""
    deadline = time.monotonic() + 20

    while len(server.served) < 2:
        assert time.monotonic() < deadline, "".join(server.log)

        connections = [connected(server.host) for _ in range(8)]

        for connection in connections:
            connection.request("GET", "/")

        for connection in connections:
            connection.getresponse().read()
            connection.close()


def connected(host):
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.connect()
    return connection


def environment(url, folder):
    """The environment of a process that uses a database."""
    # gunicorn puts its control socket into this folder, not into the home directory.
    own = {"DATABASE_URL": url, "XDG_RUNTIME_DIR": str(folder), "SECRET_KEY": SECRET}
    load = {"WEB_CONCURRENCY": "2", "THREADS": "4", "FLASK_RATELIMIT_ENABLED": "false"}
    return {**os.environ, **own, **load}


def call(connection, verb, path, data=None, token=None):
    """The status and the body of the answer to a request."""
    body = None if data is None else json.dumps(data)
    headers = {"Content-Type": "application/json"}

    if token is not None:
        headers["Authorization"] = f"Bearer {token}"

    connection.request(verb, path, body, headers)
    response = connection.getresponse()
    answer = response.read()
    LEAKS.remember_passwords((body or "").encode())
    is_login = path == "/authentication" and response.status < 400
    LEAKS.look_at(answer, f"{current_test()}: {verb} {path} of gunicorn", is_login)
    return response.status, json.loads(answer)


def logged_in(connection, name="ada"):
    """The token of a new user."""
    user = {"email": f"{name}@example.com", "password": PASSWORD}
    assert call(connection, "POST", "/users", user)[0] == 201
    login = {"strategy": "local", **user}
    return call(connection, "POST", "/authentication", login)[1]["accessToken"]


def drop_tables(url):
    engine = sa.create_engine(url)
    tables = sa.MetaData()
    tables.reflect(engine)
    tables.drop_all(engine)
    engine.dispose()


@dataclass
class Client:
    """Somebody who writes messages, and remembers what was acknowledged."""

    host: str
    number: int
    known: dict[int, str | None] = field(default_factory=dict)
    """The text of each record, by its id."""

    doubtful: dict[int, tuple[str | None, ...]] = field(default_factory=dict)
    """What the text of a record may be, after a write that was not answered."""

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
    """What clients saw while a worker was killed, and what was stored in the end."""

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
    with gunicorn(url, folder) as server, futures.ThreadPoolExecutor(CLIENTS) as pool:
        clients = [Client(server.host, number) for number in range(CLIENTS)]
        list(pool.map(Client.log_in, clients))
        deadline = time.monotonic() + seconds
        running = [pool.submit(client.run, deadline) for client in clients]
        futures.wait(running, seconds / 2, futures.FIRST_EXCEPTION)
        killed_at = time.monotonic()
        os.kill(int(server.workers[0]), signal.SIGKILL)

        for each in running:
            each.result()

    engine = sa.create_engine(url)

    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT id, text FROM message"))
        stored = {row.id: row.text for row in rows}

    engine.dispose()
    return Run(clients, killed_at, server, stored)


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


@pytest.fixture
def empty_url(database_url):
    """The URL of a database that is emptied of the example's tables afterwards."""
    yield database_url

    drop_tables(database_url)


def test_one_of_many_users_gets_a_unique_email(empty_url, tmp_path):
    count = 20
    start = threading.Barrier(count)
    data = {"email": "ada@example.com", "password": PASSWORD}

    def register(host):
        connection = connected(host)
        start.wait()
        status, body = call(connection, "POST", "/users", data)
        connection.close()
        return status, body.get("errors")

    with (
        gunicorn(empty_url, tmp_path) as server,
        futures.ThreadPoolExecutor(count) as pool,
    ):
        answers = list(pool.map(register, [server.host] * count))

    refused = (409, {"email": "has to be unique"})
    assert sorted(answers, key=str) == [(201, None)] + [refused] * (count - 1)
    assert server.complaints == []


def test_logout_holds_in_every_worker(empty_url, tmp_path):
    def call_once(*args):
        connection = connected(server.host)
        status, body = call(connection, *args)
        connection.close()
        return status, body["message"]

    with gunicorn(empty_url, tmp_path) as server:
        connection = connected(server.host)
        token = logged_in(connection)
        call(connection, "DELETE", "/authentication", None, token)
        connection.close()
        answers = [call_once("GET", "/rooms", None, token) for _ in range(16)]

    assert answers == [(401, "jwt revoked")] * 16


def test_workers_that_start_at_once_make_the_tables_once(empty_url, tmp_path):
    with gunicorn(empty_url, tmp_path) as server:
        connection = connected(server.host)
        token = logged_in(connection)
        answer = call(connection, "GET", "/messages", None, token)
        connection.close()

    assert answer == (200, {"total": 0, "limit": 10, "skip": 0, "data": []})
    assert server.complaints == []


@pytest.mark.parametrize("attempt", range(4))
def test_workers_that_start_at_once_make_the_file_once(tmp_path, attempt):
    url = f"sqlite:///{tmp_path}/new.db"

    with gunicorn(url, tmp_path) as server:
        connection = connected(server.host)
        token = logged_in(connection)
        answer = call(connection, "POST", "/rooms", {"name": "Lobby"}, token)
        connection.close()

    room = {"id": 1, "name": "Lobby", "private": False, "userId": 1}
    assert answer == (201, room)
    assert server.complaints == []
