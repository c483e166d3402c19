"""Clients that write as fast as they can, and remember what was acknowledged."""

from __future__ import annotations

import http.client
import operator
import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import sqlalchemy as sa

from ...processes import connected, exchange, Gunicorn, logged_in

CLIENTS = 8
ANSWERS = 25
"""How many answers each client gets before the fault, and after it."""

ACTIONS = ["create", "create", "create", "patch", "patch", "get", "find", "remove"]
PAUSE = 0.05
"""The seconds that a client waits after it got no answer."""

GONE = None
"""Stands for the text of a record that is removed."""


class TryLater(Exception):
    """The answer is 503 with Retry-After."""


class Unexpected(Exception):
    """The answer should have been another."""


@dataclass
class Client:
    """A user who writes messages, and remembers which writes were acknowledged."""

    host: str
    number: int
    known: dict[int, str | None] = field(default_factory=dict)
    """The text of each record, by its id."""

    doubtful: dict[int, tuple[str | None, ...]] = field(default_factory=dict)
    """The texts that a record may have after a write that was not acknowledged."""

    unanswered: list[tuple[float, str]] = field(default_factory=list)
    """When requests got no answer, and what they would have written."""

    put_off: list[tuple[float, str]] = field(default_factory=list)
    """When requests were answered with 503, and what they would have written."""

    refused: list[tuple[float, str, object]] = field(default_factory=list)
    """When requests got another answer than they should, what they would have written,
    and the answer.
    """

    answers: int = 0
    """How many requests were answered as they should."""

    answered_at: float = 0
    """When the last of them was."""

    calls: Counter[str] = field(default_factory=Counter)
    token: str | None = None

    def log_in(self):
        connection = connected(self.host)
        self.token = logged_in(connection, f"client{self.number}")
        connection.close()

    def run(self, stop):
        chance = random.Random(self.number)
        connection = http.client.HTTPConnection(self.host, timeout=60)

        while not stop.is_set():
            # A new connection may meet the other worker.
            if self.calls.total() % 20 == 0:
                connection.close()

            ids = [id for id, text in self.known.items() if text is not GONE][-50:]
            action = chance.choice(ACTIONS) if len(ids) > 5 else "create"
            text = f"{self.number}-{self.calls.total()}"
            self.calls[action] += 1
            id = chance.choice(ids or [0])
            write = partial(getattr(self, action), connection, id, text)
            self.attempt(write, text, connection)

        connection.close()

    def attempt(self, write, text, connection):
        try:
            write()
            self.answered_at = time.monotonic()
            self.answers += 1
        except TryLater:
            self.put_off.append((time.monotonic(), text))
            time.sleep(PAUSE)
        except Unexpected as error:
            self.refused.append((time.monotonic(), text, *error.args))
            time.sleep(PAUSE)
        except (http.client.HTTPException, OSError):
            self.unanswered.append((time.monotonic(), text))
            connection.close()
            time.sleep(PAUSE)

    def create(self, connection, id, text):
        status, body = self.call(connection, "POST", "/messages", {"text": text})
        expect(status == 201 and body["text"] == text, status, body)
        self.known[body["id"]] = text

    def patch(self, connection, id, text):
        with self.writing(id, text):
            answer = self.call(connection, "PATCH", f"/messages/{id}", {"text": text})
            expect(answer[0] == 200 and answer[1]["text"] == text, *answer)

    def remove(self, connection, id, text):
        with self.writing(id, GONE):
            answer = self.call(connection, "DELETE", f"/messages/{id}")
            expect(answer[0] == 200, *answer)

    def get(self, connection, id, text):
        status, body = self.call(connection, "GET", f"/messages/{id}")
        expect(status == 200 and body["text"] == self.known[id], status, body)

    def find(self, connection, id, text):
        path = "/messages?$sort[createdAt]=-1&$limit=5&$populate=user"
        status, body = self.call(connection, "GET", path)
        expect(status == 200 and len(body["data"]) == 5, status, body)

    def call(self, connection, verb, path, data=None):
        response, body = exchange(connection, verb, path, data, self.token)

        if response.status == 503 and int(response.getheader("Retry-After", 0)) > 0:
            raise TryLater

        return response.status, body

    @contextmanager
    def writing(self, id, text):
        """Take a write for done if the block ends well, for doubtful otherwise."""
        before = self.known.pop(id)
        self.doubtful[id] = (before, text)
        yield
        del self.doubtful[id]
        self.known[id] = text


def expect(is_right, *answer):
    if not is_right:
        raise Unexpected(answer)


@dataclass
class Run:
    """The clients of a server that a fault befell, and the rows in the end."""

    clients: list[Client]
    began: float
    """When the fault began."""

    ended: float
    """When it was over."""

    server: Gunicorn
    stored: dict[int, str] = field(default_factory=dict)

    def all(self, name):
        """The items of all clients in one of their lists."""
        return [item for client in self.clients for item in getattr(client, name)]

    @property
    def not_acknowledged(self):
        """The texts of the writes that may be done or not."""
        names = "unanswered", "put_off", "refused"
        return {item[1] for name in names for item in self.all(name)}

    @property
    def known(self):
        """The text of each record that is certain, by its id."""
        return {k: v for client in self.clients for k, v in client.known.items()}

    @property
    def doubtful(self):
        """The texts that each other record may have, by its id."""
        return {k: v for client in self.clients for k, v in client.doubtful.items()}


def storm(server, fault):
    """Let clients call before, while and after a fault befalls a server.

    They stop when each has got answers after the fault, when a client fails, or a
    while after the fault if answers are missing.
    """
    stop = threading.Event()
    clients = [Client(server.host, number) for number in range(CLIENTS)]

    with futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(Client.log_in, clients))
        running = [pool.submit(client.run, stop) for client in clients]

        try:
            wait_for_answers(clients, running, 60)
            began = time.monotonic()
            fault(server)
            ended = time.monotonic()
            has_ended = server.process.poll() is not None
            wait_for_answers(clients, running, 1 if has_ended else 60)
        finally:
            stop.set()

        for each in running:
            each.result()

    return Run(clients, began, ended, server)


def wait_for_answers(clients, running, seconds):
    """Wait until each client has got more answers, or one of them fails."""
    end = time.monotonic() + seconds
    enough = [client.answers + ANSWERS for client in clients]

    while any(map(operator.lt, [client.answers for client in clients], enough)):
        if time.monotonic() > end or any(each.done() for each in running):
            return

        time.sleep(0.02)


def kill_a_worker(server):
    os.kill(int(server.workers[0]), signal.SIGKILL)


def stored_messages(url):
    engine = sa.create_engine(url)

    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT id, text FROM message"))
        stored = {row.id: row.text for row in rows}

    engine.dispose()
    return stored
