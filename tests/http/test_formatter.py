import datetime as dt
import json
import uuid
from decimal import Decimal

import pytest
from flask import Flask, Response

from flask_records import FlaskRecords, Page
from flask_records.http.formatter import dumps

from ..models import Color

ZURICH = dt.timezone(dt.timedelta(hours=2))
SECONDS_OFF = dt.timezone(dt.timedelta(hours=-1, seconds=-30))


class Point:
    """A type of the application that shows itself."""

    def __str__(self):
        return "1,2"


class Place(Point):
    pass


class Formless:
    pass


class Moment(dt.datetime):
    """A class of times, such as those that stand still in tests."""


VALUES = [
    (dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05.000Z"),
    (dt.datetime(2024, 1, 2, 3, 4, 5, 120_000), "2024-01-02T03:04:05.120Z"),
    (dt.datetime(2024, 1, 2, 3, 4, 5, 123_456), "2024-01-02T03:04:05.123456Z"),
    (dt.datetime(2024, 1, 2, 1, 4, 5, tzinfo=ZURICH), "2024-01-01T23:04:05.000Z"),
    (dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2024-01-02T03:04:05.000Z"),
    (dt.datetime(2024, 1, 2, 12, tzinfo=SECONDS_OFF), "2024-01-02T13:00:30.000Z"),
    (Moment(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05.000Z"),
    (Moment(2024, 1, 2, 3, 4, 5, 120_000, dt.UTC), "2024-01-02T03:04:05.120Z"),
    (dt.datetime(24, 1, 2), "0024-01-02T00:00:00.000Z"),
    (dt.datetime.max.replace(tzinfo=dt.UTC), "9999-12-31T23:59:59.999999Z"),
    (dt.date(2024, 1, 2), "2024-01-02"),
    (dt.time(3, 4, 5, 60), "03:04:05.000060"),
    (dt.timedelta(minutes=1, milliseconds=500), 60.5),
    (Decimal("1.10"), "1.10"),
    (Decimal("12345678901234567890.123456789"), "12345678901234567890.123456789"),
    (b"\x00\xff", "AP8="),
    (bytearray(b"\x00\xff"), "AP8="),
    (memoryview(b"\x00\xff"), "AP8="),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Color.green, 2),
    ({"one"}, ["one"]),
    (frozenset({1}), [1]),
    ((1, "a"), [1, "a"]),
    (2**53 + 1, 9007199254740993),
    (2**64, 18446744073709551616),
    (-(2**70), -1180591620717411303424),
    (float("nan"), None),
    (float("inf"), None),
    (float("-inf"), None),
    (Point(), "1,2"),
    (Place(), "1,2"),
    (
        Page(9, 2, 4, [{"id": 5}]),
        {"total": 9, "limit": 2, "skip": 4, "data": [{"id": 5}]},
    ),
    ("é\u2028</script>", "é\u2028</script>"),
]


@pytest.mark.parametrize(("value", "form"), VALUES)
def test_value_on_the_wire_beside_a_large_integer(value, form):
    """Large integers take another way through the code."""
    text = dumps({"value": [value], "large": 2**70}).decode()

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    assert json.loads(text, parse_constant=refuse) == {"value": [form], "large": 2**70}


@pytest.mark.parametrize("value", [Formless(), {"a": [Formless()]}, object()])
@pytest.mark.parametrize("rest", [1, 2**70])
def test_object_without_a_form_raises(value, rest):
    with pytest.raises(TypeError, match="Formless|object"):
        dumps([value, rest])


def test_half_of_a_surrogate_pair_is_escaped():
    assert json.loads(dumps({"text": "\ud800"})) == {"text": "\ud800"}


class Things:
    def find(self, params):
        return []


def test_keys_have_the_form_of_values():
    """A text that is translated when it is shown, as by Flask-Babel, is one."""

    class Counts:
        def find(self, params):
            day = dt.date(2024, 1, 2)
            return [
                {Point(): 1, Color.green: 2, day: 3, 4: 5, None: {uuid.UUID(int=1): 6}}
            ]

    records = FlaskRecords()
    records.add("counts", Counts(), public=True)
    app = Flask("tests")
    records.init_app(app)

    [counts] = app.test_client().get("/counts").json
    inner = {"00000000-0000-0000-0000-000000000001": 6}
    assert counts == {"1,2": 1, "2": 2, "2024-01-02": 3, "4": 5, "null": inner}


def test_etag_of_the_formatter_is_kept():
    records = FlaskRecords()
    answer = "[]", 200, {"ETag": '"mine"'}
    records.add("things", Things(), public=True, formatter=lambda context: answer)
    app = Flask("tests")
    records.init_app(app)
    client = app.test_client()

    plain = client.get("/things")
    again = client.get("/things", headers={"If-None-Match": '"mine"'})

    assert (plain.status_code, plain.headers["ETag"]) == (200, '"mine"')
    assert (again.status_code, again.data) == (304, b"")


def test_response_becomes_one_of_the_class_of_the_application():
    class OwnResponse(Response):
        pass

    app = Flask("tests")
    app.response_class = OwnResponse
    seen = []
    app.after_request(lambda response: seen.append(type(response)) or response)
    records = FlaskRecords(app)
    records.add("things", Things(), public=True)

    assert app.test_client().get("/things").json == []
    assert seen == [OwnResponse]
