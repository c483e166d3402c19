"""Clients that come back, and get what they have missed."""

from __future__ import annotations

import json

import pytest

from flask_records.realtime.recovery import OFFSET

from ...authentication import ANN
from ...realtime import BOB
from ...realtime import live
from ...realtime import make_live_records
from ...waiting import wait_until

SETTINGS = {"event_log": {"seconds": 60}}


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def site(records, tmp_path):
    with live(records, tmp_path, SETTINGS) as site:
        yield site


@pytest.fixture
def ann(site):
    return Follower(site, ANN)


class Follower:
    """A client that remembers what it needs to come back, and the texts of events."""

    def __init__(self, site, user=None):
        self._site = site
        self.user = user
        self.pid = self.offset = None
        self.texts = []
        self.is_recovered = False
        self.connect()
        self.log_in()

    def connect(self, **headers):
        shown = {} if self.pid is None else {"pid": self.pid, "offset": self.offset}
        self.client = self._site.connect(None, shown, **headers)
        pid = json.loads(self.client.welcome[2:])["pid"]
        self.is_recovered = self.pid == pid
        self.pid = pid

    def log_in(self):
        if self.user is not None:
            self.client.log_in(self.user)

    def leave(self):
        self.receive()
        self.client.socket.close()
        wait_until(lambda: self.client.id not in self.ids, 10)

    def come_back(self, **headers):
        self.leave()
        self.connect(**headers)

    @property
    def ids(self):
        return [each.id for each in self._site.connections]

    def receive(self):
        """Take the events that are there."""
        for name, *arguments in self.client.events():
            if isinstance(arguments[-1], str):
                self.offset = arguments[-1]

            if name.startswith("messages"):
                self.texts.append(arguments[0]["text"])

        return self.texts

    def gets(self, *texts):
        """Return ``True`` if just these texts arrive, in this order."""

        def has_arrived():
            return len(self.receive()) >= len(texts)

        wait_until(has_arrived, 20)
        return self.texts == list(texts)


def write(site, *texts, **data):
    """Create messages as the application does."""
    with site.app.app_context():
        for text in texts:
            site.records["messages"].create({"text": text, **data})

    site.settle()


def test_client_without_a_log_is_told_no_offset(records, tmp_path):
    with live(records, tmp_path) as site:
        client = site.connect(ANN)
        client.result("create", "messages", {"text": "one"})

        assert "pid" not in client.welcome
        assert [len(event) for event in client.events()] == [2]


def test_client_that_comes_back_gets_what_it_missed_once_and_in_order(site, ann):
    write(site, "one", "two")
    ann.leave()
    write(site, "three", "four")
    ann.connect()
    write(site, "five")
    ann.log_in()
    write(site, "six")

    assert ann.is_recovered
    assert ann.gets("one", "two", "three", "four", "five", "six")


@pytest.mark.parametrize(
    "shown",
    [
        {"offset": None},
        {"offset": "unknown.1"},
        {"offset": ""},
        {"offset": 5},
        {"offset": ["a"]},
        {"pid": None},
        {"pid": ""},
        {"pid": "x" * 1000},
        {"pid": 5},
    ],
)
def test_client_with_an_unknown_place_loads_anew(site, ann, shown):
    write(site, "one")
    ann.leave()
    write(site, "two")
    before = ann.pid
    client = site.connect(ANN, {"pid": before, "offset": ann.offset, **shown})
    write(site, "three")

    assert json.loads(client.welcome[2:])["pid"] not in (before, *shown.values())
    texts = [event[1]["text"] for event in client.events() if event[0] != OFFSET]
    assert texts == ["three"]


def test_client_gets_only_what_it_may_see_now(site, records, ann):
    records["messages"].readable = lambda user: {"rank": user["id"]}
    site.register(BOB)
    bob = Follower(site, BOB)
    mine, other = 1, 2
    write(site, "one", rank=mine)
    write(site, "two", rank=other)
    ann.leave()
    bob.leave()
    write(site, "three", rank=mine)
    write(site, "four", rank=other)

    for each in (ann, bob):
        each.connect()
        each.log_in()

    assert ann.gets("one", "three")
    assert bob.gets("two", "four")

    # The rule has changed since the events.
    ann.leave()
    write(site, "five", rank=mine)
    write(site, "six", rank=other)
    records["messages"].readable = lambda user: {"rank": other}
    ann.connect()
    ann.log_in()

    assert ann.gets("one", "three", "six")
