"""Events of several processes, which Redis carries from one to the others.

Subscribers of three groups are connected to two workers, while writers change the
same records over HTTP and sockets. At half time one of the workers is killed. Each test
checks another property of this one run.
"""

from __future__ import annotations

import http.client
import os
import random
import signal
import time
import uuid
from collections import Counter
from concurrent import futures
from dataclasses import dataclass, field
from functools import partial

import pytest

from ...databases import redis_url
from ...processes import call, connected
from ...realtime_app import TEAMS
from ...realtime_clients import serving, settings_of, Socket, spread
from ...waiting import wait_until

GROUPS = {"red": 6, "blue": 6, "all": 4}
WRITES = 600
WRITERS = 8
SHARED = 2
"""How many records of each team and service all writers change."""

EVENTS = {"POST": "created", "PATCH": "patched", "DELETE": "removed"}
METHODS = {"POST": "create", "PATCH": "patch", "DELETE": "remove"}


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

        :raises ConnectionError: There is no answer.
        """
        path = f"/{path}" if id is None else f"/{path}/{id}"

        try:
            answer = call(self._connection, verb, path, data, self._token)
        except (http.client.HTTPException, OSError) as error:
            raise ConnectionError from error

        return answer[1]

    def close(self):
        self._connection.close()


class Live(Socket):
    """Writes over a socket."""

    def write(self, verb, path, id, data):
        """The record that is answered.

        :raises ConnectionError: There is no answer.
        """
        arguments = [each for each in (id, data) if each is not None]
        error, record = self.call(METHODS[verb], path, *arguments)
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

    refused: list[tuple] = field(default_factory=list)
    unanswered: int = 0

    def run(self, numbers):
        chance = random.Random(self.number)
        connection = self.kind(self.host, self.token)

        for _ in numbers:
            write = self.choose(chance)

            while True:
                try:
                    self.write(connection, *write)
                    break
                except ConnectionError:
                    self.unanswered += 1
                    connection.close()
                    connection = self.kind(self.host, self.token)

                    # It may be done.
                    if write[0] == "DELETE":
                        break

        connection.close()

    def choose(self, chance):
        path, id = chance.choice(self.shared)
        action = chance.random()

        if action < 0.8:
            return "PATCH", path, id, {"text": f"by {self.number}"}

        own = [key for key in self.known if key[0] == f"{path} created"]
        gone = {key[2] for key in self.known if key[0] == f"{path} removed"}
        left = [key[2] for key in own if key[2] not in gone]

        if action < 0.95 or not left:
            return "POST", path, None, {"team": chance.choice(TEAMS), "text": "new"}

        return "DELETE", path, left[0], None

    def write(self, connection, verb, path, id, data):
        began = time.monotonic()
        record = connection.write(verb, path, id, data)

        if "version" in record:
            self.known[seen(f"{path} {EVENTS[verb]}", record)] = began
        else:
            self.refused.append((verb, path, id, record))


@dataclass
class Run:
    """The writes and events of a run in which a worker is killed."""

    groups: dict[Socket, str]
    """The group of each connection there has been."""

    writers: list[Writer]
    stayed: list[Socket] = field(default_factory=list)
    """The connections that were there at the end."""

    workers: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def known(self):
        return {key: at for writer in self.writers for key, at in writer.known.items()}

    def arrived(self, socket):
        return [seen(name, record) for _, name, record in socket.events]

    def lost(self, socket):
        """The acknowledged writes whose event did not arrive."""
        arrived = set(self.arrived(socket))
        return [
            key
            for key, began in self.known.items()
            if began > socket.since
            and self.groups[socket] in ("all", key[1])
            and key not in arrived
        ]

    def out_of_order(self, socket):
        """The events that arrived after a later one of the same record."""
        latest = {}
        wrong = []

        for name, _, id, version in self.arrived(socket):
            record = name.split()[0], id

            if version < latest.get(record, 0):
                wrong.append((record, version, latest[record]))

            latest[record] = max(version, latest.get(record, 0))

        return wrong

    def wrong(self, socket):
        """The events of another group, those that came twice, or out of order."""
        group = self.groups[socket]
        arrived = self.arrived(socket)
        others = [key for key in arrived if group not in ("all", key[1])]
        twice = [key for key, count in Counter(arrived).items() if count > 1]
        return others + twice + self.out_of_order(socket)

    def wait(self):
        """Wait for the last events: those with the text ``end``, one of each team."""
        self.stayed = [socket for socket in self.groups if socket.is_open]

        for socket in self.stayed:
            count = len(TEAMS) if self.groups[socket] == "all" else 1
            has_all = partial(has_last, socket, count)
            assert socket.wait_for(has_all, 60)


def teams_of_subscribers():
    teams = [team for team, count in GROUPS.items() for _ in range(count)]
    random.Random(1).shuffle(teams)
    return teams


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("realtime")
    teams = teams_of_subscribers()
    own = {"REDIS_URL": redis_url(), "CHANNEL": uuid.uuid4().hex}
    settings = settings_of(folder, [*teams, "all"], **own)

    with serving(settings) as server:
        run = load(server, teams)
        run.workers = server.workers

    run.complaints = server.complaints
    return run


def load(server, teams):
    """Let all write, and kill a worker at half time."""
    host = server.host
    first = Socket(host)
    tokens = [first.log_in(number) for number in range(len(teams) + 1)]
    writer_token = tokens.pop()
    team_of = dict(zip(tokens, teams, strict=True))
    first.close()
    shared = shared_records(host, writer_token)
    places = spread(host, tokens, server.workers)
    sockets = [socket for place in places.values() for socket in place]
    writers = [
        Writer([Http, Live][number % 2], host, writer_token, shared, number)
        for number in range(WRITERS)
    ]
    left = iter(range(WRITES))

    with futures.ThreadPoolExecutor(WRITERS) as pool:
        running = [pool.submit(writer.run, left) for writer in writers]

        wait_until(lambda: is_half_done(writers, running), 60)
        killed = int(server.workers[0])
        os.kill(killed, signal.SIGKILL)

        for socket in places[killed]:
            assert socket.waits_for_end()
            sockets.append(Socket(host, socket.token))

        for each in running:
            each.result()

    run = Run({socket: team_of[socket.token] for socket in sockets}, writers)
    write_last(host, writer_token)
    run.wait()

    for socket in sockets:
        socket.close()

    return run


def is_half_done(writers, running):
    assert not any(each.done() for each in running)
    return sum(len(writer.known) for writer in writers) >= WRITES / 2


def has_last(socket, count, events):
    return socket.texts().count("end") == count


def write_last(host, token):
    http = Http(host, token)

    for team in TEAMS:
        http.write("POST", "items", None, {"team": team, "text": "end"})

    http.close()


def shared_records(host, token):
    http = Http(host, token)
    found = [
        (path, http.write("POST", path, None, {"team": team, "text": "0"})["id"])
        for path in ("items", "notes")
        for team in TEAMS
        for _ in range(SHARED)
    ]
    http.close()
    return found


def test_events_reach_their_groups_once_and_in_order(run):
    assert [run.wrong(socket) for socket in run.groups if run.wrong(socket)] == []


def test_no_event_is_lost_for_connections_that_stay(run):
    stayed = [socket for socket in run.groups if socket in run.stayed]

    assert len(stayed) >= sum(GROUPS.values())
    assert [lost for socket in stayed if (lost := run.lost(socket))] == []


def test_writes_are_refused_to_none(run):
    assert [refused for writer in run.writers for refused in writer.refused] == []
    assert len(run.known) == sum(len(writer.known) for writer in run.writers)


def test_killed_worker_is_replaced(run):
    others = [line for line in run.complaints if "SIGKILL" not in line]

    assert len(run.workers) == 3
    assert others == []
