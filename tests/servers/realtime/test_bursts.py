"""Many calls at once: all of them are answered, in their order."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from flask_records.realtime.connections import BURST

from ...polling import calls, Polling, received
from ...realtime import live, loop_of, make_live_records
from ...waiting import wait_until

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


def posted_without_polling(site, pool, pads):
    """A session that polls, and its body of calls with large answers."""
    polling = Polling(site.url)
    polling.connect()
    posted = pool.submit(polling.post, *calls(range(100), "find", "pads"))
    wait_until(lambda: len(pads) > 5, 30)
    return polling, posted


@pytest.fixture
def pads(records):
    """The calls that were made of a service with large answers."""
    pads = []

    class Pads:
        def find(self, params):
            pads.append(1)
            return ["x" * 9000]

    records.add("pads", Pads(), public=True)
    return pads


def test_answers_that_a_client_has_to_take_hold_its_next_calls(pads, records, tmp_path):
    with live(records, tmp_path, {"max_unsent": 80_000}) as site:
        with ThreadPoolExecutor(1) as pool:
            polling, posted = posted_without_polling(site, pool, pads)
            site.connect().result("find", "messages")
            before = len(pads)

            answers = polling.answers(100)
            assert posted.result() == (200, "ok")

    assert before < 20
    assert list(answers) == list(range(100))


def test_client_that_leaves_its_answers_is_closed(pads, records, tmp_path):
    with live(records, tmp_path, {"max_unsent": 80_000}) as site:
        loop = loop_of(site)
        loop.ping_interval = loop.ping_timeout = 0.1

        with ThreadPoolExecutor(1) as pool:
            posted_without_polling(site, pool, pads)
            [session] = loop.sessions.values()
            session.deadline = 0
            wait_until(lambda: not loop.sessions, 30)

    assert len(pads) < 20


def test_calls_that_come_too_fast_are_answered_as_others_go_on(records, tmp_path):
    with live(records, tmp_path, {"calls_per_second": 20}) as site:
        client, other = site.connect(), site.connect()

        for packet in calls(range(BURST * 20 + 20)):
            client.send(packet)

        others = [other.result("find", "messages") for _ in range(50)]
        answers = received(client.socket, BURST * 20 + 20)

    assert set(map(str, answers.values())) == {"[None, []]"}
    assert others == [[]] * 50
