"""The recent events, in memory."""

from __future__ import annotations

import pytest

from flask_records.realtime.event_log import Bounds, EventLog
from flask_records.realtime.settings import Settings


def messages(*numbers):
    return [{"record": number, "channels": ["all"]} for number in numbers]


def records_after(log, offset, **options):
    missed = log.after(offset, **options)
    return None if missed is None else [each.message["record"] for each in missed]


@pytest.fixture
def log():
    log = EventLog(Bounds())
    log.append("a", messages(1, 2))
    log.append("b", messages(3))
    return log


@pytest.mark.parametrize(
    ("offset", "records"),
    [
        ("a.0", [1, 2, 3]),
        ("a.1", [2, 3]),
        ("a.2", [3]),
        ("b.1", []),
        ("b.99", []),
        ("a.x", [1, 2, 3]),
        ("c.1", None),
        ("", None),
        ("a", None),
    ],
)
def test_events_after_a_place(log, offset, records):
    assert records_after(log, offset) == records
    assert log.has(offset) is (records is not None)


@pytest.mark.parametrize("bounds", [{"events": 3}, {"bytes": 3}])
def test_log_has_as_much_as_a_client_may_have_missed(bounds):
    log = EventLog(Bounds(**bounds))

    for number in range(9):
        log.append(f"{number}", messages(number))

    assert records_after(log, "5.1") == [6, 7, 8]
    assert not log.has("4.1")


@pytest.mark.parametrize(
    "value", [{"seconds": 0}, {"events": True}, {"size": 1}, {"bytes": "1"}, 5, "on"]
)
def test_invalid_bounds_are_an_error_at_the_start(app, value):
    app.config["RECORDS_REALTIME"] = {"event_log": value}

    with pytest.raises(RuntimeError, match="'event_log'. must be a mapping of"):
        Settings.of(app)
