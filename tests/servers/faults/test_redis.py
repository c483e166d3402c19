"""Redis hangs under load, and goes on again.

Subscribers of three groups are connected to two workers, while writers change the same
records over HTTP and sockets. Each test checks another property of one run.
"""

from __future__ import annotations

import time
import uuid
from concurrent import futures
from dataclasses import dataclass

import pytest

from ...realtime_clients import serving, settings_of, Socket, spread
from ...redis_server import own_redis
from ...waiting import wait_until
from ..realtime.test_redis import Http, Live, Run, shared_records, write_last, Writer

pytestmark = pytest.mark.slow

SUBSCRIBERS = [*["red"] * 2, *["blue"] * 2, *["all"] * 2]
WRITERS = 4
WRITES = 100
"""How many writes are acknowledged before the broker hangs, while it is away, and
after it is back.
"""

BEFORE = 3
"""The seconds that an event may be on its way when the broker hangs."""


@dataclass
class Outage:
    """A run, and the time without a broker."""

    run: Run
    log: list[str]
    begin: float
    """When the broker hung."""

    end: float
    """When both workers had it again."""

    before: int
    """The number of lines of the log before it hung."""

    def lost(self):
        """When the writes began whose events did not arrive everywhere."""
        sockets = self.run.stayed
        lost = {key for socket in sockets for key in self.run.lost(socket)}
        return [self.run.known[key] for key in lost]


@pytest.fixture(scope="module")
def outage(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broker")

    with own_redis() as broker:
        own = {"REDIS_URL": broker.url, "CHANNEL": uuid.uuid4().hex}
        settings = settings_of(folder, [*SUBSCRIBERS, "all"], **own)

        with serving(settings) as server:
            return load(server, broker)


def load(server, broker):
    """Let all write, while the broker hangs for a time."""
    first = Socket(server.host)
    tokens = [first.log_in(number) for number in range(len(SUBSCRIBERS) + 1)]
    first.close()
    writer_token = tokens.pop()
    team_of = dict(zip(tokens, SUBSCRIBERS, strict=True))
    shared = shared_records(server.host, writer_token)
    places = spread(server.host, tokens, server.workers)
    sockets = [socket for place in places.values() for socket in place]
    writers = [
        Writer([Http, Live][number % 2], server.host, writer_token, shared, number)
        for number in range(WRITERS)
    ]
    run = Run({socket: team_of[socket.token] for socket in sockets}, writers)
    is_over = False
    left = iter(lambda: is_over, True)

    with futures.ThreadPoolExecutor(WRITERS) as pool:
        writing = [pool.submit(writer.run, left) for writer in writers]

        try:
            wait_for_writes(run, WRITES)
            before, begin = len(server.log), time.monotonic()

            workers = len(server.workers)

            with broker.paused():
                wait_for_writes(run, WRITES)
                wait_until(lambda: count_of(server, "is not available") >= workers, 60)

            wait_until(lambda: count_of(server, "available again") >= workers, 60)
            end = time.monotonic()
            wait_for_writes(run, WRITES)
        finally:
            is_over = True

        for each in writing:
            each.result()

    write_last(server.host, writer_token)
    run.wait()

    for socket in sockets:
        socket.close()

    run.workers = server.workers
    return Outage(run, server.log, begin, end, before)


def wait_for_writes(run, count):
    """Wait until more writes are acknowledged."""
    # The writers add to them meanwhile.
    start = sum(len(writer.known) for writer in run.writers)
    wait_until(
        lambda: sum(len(writer.known) for writer in run.writers) >= start + count, 90
    )


def count_of(server, words):
    return sum(words in line for line in list(server.log))


def test_connections_stay(outage):
    assert len(outage.run.stayed) == len(SUBSCRIBERS)
    assert len(outage.run.workers) == 2


def test_events_reach_their_groups_once_and_in_order(outage):
    run = outage.run

    assert [run.wrong(socket) for socket in run.groups if run.wrong(socket)] == []
    assert [refused for each in run.writers for refused in each.refused] == []


def test_events_are_lost_only_while_the_broker_is_away(outage):
    begin, end = outage.begin - BEFORE, outage.end

    assert [at for at in outage.lost() if not begin < at < end] == []


def test_log_tells_that_events_are_lost(outage):
    text = "".join(outage.log[outage.before :])

    assert text.count("is not available. Events reach only this worker") >= 2
    assert "Traceback" not in "".join(outage.log)
