"""The users in channels, as the connections of one worker tell."""

from __future__ import annotations

import pytest

from flask_records.realtime.attendance import Attendance

ANN = {"id": "a:1"}
BOB = {"id": "a:2"}


def here(*records):
    return {record["id"]: record for record in records}


@pytest.fixture
def attendance():
    return Attendance(grace=5)


def test_users_who_come_are_told_once(attendance):
    attendance.set("c1", here(ANN), now=0)

    assert attendance.changes(now=0) == ([ANN], [])
    assert attendance.changes(now=1) == ([], [])
    assert attendance.told == [ANN]


def test_user_with_several_connections_comes_once(attendance):
    attendance.set("c1", here(ANN), now=0)
    attendance.set("c2", here(ANN, BOB), now=0)

    assert attendance.changes(now=0) == ([ANN, BOB], [])


def test_user_leaves_with_the_last_connection_after_the_grace(attendance):
    attendance.set("c1", here(ANN), now=0)
    attendance.set("c2", here(ANN), now=0)
    attendance.changes(now=0)

    attendance.set("c1", {}, now=1)
    attendance.set("c2", {}, now=2)

    assert attendance.changes(now=6.9) == ([], [])
    assert attendance.changes(now=7) == ([], ["a:1"])
    assert len(attendance) == 0


def test_user_who_comes_back_in_time_has_not_left(attendance):
    attendance.set("c1", here(ANN), now=0)
    attendance.changes(now=0)
    attendance.set("c1", {}, now=1)
    attendance.changes(now=2)

    attendance.set("c2", here(ANN), now=3)

    assert attendance.changes(now=3) == ([], [])
    assert attendance.changes(now=60) == ([], [])


def test_user_who_leaves_before_others_were_told_is_not_told(attendance):
    attendance.set("c1", here(ANN), now=0)
    attendance.set("c1", {}, now=0)

    assert attendance.changes(now=0) == ([], [])
    assert attendance.changes(now=5) == ([], [])
    assert len(attendance) == 0


def test_moving_to_another_channel_leaves_the_first(attendance):
    attendance.set("c1", here(ANN), now=0)
    attendance.changes(now=0)

    attendance.set("c1", here(BOB), now=1)

    assert attendance.changes(now=1) == ([BOB], [])
    assert attendance.changes(now=6) == ([], ["a:1"])


def test_all_can_be_told_again(attendance):
    attendance.set("c1", here(ANN), now=0)
    attendance.changes(now=0)

    attendance.tell_again()

    assert attendance.changes(now=1) == ([ANN], [])
