"""The users in channels, as the workers tell."""

from __future__ import annotations

import pytest

from flask_records.realtime.roster import Roster

ANN = {"id": "a:1", "channel": "a"}
BOB = {"id": "a:2", "channel": "a"}
CAT = {"id": "b:3", "channel": "b"}


@pytest.fixture
def roster():
    roster = Roster()
    roster.add("one", [ANN, CAT])
    roster.add("two", [BOB])
    return roster


def test_records_are_found_by_channel_and_id(roster):
    assert roster.of("a") == [ANN, BOB]
    assert roster.of("c") == []
    assert roster.get("b:3") == CAT
    assert roster.get("b:4") is None
    assert roster.channels == ["a", "b"]
    assert list(roster) == [ANN, CAT, BOB]


def test_user_whom_two_workers_have_is_new_once(roster):
    assert roster.add("two", [ANN]) == []
    assert roster.remove("one", ["a:1"]) == []
    assert roster.remove("two", ["a:1"]) == [ANN]
    assert roster.get("a:1") is None


def test_removing_what_is_not_there_removes_nothing(roster):
    assert roster.remove("two", ["a:9", "b:3"]) == []
    assert len(roster) == 3


def test_channel_is_gone_with_its_last_user(roster):
    assert roster.remove("one", ["b:3"]) == [CAT]
    assert roster.channels == ["a"]


def test_all_that_a_worker_has_told_can_be_replaced(roster):
    dan = {"id": "a:4", "channel": "a"}

    assert roster.replace("one", [dan, CAT]) == ([dan], [ANN])
    assert roster.of("a") == [BOB, dan]
