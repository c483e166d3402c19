"""Clients that come back while workers are killed, and Redis comes and goes.

Each client mirrors the records: it loads them, and changes them by the events. An event
that is missing, comes twice or in another order is noticed by the version of its
record, which increases by one with each write.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import contextmanager
from contextlib import suppress

import pytest
import websocket

from ...databases import redis_url
from ...processes import call
from ...processes import connected
from ...realtime_clients import login_of
from ...realtime_clients import serving
from ...realtime_clients import settings_of
from ...realtime_clients import Socket
from ...redis_server import own_redis
from ...waiting import wait_until

RECORDS = 10
MIRRORS = 12
TEAM = {"team": "red"}


class Mirror:
    """A client with the versions of all records."""

    def __init__(self, host, token):
        self._host = host
        self._token = token
        self._state = None
        self._number = 0
        self.versions = {}
        self.loads = 0
        self.returns = 0
        self.problems = []
        """The events that came twice, or in another order."""
        self.gaps = []
        """The events that came after one that is missing, since the last load."""
        self.socket = None
        self.connect()

    def connect(self):
        """Connect, and load the records unless what was missed will come."""
        shown = None

        if self.socket is not None:
            shown = {"pid": self.socket.pid, "offset": self.socket.offset}
            self.socket.close()

        while True:
            try:
                self.socket = Socket(self._host, self._token, shown)

                if shown is not None and self.socket.pid == shown["pid"]:
                    # It has the place until there is another one.
                    self.socket.offset = self.socket.offset or shown["offset"]
                    self.returns += 1
                    self._number = 0
                    return

                error, items = self.socket.call("find", "items", {"$limit": 100})
                assert error is None, error
                break
            except (OSError, websocket.WebSocketException, AssertionError):
                if self.socket is not None:
                    self.socket.close()

                time.sleep(0.1)

        self.loads += 1
        self.gaps = []
        self._number = 0
        self.versions = {item["id"]: item["version"] for item in items}
        self._loaded = dict(self.versions)

    def update(self):
        """Apply the events that have arrived, and connect again if that is needed."""
        socket = self.socket
        is_open = socket.is_open
        events = socket.events[self._number :]
        self._number += len(events)

        for _, name, record in events:
            self._apply(name, record["id"], record["version"])

        if not is_open and self._number == len(socket.events):
            self.connect()

    def _apply(self, name, id, version):
        before = self.versions.get(id, 0)

        # An event may be on its way while the records are loaded.
        if version <= self._loaded.get(id, 0):
            return

        if version <= before:
            self.problems.append((name, id, before, version))
        elif version > before + 1:
            self.gaps.append((name, id, before, version))

        self.versions[id] = version

    def leave(self):
        self.socket.close()
        self.socket.waits_for_end()


class Load:
    """Writers that change records, and clients that mirror them."""

    def __init__(self, host):
        self._host = host
        first = connected(host)
        answer = call(first, "POST", "/authentication", login_of(0))
        self._token = answer[1]["accessToken"]
        self.ids = [
            call(first, "POST", "/items", {**TEAM, "text": "0"}, self._token)[1]["id"]
            for _ in range(RECORDS)
        ]
        first.close()
        self.mirrors = [Mirror(host, self._token) for _ in range(MIRRORS)]
        self.writes = 0
        self._unanswered = Counter()
        self._is_running = True
        self._threads = [
            *(threading.Thread(target=self._write, args=(n,)) for n in range(2)),
            threading.Thread(target=self._update),
        ]

        for thread in self._threads:
            thread.start()

    def _write(self, seed):
        chance = random.Random(seed)
        connection = connected(self._host)

        while self._is_running:
            id = chance.choice(self.ids)

            try:
                data = {"text": f"{self.writes}"}
                call(connection, "PATCH", f"/items/{id}", data, self._token)
                self.writes += 1
            except Exception:
                # Its worker is gone, maybe between the commit and its event.
                self._unanswered[id] += 1
                connection.close()
                time.sleep(0.1)
                connection = connected(self._host)

            time.sleep(0.01)

        connection.close()

    def _update(self):
        while self._is_running:
            for mirror in self.mirrors:
                mirror.update()

            time.sleep(0.01)

    def run_until_written(self, number):
        """Wait for more writes."""
        target = self.writes + number
        wait_until(lambda: self.writes >= target, 120)

    def finish(self):
        """Stop writing, and wait until all clients have the last versions, and time for
        the news that they have missed others.
        """
        self._is_running = False

        for thread in self._threads:
            thread.join()

        self.versions = self._written_last()

        def are_equal():
            for mirror in self.mirrors:
                mirror.update()

            return all(mirror.versions == self.versions for mirror in self.mirrors)

        try:
            wait_until(are_equal, 120)

            # A worker that was alone has sent some, which the last ones come after.
            with suppress(AssertionError):
                wait_until(lambda: are_equal() and not self.problems, 10)
        finally:
            for mirror in self.mirrors:
                mirror.leave()

    def _written_last(self):
        """Change each record once more, and return their versions."""
        connection = connected(self._host)
        answers = [
            call(connection, "PATCH", f"/items/{id}", {"text": "last"}, self._token)
            for id in self.ids
        ]
        connection.close()
        return {item["id"]: item["version"] for _, item in answers}

    @property
    def problems(self):
        problems = [each for mirror in self.mirrors for each in mirror.problems]
        gaps = [each for mirror in self.mirrors for each in mirror.gaps]
        return problems + [gap for gap in gaps if not self._is_explained(*gap)]

    def _is_explained(self, _, id, before, version):
        """Return ``True`` if all writes whose events are missing had no answer."""
        return version - before - 1 <= self._unanswered[id]

    @property
    def loads(self):
        """How often clients have loaded anew."""
        return sum(mirror.loads - 1 for mirror in self.mirrors)

    @property
    def returns(self):
        """How often clients came back, and got what they missed."""
        return sum(mirror.returns for mirror in self.mirrors)


@contextmanager
def loaded(folder, url):
    """A server under load, and its load."""
    log = {"EVENT_LOG": '{"seconds": 60}', "CHANNEL": str(folder)}
    settings = settings_of(folder, ["all"], REDIS_URL=url, **log)

    with serving(settings) as server:
        load = Load(server.host)

        try:
            yield server, load
        finally:
            load._is_running = False


pytestmark = pytest.mark.slow


def test_clients_that_leave_get_all_from_any_worker(tmp_path):
    with loaded(tmp_path, redis_url()) as (server, load):
        for _ in range(5):
            load.run_until_written(20)

            for mirror in load.mirrors:
                mirror.socket.close()

        load.run_until_written(20)
        load.finish()

    assert load.problems == []
    assert load.returns > 2 * MIRRORS
    assert load.loads == 0


def test_clients_of_a_killed_worker_get_all_from_another(tmp_path):
    with loaded(tmp_path, redis_url()) as (server, load):
        for number in range(2):
            load.run_until_written(20)
            os.kill(int(server.workers[number]), signal.SIGKILL)

        load.run_until_written(40)
        load.finish()

    assert load.problems == []
    assert load.returns > 0
    assert load.loads == 0


def test_clients_load_anew_after_a_restart_of_redis(tmp_path):
    with own_redis() as redis, loaded(tmp_path, redis.url) as (server, load):
        load.run_until_written(20)
        redis.stop()
        load.run_until_written(20)
        redis.start()
        load.run_until_written(40)
        wait_until(lambda: load.loads >= MIRRORS, 120)
        load.run_until_written(20)
        load.finish()

    assert load.problems == []
    assert [line for line in server.log if "Traceback" in line] == []


def test_clients_load_anew_after_redis_has_hung(tmp_path):
    with own_redis() as redis, loaded(tmp_path, redis.url) as (server, load):
        load.run_until_written(20)

        with redis.paused():
            load.run_until_written(20)

        load.run_until_written(40)
        wait_until(lambda: load.loads >= MIRRORS, 120)
        load.finish()

    assert load.problems == []
    assert [line for line in server.log if "Traceback" in line] == []
