"""The log that workers share in Redis."""

from __future__ import annotations

import sys
import time
import uuid
from concurrent import futures

import pytest
import redis
from flask import Flask

from flask_records import FlaskRecords
from flask_records.realtime import Realtime
from flask_records.realtime.bus.redis import BrokerError, Lost, RedisBroker

from ...databases import url_in
from ...redis_server import own_redis
from ...waiting import wait_until


class Log:
    """The log of one channel, which several brokers use."""

    def __init__(self, url):
        self.url = url
        self.channel = f"tests {uuid.uuid4().hex}"
        self.brokers = []

    def broker(self, **bounds):
        """A broker as another process has it."""
        broker = RedisBroker(self.url, self.channel, **bounds)
        self.brokers.append(broker)
        return broker

    def erase(self):
        with redis.Redis.from_url(self.url) as client:
            for key in client.keys(f"{self.channel}*"):
                client.delete(key)

    def close(self):
        for broker in self.brokers:
            broker.close()


@pytest.fixture
def log():
    log = Log(url_in("TEST_REDIS_URL"))
    yield log
    log.close()
    log.erase()


@pytest.fixture
def server():
    """A server of the test's own."""
    with own_redis() as server:
        yield server


@pytest.fixture
def own_log(server):
    log = Log(server.url)
    yield log
    log.close()


def read_all(broker, after, count, seconds=30):
    """The next entries, as many as are counted."""
    entries = []
    deadline = time.monotonic() + seconds

    while len(entries) < count and time.monotonic() < deadline:
        entries += broker.read(after, 1)
        after = entries[-1].id if entries else after

    return entries


def data_of(entries):
    return [entry.data for entry in entries]


def is_available(broker):
    try:
        broker.end()
    except BrokerError:
        return False

    return True


def test_entries_are_read_in_the_order_of_their_appends(log):
    writer, reader = log.broker(), log.broker()
    start = reader.end()

    ids = [writer.append(data) for data in (b"one", b"two", b"three")]

    entries = read_all(reader, start, 3)
    assert data_of(entries) == [b"one", b"two", b"three"]
    assert [entry.id for entry in entries] == ids
    assert writer.end() == ids[-1]


@pytest.mark.parametrize("data", [b"", b"\0\xff'\\\r\n\"", b"x" * 3_000_000])
def test_any_bytes_are_read_as_they_were_appended(log, data):
    writer, reader = log.broker(), log.broker()
    start = reader.end()

    writer.append(data)
    last = writer.append(b"last")

    entries = read_all(reader, start, 2)
    assert data_of(entries) == [data, b"last"]
    assert entries[-1].id == last
    assert data_of(log.broker().recent()) == [data, b"last"]


def test_reader_waits_for_an_entry(log):
    writer, reader = log.broker(), log.broker()
    start = reader.end()
    assert reader.read(start, 0) == []

    with futures.ThreadPoolExecutor() as pool:
        read = pool.submit(reader.read, start, 30)
        id = writer.append(b"one")

        assert read.result() == [(id, b"one")]


def test_logs_of_other_channels_are_apart(log):
    other = Log(log.url)
    first, second = log.broker(), other.broker()
    start = second.end()

    try:
        first.append(b"one")

        assert first.lock("name", "a", 5)
        assert second.read(start, 0.2) == []
        assert second.recent() == []
        assert second.lock("name", "b", 5)
    finally:
        other.close()
        other.erase()


def test_recent_entries_are_bounded_by_number(log):
    broker = log.broker(max_entries=100)

    for number in range(1200):
        broker.append(str(number).encode())

    recent = data_of(broker.recent())
    assert recent == [str(number).encode() for number in range(1200)][-len(recent) :]
    assert 50 <= len(recent) <= 700


def test_reader_learns_that_entries_are_trimmed(log):
    broker, reader = log.broker(max_entries=10), log.broker(max_entries=10)
    first = broker.append(b"first")

    for number in range(1200):
        last = broker.append(str(number).encode())

    with pytest.raises(Lost):
        reader.read(first, 1)

    end = reader.end()
    assert end == last
    assert reader.read(end, 0) == []


@pytest.mark.parametrize("is_reading", [True, False])
def test_reader_learns_that_the_log_has_begun_anew(log, is_reading):
    broker = log.broker()
    start = broker.end()
    ids = [broker.append(b"old") for _ in range(3)]
    reader = broker if is_reading else log.broker()

    if is_reading:
        assert len(read_all(reader, start, 3)) == 3

    log.erase()
    other = log.broker()

    for _ in range(5):
        other.append(b"new")

    def learns():
        try:
            assert reader.read(ids[-1], 0.1) == []
        except BrokerError:
            return False
        except Lost:
            return True

    wait_until(learns, 30)
    end = reader.end()
    id = other.append(b"later")
    assert reader.read(end, 10) == [(id, b"later")]


def test_lock_has_one_holder(log):
    first, second = log.broker(), log.broker()

    assert first.lock("name", "a", 5)
    assert not first.lock("name", "b", 5)
    assert not second.lock("name", "c", 5)
    assert second.lock("other", "d", 5)

    first.unlock("name", "a")
    assert second.lock("name", "c", 5)
    assert not first.lock("name", "a", 5)


def test_lock_is_freed_by_its_holder_only(log):
    first, second = log.broker(), log.broker()
    assert first.lock("name", "a", 5)

    first.unlock("name", "b")
    second.unlock("name", "b")
    second.unlock("nothing", "a")

    assert not first.lock("name", "c", 5)
    assert not second.lock("name", "c", 5)


def start(url):
    app = Flask("app")
    app.config["SECRET_KEY"] = "5e" * 32
    app.config["RECORDS_REALTIME"] = {"message_queue": url}
    records = FlaskRecords()
    Realtime(records).init_app(app)
    records.init_app(app)


@pytest.mark.parametrize("url", ["127.0.0.1:6379", "mysql://x", "redis://:secret@x:y"])
def test_invalid_urls_are_refused(url):
    with pytest.raises(RuntimeError, match="is not a valid URL") as raised:
        start(url)

    assert "secret" not in str(raised.value)


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flask_records.realtime.bus.redis", None)

    with pytest.raises(RuntimeError, match=r"needs: .*services\[redis\]"):
        start("redis://127.0.0.1")


@pytest.mark.slow
def test_broker_goes_on_after_its_server_has_stopped(server, own_log):
    broker = own_log.broker()
    start = broker.append(b"one")
    assert broker.lock("name", "a", 5)
    server.stop()

    for call in (
        broker.end,
        broker.recent,
        lambda: broker.append(b"two"),
        lambda: broker.read(start, 1),
        lambda: broker.lock("other", "b", 5),
    ):
        with pytest.raises(BrokerError):
            call()

    server.start()
    wait_until(lambda: is_available(broker), 30)
    end = broker.end()
    id = broker.append(b"three")
    assert broker.read(end, 10) == [(id, b"three")]
    broker.unlock("name", "a")
    wait_until(lambda: broker.lock("name", "c", 5), 20)
