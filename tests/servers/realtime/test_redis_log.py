"""The log that workers share in Redis."""

import subprocess
import sys
import uuid

import pytest
import redis
from flask import Flask

from flask_records import FlaskRecords
from flask_records.realtime import Realtime
from flask_records.realtime.log import LOST, MAX_ENTRIES
from flask_records.realtime.redis_log import READ_SIZE, RedisLog

from ...processes import free_port, ROOT
from ...realtime_clients import settings_of
from ...redis_server import own_redis
from ...waiting import wait_until


@pytest.fixture(scope="module")
def server():
    """A server of the tests' own."""
    with own_redis() as server:
        yield server


@pytest.fixture
def open_log(server):
    """A function that opens the log as another process does."""
    channel = uuid.uuid4().hex
    return lambda: RedisLog(server.url, channel)


@pytest.fixture
def writer(open_log):
    return open_log()


@pytest.fixture
def reader(open_log):
    log = open_log()
    log.start()
    return log


def next_of(log, count=1):
    """The next entries, at least as many as are counted."""
    entries = []
    wait_until(lambda: entries.extend(log.read(1)) or len(entries) >= count)
    return entries


def test_all_processes_read_the_same(writer, reader, open_log):
    other, large = open_log(), b"x" * 3_000_000
    other.start()

    writer.append([b"1", large])
    other.append([b"3"])
    writer.append([b"4"])

    expected = [b"1", large, b"3", b"4"]
    assert [next_of(log, 4) for log in (reader, other)] == [expected] * 2


def test_many_entries_at_once_are_read(writer, reader):
    entries = [str(number).encode() for number in range(3 * READ_SIZE)]
    writer.append(entries)

    assert next_of(reader, len(entries)) == entries


def test_reader_that_is_overtaken_learns_of_the_loss(writer, reader):
    for _ in range(2):
        writer.append([b"{}"] * MAX_ENTRIES)

    lost = reader.read(1)
    writer.append([b"last"])

    assert (lost, next_of(reader)) == ([LOST], [b"last"])


def test_stream_has_a_bound_of_bytes(server, writer, reader):
    for number in range(160):
        writer.append([b"%03d" % number * 20_000] * 10)
        last = next_of(reader, 10)[-1]

    with redis.Redis.from_url(server.url) as client:
        [name] = client.keys(f"{writer._name}*")
        size = client.memory_usage(name)

    assert last[:3] == b"159"
    assert size < 80_000_000


def test_restart_is_a_loss_for_all(server, writer, reader, caplog):
    server.stop()
    writer.append([b"lost"])
    assert reader.read(0) == []
    server.start()
    # Both tell: the one who could not write, and the one who could not read.
    first = next_of(reader)
    wait_until(lambda: "is available again" in caplog.text)
    writer.append([b"last"])

    assert set(first) == {LOST}
    assert next_of(reader)[-1] == b"last"


def test_restart_between_two_reads_is_a_loss(server, writer, reader, caplog):
    writer.append([b"lost"])
    server.stop()
    server.start()

    assert next_of(reader) == [LOST]


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
    monkeypatch.setitem(sys.modules, "flask_records.realtime.redis_log", None)

    with pytest.raises(RuntimeError, match=r"needs: .*services\[redis\]"):
        start("redis://127.0.0.1")


def test_names_on_redis_begin_with_the_channel(server):
    log = RedisLog(server.url, "app")
    log.start()
    log.append([b"1"])

    with redis.Redis.from_url(server.url) as client:
        assert [key for key in client.keys() if key.startswith(b"app")] == [b"app:log"]


def test_cluster_is_refused():
    with own_redis("--cluster-enabled", "yes") as server:
        log = RedisLog(server.url, "tests")

        with pytest.raises(RuntimeError, match="not a node of a cluster"):
            log.check()


def test_server_that_refuses_to_write_is_refused(server):
    host, port = "127.0.0.1", str(server.port)

    with own_redis("--replicaof", host, port) as replica:
        log = RedisLog(replica.url, "tests")

        with pytest.raises(RuntimeError, match="does not take events: .*read only"):
            log.check()


def test_server_that_is_away_is_told():
    with pytest.raises(ConnectionError, match="The message queue is away"):
        RedisLog(f"redis://127.0.0.1:{free_port()}", "tests").check()


@pytest.mark.parametrize("name", ["gunicorn", "uvicorn"])
def test_servers_do_not_start_with_a_cluster(tmp_path, name):
    with own_redis("--cluster-enabled", "yes") as cluster:
        settings = settings_of(tmp_path, WEB_CONCURRENCY="1", REDIS_URL=cluster.url)
        options = {
            "gunicorn": "-k asgi -b 127.0.0.1:0 tests.realtime_app:create_asgi_app()",
            "uvicorn": "--port 0 --factory tests.realtime_app:create_asgi_app",
        }
        done = subprocess.run(
            [sys.executable, "-m", name, *options[name].split()],
            cwd=ROOT,
            env=settings,
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert done.returncode != 0
    assert "not a node of a cluster" in done.stderr
