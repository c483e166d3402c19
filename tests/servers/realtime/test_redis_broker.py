"""The log that workers share in Redis."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
import uuid
from concurrent import futures

import pytest
import redis
from flask import Flask

from flask_records import FlaskRecords
from flask_records.realtime import Realtime
from flask_records.realtime.bus.redis import BrokerError
from flask_records.realtime.bus.redis import Lost
from flask_records.realtime.bus.redis import RedisBroker

from ...databases import url_in
from ...processes import ROOT
from ...redis_server import own_redis
from ...waiting import wait_until

PROCESSES = 3
THREADS = 4
APPENDS = 50
"""How many entries each thread appends."""


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


def test_entries_are_read_after_any_id(log):
    broker = log.broker()
    ids = [broker.append(data) for data in (b"one", b"two", b"three")]

    assert data_of(read_all(broker, ids[0], 2)) == [b"two", b"three"]
    assert data_of(read_all(broker, ids[1], 1)) == [b"three"]
    assert data_of(read_all(broker, ids[0], 2)) == [b"two", b"three"]


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


def test_reader_returns_after_its_timeout(log):
    reader = log.broker()
    start = reader.end()

    began = time.monotonic()

    assert reader.read(start, 0.2) == []
    assert reader.read(start, 0.2) == []
    assert time.monotonic() - began >= 0.4


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


def test_ids_of_an_empty_log_stay_valid(log):
    broker, later = log.broker(), log.broker()
    start = broker.end()
    assert later.end() == start

    broker.append(b"one")

    assert data_of(read_all(broker, start, 1)) == [b"one"]
    assert data_of(read_all(later, start, 1)) == [b"one"]


# A process that appends the number of its process, its thread and the entry.
WRITER = f"""
import sys
from concurrent import futures
from tests.servers.realtime.test_redis_broker import RedisBroker, THREADS, APPENDS

url, channel, process = sys.argv[1:]
broker = RedisBroker(url, channel)

def write(thread):
    for number in range(APPENDS):
        broker.append(f"{{process}} {{thread}} {{number}}".encode())

with futures.ThreadPoolExecutor({THREADS}) as pool:
    list(pool.map(write, range(THREADS)))

