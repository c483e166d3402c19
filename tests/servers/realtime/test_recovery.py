"""Clients that come back, and get what they have missed."""

from __future__ import annotations

import json

import pytest

from flask_records.realtime.recovery import OFFSET

from ...authentication import ANN
from ...realtime import live, make_live_records
from ...waiting import wait_until


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def site(records, tmp_path):
    with live(records, tmp_path, {"event_log": {"seconds": 60}}) as site:
        yield site


def write(site, *texts, **data):
    """Create messages as the application does."""
    with site.app.app_context():
        for text in texts:
            site.records["messages"].create({"text": text, **data})

    site.settle()


def pid_of(client):
    """The id by which a client can come back."""
    return json.loads(client.welcome[2:])["pid"]


def left(site):
    """The output of a client that has got an event and left."""
    client = site.connect(ANN)
    write(site, "before")
    *_, (_, record, offset) = client.events()
    assert record["text"] == "before"
    client.socket.close()
    wait_until(lambda: not site.connections)
    return {"pid": pid_of(client), "offset": offset}


def arrived(client, number):
    """The texts of some events."""
    found = []

    def is_complete():
        found.extend(event for event in client.events() if event[0] != OFFSET)
        return len(found) >= number

    wait_until(is_complete)
    return [record["text"] for _, record, _ in found]


def test_client_gets_what_it_missed_once_and_in_order(site):
    shown = left(site)
    write(site, "one", "two")
    client = site.connect(None, shown)
    write(site, "three")
    client.log_in(ANN)
    write(site, "four")

    assert pid_of(client) == shown["pid"]
    assert arrived(client, 4) == ["one", "two", "three", "four"]


def test_client_gets_only_what_it_may_see_now(site, records):
    shown = left(site)
    write(site, "one", rank=1)
    write(site, "two", rank=2)
    records["messages"].readable = lambda user: {"rank": 2}
    client = site.connect(None, shown)
    client.log_in(ANN)
    write(site, "three", rank=2)

    assert arrived(client, 2) == ["two", "three"]


@pytest.mark.parametrize("other", [{"offset": "unknown.1"}, {"pid": ""}, {"pid": 5}])
def test_client_with_an_unknown_place_loads_anew(site, other):
    shown = {**left(site), **other}
    write(site, "missed")
    client = site.connect(ANN, shown)
    write(site, "later")

    assert pid_of(client) != shown["pid"]
    assert arrived(client, 1) == ["later"]
