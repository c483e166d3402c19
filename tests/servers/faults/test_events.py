"""Events of two workers under load, while a worker, Redis or the database fails.

Subscribers of three teams stay connected, and connect again whenever their connection
ends. Writers change the same records over HTTP and sockets. Each test checks another
property of one run.
"""

from __future__ import annotations

import http.client
import os
import random
import signal
import threading
import time
import uuid
from collections import Counter
from concurrent import futures
from contextlib import contextmanager, ExitStack
from dataclasses import dataclass, field

import pytest
import websocket

from ...processes import call, connected
from ...realtime_app import TEAMS
from ...realtime_clients import serving, settings_of, Socket
from ...redis_server import own_redis
from ...waiting import wait_until
from .postgresql import postgresql

pytestmark = pytest.mark.slow

SUBSCRIBERS = [*["red"] * 3, *["blue"] * 3, *["all"] * 4]
WRITERS = 4
WRITES = 150
"""How many writes are acknowledged before a fault, and after it."""

OUTAGE = 5
"""The seconds of a fault: longer than all waits for Redis."""

EVENTS = {"POST": "created", "PATCH": "patched", "DELETE": "removed"}
METHODS = {"POST": "create", "PATCH": "patch", "DELETE": "remove"}


@dataclass
class Place:
    """The parts that may fail."""

    server: object
    redis: object
    database: object


def worker_is_killed(place):
    os.kill(int(place.server.workers[0]), signal.SIGKILL)


def worker_stops(place):
    pid = int(place.server.workers[0])
    os.kill(pid, signal.SIGSTOP)
    time.sleep(OUTAGE)
    os.kill(pid, signal.SIGCONT)


def workers_are_replaced(place):
    place.server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(place.server.workers) == 4, 30)


def redis_restarts(place):
    place.redis.stop()
    place.redis.start()


def redis_hangs(place):
    with place.redis.paused():
        time.sleep(OUTAGE)


def redis_is_away(place):
    place.redis.stop()
    time.sleep(OUTAGE)
    place.redis.start()


def database_is_away(place):
    place.database.stop()
    time.sleep(OUTAGE)
    place.database.start()


OF_REDIS = [redis_restarts, redis_hangs, redis_is_away]
FAULTS = [
    worker_is_killed,
    worker_stops,
    workers_are_replaced,
    *OF_REDIS,
    database_is_away,
]


def seen(name, record):
    """The identity of an event, or of the answer to a write."""
    return name, record["team"], record["id"], record["version"]


class Http:
    """Writes over HTTP."""

    def __init__(self, host, token):
        self._connection = connected(host)
        self._token = token

    def write(self, verb, path, id, data):
        """The record that is answered.

        :raises ConnectionError: There is no answer, or the database is away.
        """
        path = f"/{path}" if id is None else f"/{path}/{id}"

        try:
            status, record = call(self._connection, verb, path, data, self._token)
        except (http.client.HTTPException, OSError) as error:
            raise ConnectionError from error

        if status == 503:
            raise ConnectionError

        return record

    def close(self):
        self._connection.close()


class Live(Socket):
    """Writes over a socket."""

    def write(self, verb, path, id, data):
        """The record that is answered.

        :raises ConnectionError: There is no answer, or the database is away.
        """
        arguments = [each for each in (id, data) if each is not None]
        error, record = self.call(METHODS[verb], path, *arguments)

        if error is not None and error["code"] == 503:
            raise ConnectionError

        return record if error is None else error