broker.close()
"""


def test_all_read_one_order_while_many_append(log):
    readers = [log.broker(), log.broker()]
    starts = [reader.end() for reader in readers]
    count = PROCESSES * THREADS * APPENDS
    writer = [sys.executable, "-c", WRITER, log.url, log.channel]
    writers = [
        subprocess.Popen([*writer, str(number)], cwd=ROOT)
        for number in range(PROCESSES)
    ]

    with futures.ThreadPoolExecutor() as pool:
        counts = [count] * len(readers)
        first, second = pool.map(read_all, readers, starts, counts, [120, 120])

    assert [writer.wait(60) for writer in writers] == [0] * PROCESSES
    assert first == second
    assert len({entry.id for entry in first}) == len(first) == count
    assert sorted(data_of(first)) == sorted(
        f"{process} {thread} {number}".encode()
        for process in range(PROCESSES)
        for thread in range(THREADS)
        for number in range(APPENDS)
    )

    for process in range(PROCESSES):
        for thread in range(THREADS):
            own = f"{process} {thread} ".encode()
            numbers = [data[len(own) :] for data in data_of(first) if own in data[:4]]
            assert [int(number) for number in numbers] == list(range(APPENDS))


def test_recent_entries_are_read_in_their_order(log):
    broker = log.broker()
    assert broker.recent() == []

    ids = [broker.append(data) for data in (b"one", b"two")]

    assert broker.recent() == [(ids[0], b"one"), (ids[1], b"two")]
    assert log.broker().recent() == broker.recent()


def test_recent_entries_are_bounded_by_number(log):
    broker = log.broker(max_entries=100)

    for number in range(1200):
        broker.append(str(number).encode())

    recent = data_of(broker.recent())
    assert recent == [str(number).encode() for number in range(1200)][-len(recent) :]
    assert 50 <= len(recent) <= 700


def test_recent_entries_are_bounded_by_age(log):
    broker = log.broker(max_age=1)
    broker.append(b"old")

    def has_aged():
        broker.append(b"new")
        return b"old" not in data_of(broker.recent())

    wait_until(has_aged, 30)
    assert b"new" in data_of(broker.recent())


def test_recent_entries_are_bounded_by_size(log):
    broker = log.broker()
    first = broker.append(b"first")
    size = 1_000_000

    for number in range(90):
        broker.append(b"%d" % number * (size // len(b"%d" % number)))

    def is_trimmed():
        broker.append(b"x" * size)
        return sum(len(data) for data in data_of(broker.recent())) <= 88 * size

    wait_until(is_trimmed, 30)
    assert sum(len(data) for data in data_of(broker.recent())) >= 10 * size

    with pytest.raises(Lost):
        broker.read(first, 0)


def test_bounds_are_those_of_the_last_worker(log):
    first = log.broker(max_entries=100)

    for number in range(50):
        first.append(str(number).encode())

    second = log.broker(max_entries=2000)
    second.end()

    for number in range(50, 1000):
        second.append(str(number).encode())

    assert len(second.recent()) == 1000


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


def test_reader_misses_no_entry_while_others_are_trimmed(log):
    broker, reader = log.broker(max_entries=10), log.broker(max_entries=10)
    last = reader.end()
    numbers = [-1]
    chance = random.Random(1)

    for number in range(1200):
        broker.append(str(number).encode())

        # It falls behind now and then.
        if chance.random() < 0.01:
            try:
                entries = reader.read(last, 0)
            except Lost:
                last = reader.end()
                numbers = [number]
            else:
                last = entries[-1].id if entries else last
                numbers += map(int, data_of(entries))

            assert numbers == list(range(numbers[0], numbers[-1] + 1))


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


BAD_IDS = ["", "0", "other", "5-7", "1700000000000-0", "9" * 30, "0-" + "0" * 32]


@pytest.mark.parametrize("id", BAD_IDS)
def test_reader_learns_that_an_id_is_of_no_entry(log, id):
    broker = log.broker()
    broker.append(b"one")

    with pytest.raises(Lost):
        broker.read(id, 0)


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


def test_one_of_many_gets_a_lock(log):
    brokers = [log.broker(), log.broker()]
    tokens = [f"{number}" for number in range(20)]

    with futures.ThreadPoolExecutor(8) as pool:
        taken = list(
            pool.map(
                lambda token: brokers[int(token) % 2].lock("name", token, 30), tokens
            )
        )

    assert taken.count(True) == 1


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


HOLDER = """
import sys, time
from tests.servers.realtime.test_redis_broker import RedisBroker

url, channel = sys.argv[1:]
broker = RedisBroker(url, channel)
print(broker.lock("name", "killed", 1), flush=True)
time.sleep(60)
"""


def test_lock_of_a_killed_worker_is_freed(log):
    broker = log.broker()
    command = [sys.executable, "-c", HOLDER, log.url, log.channel]

    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"True\n"
        holder.kill()

    wait_until(lambda: broker.lock("name", "b", 5), 20)


def test_closed_broker_is_not_available(log):
    broker = log.broker()
    broker.append(b"one")

    broker.close()
    broker.close()

    for call in (broker.end, broker.recent, lambda: broker.append(b"two")):
        with pytest.raises(BrokerError):
            call()


def test_close_ends_a_read(log):
    reader = log.broker()
    start = reader.end()
    ended = threading.Event()

    def read():
        try:
            while True:
                reader.read(start, 1)
        except BrokerError:
            ended.set()

    threading.Thread(target=read, daemon=True).start()
    reader.close()

    assert ended.wait(30)


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


@pytest.mark.slow
def test_broker_waits_a_bounded_time_for_a_server_that_hangs(server, own_log):
    broker, reader = own_log.broker(), own_log.broker()
    end = broker.append(b"one")
    assert reader.read(end, 0) == []

    with server.paused():
        began = time.monotonic()

        with futures.ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(broker.append, b"two") for _ in range(8)]
            errors = [call.exception() for call in calls]

        # Those that wait for each other's turn do so at most twice as long.
        assert [type(error) for error in errors] == [BrokerError] * 8
        assert time.monotonic() - began < 10

    wait_until(lambda: is_available(broker), 30)
    id = broker.append(b"three")
    wait_until(lambda: (id, b"three") in broker.recent(), 30)
