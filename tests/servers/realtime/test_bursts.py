"""Many calls at once: all of them are answered, in their order."""

from __future__ import annotations

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


def test_body_of_a_thousand_calls_is_answered_whole(polling):
    polling.connect()

    posted = polling.post(*calls(MANY))

    assert posted == (200, "ok")
    assert list(polling.answers(1000)) == list(MANY)
    assert set(map(str, polling.answers(1000).values())) == {"[None, []]"}


def test_calls_that_come_too_fast_are_answered_as_others_go_on(records, tmp_path):
    with live(records, tmp_path, {"calls_per_second": 20}) as site:
        client, other = site.connect(), site.connect()

        for packet in calls(range(BURST * 20 + 20)):
            client.send(packet)

        others = [other.result("find", "messages") for _ in range(50)]
        answers = received(client.socket, BURST * 20 + 20)

    assert set(map(str, answers.values())) == {"[None, []]"}
    assert others == [[]] * 50