@dataclass
class Writer:
    """A client that writes and remembers the acknowledged writes."""

    kind: type
    host: str
    token: str
    shared: list[tuple[str, int]]
    """The path and the id of the records that others change too."""

    number: int
    known: dict[tuple, float] = field(default_factory=dict)
    """When each write that was acknowledged began."""

    removed: set[tuple[str, int]] = field(default_factory=set)
    """The records that it has tried to remove. There may have been no answer."""

    refused: list[tuple] = field(default_factory=list)

    def run(self, is_over):
        chance = random.Random(self.number)
        connection = None

        while not is_over.is_set():
            try:
                connection = connection or self.kind(self.host, self.token)
                self.write(connection, *self.choose(chance))
            except (OSError, websocket.WebSocketException):
                connection and connection.close()
                connection = None
                is_over.wait(0.05)

        connection and connection.close()

    def choose(self, chance):
        path, id = chance.choice(self.shared)
        action = chance.random()

        if action < 0.8:
            return "PATCH", path, id, {"text": f"by {self.number}"}

        own = [key for key in self.known if key[0] == f"{path} created"]

        if action < 0.95 or not own:
            return "POST", path, None, {"team": chance.choice(TEAMS), "text": "new"}

        id = own.pop()[2]
        self.removed.add((path, id))
        return "DELETE", path, id, None

    def write(self, connection, verb, path, id, data):
        began = time.monotonic()
        record = connection.write(verb, path, id, data)

        if "version" in record:
            self.known[seen(f"{path} {EVENTS[verb]}", record)] = began
        elif record["code"] != 404 or verb != "DELETE":
            self.refused.append((verb, path, id, record))


class Subscriber:
    """A client that connects again whenever its connection ends."""

    def __init__(self, host, team, token):
        self.team = team
        self.sockets = []
        """Its connections, one after the other."""
        self._host = host
        self._token = token
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._stay)
        self._thread.start()

    def has_last(self):
        """Return whether the connection has got the last event of each team."""
        count = len(TEAMS) if self.team == "all" else 1
        return self.sockets[-1].texts().count("end") == count

    def close(self):
        self._is_over.set()
        self.sockets and self.sockets[-1].close()
        self._thread.join()

    def _stay(self):
        while not self._is_over.is_set():
            try:
                self.sockets.append(Socket(self._host, self._token))
            except (OSError, websocket.WebSocketException):
                self._is_over.wait(0.1)
            else:
                self.sockets[-1].waits_for_end(600)


@dataclass
class Run:
    """The writes and events of a run."""

    fault: object
    subscribers: list[Subscriber] = field(default_factory=list)
    writers: list[Writer] = field(default_factory=list)
    before: list[Socket] = field(default_factory=list)
    """The connections at the time of the fault."""

    ended: list[bool] = field(default_factory=list)
    """Which of them have ended."""

    stored: dict[tuple, int] = field(default_factory=dict)
    """The version of each record in the end."""

    log: list[str] = field(default_factory=list)

    @property
    def known(self):
        return {key: at for writer in self.writers for key, at in writer.known.items()}

    def each(self):
        """Each connection with its team."""
        return [(s, each.team) for each in self.subscribers for s in each.sockets]

    def lost(self, subscriber):
        """The acknowledged writes whose event did not arrive at the last connection,
        which stayed open.
        """
        socket, team = subscriber.sockets[-1], subscriber.team
        arrived = {seen(name, record) for name, record in socket.events}
        return [
            key
            for key, began in self.known.items()
            if began > socket.since and team in ("all", key[1]) and key not in arrived
        ]


def twice(socket):
    """The events that arrived more than once."""
    counts = Counter(seen(name, record) for name, record in socket.events)
    return [key for key, count in counts.items() if count > 1]


def out_of_order(socket):
    """The events that arrived after a later one of the same record and process."""
    latest, wrong = {}, []

    for name, record in socket.events:
        key, version = (
            (name.split()[0], record["id"], record["worker"]),
            record["version"],
        )

        if version < latest.get(key, 0):
            wrong.append((key, version, latest[key]))

        latest[key] = max(version, latest.get(key, 0))

    return wrong


@contextmanager
def place(fault, folder):
    with ExitStack() as stack:
        redis = stack.enter_context(own_redis())
        own = {"REDIS_URL": redis.url, "CHANNEL": uuid.uuid4().hex}
        database = None

        if fault is database_is_away:
            database = stack.enter_context(postgresql())
            own["DATABASE_URL"] = database.url

        settings = settings_of(folder, [*SUBSCRIBERS, "all"], **own)
        server = stack.enter_context(serving(settings))
        yield Place(server, redis, database)


