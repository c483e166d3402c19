"""The order of events on a bus whose broker goes away at the worst moment."""

from __future__ import annotations

import threading
import time

import pytest

from flask_records.realtime.bus.redis import BrokerError
from flask_records.realtime.bus.redis import Entry
from flask_records.realtime.bus.shared import SharedBus

from ...waiting import wait_until


class Log:
    """The entries that all brokers of a test share, while it is not away."""

    def __init__(self):
        self.entries = []
        self.changed = threading.Condition()
        self.is_away = False
        self.has_ended = False

    def check(self):
        if self.has_ended:
            # The threads of the workers go on for as long as the process.
            threading.Event().wait()

        if self.is_away:
            raise BrokerError("It is away.")


class MemoryBroker:
    """A broker of one worker, whose appends and reads a test can hold up."""

    def __init__(self, log):
        self.log = log
        self.may_append = threading.Event()
        self.may_append.set()
        self.may_read = threading.Event()
        self.may_read.set()

    def append(self, data):
        is_held_up = not self.may_append.is_set()
        self.may_append.wait(10)

        if not is_held_up:
            self.log.check()

        with self.log.changed:
            self.log.entries.append(data)
            self.log.changed.notify_all()
            return str(len(self.log.entries))

    def end(self):
        self.log.check()
        return str(len(self.log.entries))

    def read(self, after, timeout):
        self.may_read.wait(10)
        self.log.check()
        start = int(after)

        with self.log.changed:
            self.log.changed.wait_for(lambda: len(self.log.entries) > start, 0.05)
            new = self.log.entries[start:]

        if not self.may_read.is_set():
            return []

        return [Entry(str(n), data) for n, data in enumerate(new, start + 1)]

    def lock(self, name, token, lifetime):
        self.log.check()
        return True

    def unlock(self, name, token):
        self.log.check()

    def close(self):
        pass


class Worker:
    """A bus, and the versions of a record that its connections get."""

    def __init__(self, log):
        self.broker = MemoryBroker(log)
        self.bus = SharedBus(self.broker)
        self.versions = []
        self.bus.on("events", self.handle)
        self.bus.start()

    @property
    def takes_all_events(self):
        return self.bus._is_available and not self.bus._is_ahead

    def handle(self, messages, id):
        self.versions += [message["version"] for message in messages]

    def publish(self, version):
        self.bus.publish([{"version": version}])


@pytest.fixture
def log():
    log = Log()
    yield log
    log.has_ended = True


@pytest.fixture
def workers(log):
    return Worker(log), Worker(log)


def test_event_that_was_on_its_way_comes_after_no_later_one(log, workers):
    one, other = workers
    one.broker.may_append.clear()
    sending = threading.Thread(target=one.publish, args=[1])
    sending.start()
    log.is_away = True
    other.publish(2)
    assert other.versions == [2]

    log.is_away = False
    time.sleep(1)
    one.broker.may_append.set()
    sending.join()
    wait_until(lambda: one.takes_all_events and other.takes_all_events, 10)
    one.publish(3)

    wait_until(lambda: 3 in other.versions, 10)
    assert other.versions == [2, 3]
    assert 1 in one.versions


def test_own_event_that_comes_back_late_comes_after_no_later_one(log, workers):
    one, other = workers
    one.broker.may_read.clear()
    time.sleep(0.1)
    one.publish(1)
    log.is_away = True
    one.publish(2)
    assert one.versions == [2]

    log.is_away = False
    one.broker.may_read.set()
    wait_until(lambda: one.takes_all_events and other.takes_all_events, 10)
    one.publish(3)

    wait_until(lambda: 3 in one.versions and 3 in other.versions, 10)
    assert one.versions == [2, 3]
    assert other.versions == [1, 3]


def test_worker_that_was_alone_takes_all_events_again(log, workers):
    one, other = workers
    log.is_away = True
    one.publish(1)
    log.is_away = False
    one.broker.may_read.clear()

    # Its news that events are lost is in the log then.
    wait_until(lambda: b'"lost"' in b"".join(log.entries), 10)
    assert not one.takes_all_events

    one.broker.may_read.set()
    wait_until(lambda: one.takes_all_events, 10)
    other.publish(2)
    wait_until(lambda: 2 in one.versions, 10)
    assert one.versions == [1, 2]


def test_news_of_lost_events_comes_before_later_ones(log, workers):
    one, other = workers
    later = threading.Thread(target=one.publish, args=[2])
    append = one.broker.append

    def append_slowly(data):
        if b'"lost"' in data:
            later.start()
            later.join(0.5)

        return append(data)

    one.broker.append = append_slowly
    log.is_away = True
    one.publish(1)
    log.is_away = False
    wait_until(lambda: 2 in other.versions, 10)
    later.join()

    assert [b'"lost"' in entry for entry in log.entries] == [True, False]
