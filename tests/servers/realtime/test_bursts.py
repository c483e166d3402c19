"""Many calls at once: all of them are answered, in their order."""

from __future__ import annotations

import threading

import pytest

from flask_records.realtime.connections import BURST

from ...polling import calls, Polling, received
from ...realtime import live, make_live_records

MANY = range(1000)


@pytest.fixture
def records():
    return make_live_records(public=True)


@pytest.fixture
def site(records, tmp_path):
    with live(records, tmp_path) as site:
        yield site


@pytest.fixture
def polling(site):
    """A session that polls, of a client that is not yet connected to Socket.IO."""
    polling = Polling(site.url)
    yield polling
    polling.close()


class Held:
    """Answers with the number of a call, once it is let go."""

    def __init__(self):
        self.go = threading.Event()
        self.begun = threading.Event()

    def get(self, id, params):
        self.begun.set()
        assert self.go.wait(30)
        return {"id": id}


@pytest.fixture
def held(records):
    held = Held()
    records.add("held", held, public=True)
    yield held
    held.go.set()


def test_body_of_a_thousand_calls_is_answered_whole(polling):
    polling.connect()

    posted = polling.post(*calls(MANY))

    assert posted == (200, "ok")
    assert list(polling.answers(1000)) == list(MANY)
    assert set(map(str, polling.answers(1000).values())) == {"[None, []]"}


def test_calls_that_take_long_do_not_hold_the_request_that_brings_them(held, polling):
    polling.connect()

    posted = polling.post(*calls([1]), *calls(range(2, 20), "get", "held", "a"))
    later = polling.post(*calls([20]))
    held.go.set()

    assert (posted, later) == ((200, "ok"), (200, "ok"))
    assert list(polling.answers(20)) == list(range(1, 21))


def test_calls_that_come_too_fast_are_answered_as_others_go_on(records, tmp_path):
    with live(records, tmp_path, {"calls_per_second": 20}) as site:
        client, other = site.connect(), site.connect()

        for packet in calls(range(BURST * 20 + 20)):
            client.send(packet)

        others = [other.result("find", "messages") for _ in range(50)]
        answers = received(client.socket, BURST * 20 + 20)

    assert set(map(str, answers.values())) == {"[None, []]"}
    assert others == [[]] * 50