@pytest.fixture(scope="module", params=FAULTS, ids=lambda fault: fault.__name__)
def run(request, tmp_path_factory):
    run = Run(request.param)

    with place(request.param, tmp_path_factory.mktemp("events")) as where:
        load(run, where)

    run.log = where.server.log
    return run


def load(run, where):
    """Let all write, before and after a fault."""
    host = where.server.host
    first = Socket(host)
    tokens = [first.log_in(number) for number in range(len(SUBSCRIBERS) + 1)]
    first.close()
    token, is_over = tokens.pop(), threading.Event()
    shared = shared_records(host, token)
    kinds = [Http, Live]
    run.writers = [Writer(kinds[n % 2], host, token, shared, n) for n in range(WRITERS)]
    pairs = zip(SUBSCRIBERS, tokens, strict=True)
    run.subscribers = [Subscriber(host, *pair) for pair in pairs]

    with futures.ThreadPoolExecutor(WRITERS) as pool:
        writing = [pool.submit(writer.run, is_over) for writer in run.writers]

        try:
            wait_until(lambda: all(each.sockets for each in run.subscribers), 60)
            wait_for_writes(run)
            run.before = [each.sockets[-1] for each in run.subscribers]
            run.fault(where)
            wait_for_writes(run)

            if run.fault in (*OF_REDIS, workers_are_replaced):
                wait_until(lambda: not any(each.is_open for each in run.before), 60)

            wait_until(lambda: all(s.sockets[-1].is_open for s in run.subscribers), 60)
            wait_for_writes(run)
        finally:
            is_over.set()

        for each in writing:
            each.result()

    try:
        finish(run, host, token)
    finally:
        for each in run.subscribers:
            each.close()


def finish(run, host, token):
    """Wait for the last events: those with the text ``end``, one of each team."""
    http = Http(host, token)

    for team in TEAMS:
        http.write("POST", "items", None, {"team": team, "text": "end"})

    run.ended = [not socket.is_open for socket in run.before]
    wait_until(lambda: all(each.has_last() for each in run.subscribers), 60)

    for path in ("items", "notes"):
        for record in http.write("GET", path, None, None):
            run.stored[path, record["id"]] = record["version"]

    http.close()


def wait_for_writes(run):
    """Wait until more writes are acknowledged."""
    # The writers add to them meanwhile.
    start = sum(len(writer.known) for writer in run.writers)
    wait_until(
        lambda: sum(len(writer.known) for writer in run.writers) >= start + WRITES, 90
    )


def shared_records(host, token):
    http = Http(host, token)
    found = [
        (path, http.write("POST", path, None, {"team": team, "text": "0"})["id"])
        for path in ("items", "notes")
        for team in TEAMS
    ]
    http.close()
    return found


def test_each_event_arrives_at_most_once(run):
    assert [found for socket, _ in run.each() if (found := twice(socket))] == []


def test_events_of_a_process_are_in_the_order_of_its_commits(run):
    assert [found for socket, _ in run.each() if (found := out_of_order(socket))] == []


def test_events_reach_their_team(run):
    others = [
        (team, name, record)
        for socket, team in run.each()
        for name, record in socket.events
        if team not in ("all", record["team"])
    ]
    assert others == []


def test_connection_that_is_open_has_missed_no_event(run):
    assert [lost for each in run.subscribers if (lost := run.lost(each))] == []


def test_every_acknowledged_write_is_stored(run):
    removed = set().union(*(writer.removed for writer in run.writers))
    latest = {}

    for name, _, id, version in run.known:
        key = name.split()[0], id
        latest[key] = max(version, latest.get(key, 0))

    assert [refused for writer in run.writers for refused in writer.refused] == []
    assert all(run.stored.get(key, 0) >= latest[key] for key in latest.keys() - removed)


def test_connections_end_if_events_may_be_lost(run):
    if run.fault in (*OF_REDIS, workers_are_replaced):
        assert all(run.ended)
    elif run.fault is worker_is_killed:
        assert not all(run.ended)
    elif run.fault is worker_stops:
        assert not any(run.ended)


def test_log_has_no_traceback(run):
    assert "Traceback" not in "".join(run.log)
