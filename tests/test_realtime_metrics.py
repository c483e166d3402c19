"""The state of connections, in numbers."""

from __future__ import annotations

import dataclasses
import uuid
from functools import partial
from urllib.request import urlopen

import pytest
import websocket

from flask_records.realtime import Metrics
from flask_records.realtime import Realtime

from . import waiting
from .authentication import ANN
from .conftest import redis_url
from .realtime import BOTH
from .realtime import connected
from .realtime import live
from .realtime import make_live_records
from .realtime import Plain

pytestmark = BOTH

wait_until = partial(waiting.wait_until, seconds=30)


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def metrics(site):
    """The present metrics as a mapping."""
    return lambda: dataclasses.asdict(site.realtime.metrics(site.app))


def test_there_is_nothing_at_first(site):
    assert site.realtime.metrics(site.app) == Metrics(*[0] * 11)


def test_connections_are_counted_by_transport_and_login(site, metrics):
    site.connect()
    ann = site.connect(ANN)
    now = metrics()

    assert (now["websockets"], now["polling"], now["logins"]) == (2, 0, 1)
    assert now["channels"] == 3

    ann.socket.close()
    wait_until(lambda: metrics()["websockets"] == 1)
    wait_until(lambda: metrics()["logins"] == 0)


def test_clients_that_poll_are_counted(site, metrics):
    with urlopen(f"{site.url}/socket.io/?EIO=4&transport=polling") as response:
        assert response.read().startswith(b"0{")

    assert (metrics()["websockets"], metrics()["polling"]) == (0, 1)


def test_events_are_counted_for_each_connection(site, metrics):
    clients = [site.connect(ANN) for _ in range(3)]
    before = metrics()
    clients[0].result("create", "messages", {"text": "A"})
    clients[0].result("create", "rooms", {"name": "A"})

    assert [client.names() for client in clients] == [
        ["messages created", "rooms created"]
    ] * 3
    now = metrics()
    assert now["events"] - before["events"] == 2
    assert now["events_sent"] - before["events_sent"] == 6


def test_calls_and_their_errors_are_counted(site, metrics):
    ann = site.connect(ANN)
    before = metrics()
    ann.result("find", "messages")
    ann.error("get", "messages", 9)
    now = metrics()

    assert now["calls"] - before["calls"] == 2
    assert now["calls_failed"] - before["calls_failed"] == 1
    assert now["calls_in_flight"] == 0


def test_calls_under_way_are_counted(records, tmp_path):
    seen = []

    with live(records, tmp_path) as site:

        @records["messages"].before("find")
        def look(method, context):
            seen.append(site.realtime.metrics(site.app).calls_in_flight)

        site.connect(ANN).result("find", "messages")

    assert seen == [1]


def test_refused_connections_are_counted_by_reason(records, tmp_path):
    with live(records, tmp_path, {"max_connections": 2}) as site:

        def refused():
            return site.realtime.metrics(site.app).refused

        def refuse(**headers):
            with pytest.raises(websocket.WebSocketException):
                with connected(site.url, **headers):
                    pass

        refuse(Origin="http://evil.example")
        assert refused() == {"origin": 1}

        client = site.connect(Authorization="Bearer x")
        assert client.welcome.startswith("44")
        assert refused() == {"origin": 1, "login": 1}

        # Both have a place: the first one may try again.
        site.connect()
        refuse()
        assert refused() == {"origin": 1, "login": 1, "full": 1}


def test_users_of_presence_are_counted(records, tmp_path):
    realtime = Realtime(records)
    realtime.presence(channels=["authenticated"])

    with live(records, tmp_path, realtime=realtime) as site:
        site.connect(ANN)
        wait_until(lambda: realtime.metrics(site.app).presence == {"presence": 1})


def test_message_queue_is_measured(records, tmp_path):
    settings = {"message_queue": redis_url(), "channel": uuid.uuid4().hex}

    with live(records, tmp_path, settings) as site:
        ann = site.connect(ANN)
        ann.result("create", "messages", {"text": "A"})
        wait_until(lambda: site.realtime.metrics(site.app).queue_seconds > 0)
        assert site.realtime.metrics(site.app).has_queue


def test_kept_events_are_counted(records, tmp_path):
    with live(records, tmp_path, {"event_log": {}}) as site:
        ann = site.connect(ANN)

        for text in ("A", "B", "C"):
            ann.result("create", "messages", {"text": text})

        assert ann.names().count("messages created") == 3
        metrics = site.realtime.metrics(site.app)
        assert metrics.log_events == 3
        assert metrics.log_bytes > 3 * len('{"text": "A"}')


def test_late_readers_and_what_they_leave_are_counted(records, tmp_path):
    records.add("pads", Plain())
    pad = {"text": "x" * 500_000}

    with live(records, tmp_path, {"max_unsent": 1_500_000}) as site:
        site.connect(ANN)
        ann = site.connect(ANN)
        sizes = []

        def is_counted():
            ann.result("create", "pads", pad)
            ann.events()
            now = site.realtime.metrics(site.app)
            sizes.append(now.unsent_bytes)
            return now.late_readers == 1

        wait_until(is_counted)

    assert max(sizes) > 500_000
