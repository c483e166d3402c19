"""Workers tell each other who is there, over a queue that may lose messages."""

from __future__ import annotations

import random
import threading
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from flask_records.realtime import presence as module
from flask_records.realtime.presence import Presence
from flask_records.realtime.presence import PresenceOptions

LOGIN = SimpleNamespace(users_path="users")


class Clock:
    """A time that passes when a test says so."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    time = monotonic


class Queue:
    """Hands messages to all workers in one order, but for those that it loses."""

    def __init__(self):
        self.handlers = {}
        self.away = set()
        """The workers that neither send nor get messages of others."""

    def send(self, sender, body):
        for worker, handle in self.handlers.items():
            is_cut = self.away & {sender, worker}

            if worker == sender or not is_cut:
                handle(body)


class Worker:
    """A worker, with its connections."""

    def __init__(self, name, queue):
        self.name = name
        self.events = []
        """The events that it has sent to all workers, and to its connections."""
        self.connections = {}
        bus = SimpleNamespace(
            on=lambda topic, handler: queue.handlers.update({name: handler}),
            send=lambda topic, body: queue.send(name, body),
            start=lambda: None,
        )
        service = SimpleNamespace(path="presence", announce_all=self._announce)
        server = SimpleNamespace(
            bus=bus,
            connections=self.connections,
            records=SimpleNamespace(authentication=lambda: LOGIN),
            transport=SimpleNamespace(start_task=lambda run: None, sleep=None),
            settings=SimpleNamespace(message_queue="redis://"),
            app=SimpleNamespace(app_context=nullcontext),
            deliver_here=self._deliver_here,
        )
        self.presence = Presence(server, service, PresenceOptions(["*"], grace=0))

    def _announce(self, name, records):
        self.events += [("all", name, record["id"]) for record in records]

    def _deliver_here(self, events):
        self.events += [("here", each.name, each.record["id"]) for each in events]

    def put(self, id, user, *channels):
        """Let a connection of a user be in channels."""
        login = SimpleNamespace(user_id=user, user=None, authenticator=LOGIN)
        connection = SimpleNamespace(
            id=id, channels=channels, login_at=lambda now: login
        )
        self.connections[id] = connection
        self.presence.update(connection)

    def ids(self):
        return sorted(record["id"] for record in self.presence.roster)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def queue():
    return Queue()


@pytest.fixture
def workers(queue, clock):
    workers = [Worker(name, queue) for name in "abc"]

    for worker in workers:
        worker.presence.start()

    return workers


def pass_time(clock, workers, seconds):
    """Let workers look at what has changed, ten times a second."""
    for _ in range(int(seconds * 10)):
        clock.now += 0.1

        for worker in workers:
            worker.presence._check()


def sent(workers):
    """The events that were sent to all workers."""
    return Counter(
        event[1:] for worker in workers for event in worker.events if event[0] == "all"
    )


def test_each_change_is_sent_once(clock, workers):
    a, b, c = workers
    a.put("1", 7, "x")
    b.put("2", 7, "x", "y")
    pass_time(clock, workers, 1)
    a.put("1", 7)
    pass_time(clock, workers, 1)
    assert [each.ids() for each in workers] == [["x:7", "y:7"]] * 3

    b.put("2", 7)
    pass_time(clock, workers, 1)

    assert [each.ids() for each in workers] == [[]] * 3
    assert sent(workers) == {
        (name, id): 1 for name in ("created", "removed") for id in ("x:7", "y:7")
    }
    assert not any(event[0] == "here" for each in workers for event in each.events)


def test_users_of_a_silent_worker_leave_once(clock, workers):
    a, b, c = workers
    a.put("1", 7, "x")
    pass_time(clock, workers, 1)
    pass_time(clock, [b, c], 12)

    assert b.ids() == c.ids() == []
    assert sent(workers) == {("created", "x:7"): 1, ("removed", "x:7"): 1}


def test_users_come_back_with_a_worker_that_was_silent(clock, workers):
    a, b, c = workers
    a.put("1", 7, "x")
    pass_time(clock, workers, 1)
    pass_time(clock, [b, c], 12)
    pass_time(clock, workers, 1)

    assert [each.ids() for each in workers] == [["x:7"]] * 3
    assert sent(workers)["created", "x:7"] == 2


def test_worker_that_starts_hears_of_all(clock, queue, workers):
    workers[0].put("1", 7, *[f"room {number}" for number in range(2500)])
    pass_time(clock, workers, 1)
    late = Worker("d", queue)
    late.presence.start()
    pass_time(clock, [*workers, late], 1)

    assert late.ids() == workers[0].ids()
    assert len(late.ids()) == 2500


def test_worker_that_was_cut_off_sends_what_it_missed_to_its_own(clock, queue, workers):
    a, b, c = workers
    a.put("1", 7, "x")
    pass_time(clock, workers, 1)
    queue.away.add("c")
    a.put("1", 7, "y")
    c.put("2", 8, "x")
    pass_time(clock, workers, 1)
    assert (b.ids(), c.ids()) == (["y:7"], ["x:7", "x:8"])

    queue.away.clear()
    pass_time(clock, workers, 4)

    assert [each.ids() for each in workers] == [["x:8", "y:7"]] * 3
    missed = [event[1:] for event in c.events if event[0] == "here"]
    assert sorted(missed) == [("created", "y:7"), ("removed", "x:7")]


@pytest.mark.parametrize("seed", range(20))
def test_workers_agree_whatever_is_lost(clock, queue, workers, seed):
    chance = random.Random(seed)

    for _ in range(100):
        worker = chance.choice(workers)
        queue.away = {each.name for each in workers if chance.random() < 0.1}
        channels = chance.sample("xyz", chance.randint(0, 3))
        worker.put(str(chance.randint(1, 5)), chance.randint(1, 3), *channels)
        pass_time(clock, workers, chance.choice([0, 0.1, 0.2, 4]))

    queue.away.clear()
    pass_time(clock, workers, 15)

    present = {
        f"{channel}:{connection.login_at(0).user_id}"
        for worker in workers
        for connection in worker.connections.values()
        for channel in connection.channels
    }
    assert [each.ids() for each in workers] == [sorted(present)] * 3


def test_threads_may_move_connections_at_the_same_time(clock, workers):
    worker = workers[0]

    def move(user):
        for number in range(300):
            worker.put(f"c{user}", user, "x", f"y{number % 3}")

        worker.put(f"c{user}", user, "x")

    threads = [threading.Thread(target=move, args=[user]) for user in range(4)]

    for thread in threads:
        thread.start()

    while any(thread.is_alive() for thread in threads):
        worker.presence._check()

    for thread in threads:
        thread.join()

    pass_time(clock, workers, 1)
    assert [each.ids() for each in workers] == [["x:0", "x:1", "x:2", "x:3"]] * 3
