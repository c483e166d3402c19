"""What the worker counts for its operators."""

from __future__ import annotations

from functools import partial

import pytest

from ... import waiting
from ...authentication import ANN
from ...realtime import make_live_records

wait_until = partial(waiting.wait_until, seconds=30)


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def metrics(site):
    return lambda: site.realtime.metrics(site.app)


def test_connections_that_are_open_are_counted(site, metrics):
    assert metrics() == {"connections": 0, "events_sent": 0}

    site.connect()
    ann = site.connect(ANN)
    assert metrics()["connections"] == 2

    ann.socket.close()
    wait_until(lambda: metrics()["connections"] == 1)


def test_events_are_counted_for_each_connection(site, metrics):
    clients = [site.connect(ANN) for _ in range(3)]
    before = metrics()["events_sent"]
    clients[0].result("create", "messages", {"text": "A"})
    clients[0].result("create", "rooms", {"name": "A"})

    assert [client.names() for client in clients] == [
        ["messages created", "rooms created"]
    ] * 3
    assert metrics()["events_sent"] - before == 6
