"""What is done only where somebody asks for it, or only once."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from flask import Flask

from flask_records import FlaskRecords
from flask_records.http.formatter import dumps
from flask_records.signals import OrderedSignal

ZURICH = dt.timezone(dt.timedelta(hours=2))
SECONDS_OFF = dt.timezone(dt.timedelta(hours=-1, seconds=-30))
NOON = dt.datetime(2024, 1, 2, 12)


@pytest.fixture
def signal():
    return OrderedSignal("Runs before.", ("find", "create"))


def first(sender):
    pass


def second(sender):
    pass


def third(sender):
    pass


# The order of receivers.


def test_the_order_is_found_out_once(signal):
    signal.connect(first, "find")
    signal.connect(second)

    order = signal.ordered("find")

    assert order == (second, first)
    assert signal.ordered("find") is order


def test_each_name_has_its_own_order(signal):
    signal.connect(first, "find")
    signal.connect(second, "create")

    orders = [signal.ordered(name) for name in ("find", "create", "find")]

    assert orders == [(first,), (second,), (first,)]


CHANGES = [
    (lambda signal: signal.connect(third, "find"), (first, second, third)),
    (lambda signal: signal.connect(third), (third, first, second)),
    (lambda signal: signal("find")(third), (first, second, third)),
    (lambda signal: signal()(third), (third, first, second)),
    (lambda signal: signal.connect(third, "create"), (first, second)),
    (lambda signal: signal.connect(first, "find"), (first, second)),
    (lambda signal: signal.disconnect(first), (second,)),
    (lambda signal: signal.disconnect(first, "find"), (second,)),
    (lambda signal: signal.disconnect(first, "create"), (first, second)),
    (lambda signal: signal.disconnect(third), (first, second)),
]


@pytest.mark.parametrize(("change", "order"), CHANGES)
def test_the_order_is_forgotten_when_a_receiver_comes_or_goes(signal, change, order):
    signal.connect(first, "find")
    signal.connect(second, "find")
    assert signal.ordered("find") == (first, second)

    change(signal)

    assert signal.ordered("find") == order


def test_a_signal_without_receivers_has_no_order(signal):
    before = signal.ordered("find")
    signal.connect(first)
    between = signal.ordered("find")
    signal.disconnect(first)

    assert (before, between, signal.ordered("find")) == ((), (first,), ())


def test_a_muted_signal_has_its_order_again_afterwards(signal):
    signal.connect(first, "find")
    order = signal.ordered("find")

    with signal.muted():
        muted = signal.ordered("find")
        signal.connect(second, "find")

    assert (order, muted) == ((first,), ())
    assert signal.ordered("find") == (first, second)


def test_a_receiver_of_a_block_is_in_the_order_of_the_block_only(signal):
    signal.connect(first, "find")
    before = signal.ordered("find")

    with signal.connected_to(second, "find"):
        inside = signal.ordered("find")

    assert (before, inside) == ((first,), (first, second))
    assert signal.ordered("find") == (first,)


def test_what_connects_meanwhile_is_in_the_next_order(signal):
    """The order is found out by one thread while another one connects."""
    start, wrong = threading.Barrier(2), []
    done = threading.Event()

    def look():
        start.wait(10)

        while not done.is_set():
            signal.ordered("find")

    thread = threading.Thread(target=look)
    thread.start()
    start.wait(10)

    for _ in range(500):
        receiver = signal("find")(lambda sender: None)

        if receiver not in signal.ordered("find"):
            wrong.append("missing")

        signal.disconnect(receiver)

        if receiver in signal.ordered("find"):
            wrong.append("still there")

    done.set()
    thread.join(30)

    assert wrong == []


def test_a_hook_that_is_added_after_a_call_runs_from_the_next_one_on():
    records, calls = FlaskRecords(), []
    service = records.add("notes", Notes())

    service.find()
    service.before("find")(lambda *args: calls.append("service"))
    records.before()(lambda *args: calls.append("all"))
    service.find()
    service.before("find")(lambda *args: calls.append("late"))
    service.find()

    assert calls == ["all", "service", "all", "service", "late"]


# What a client knows already.


class Notes:
    def find(self, params):
        return [{"id": 1}]

    def get(self, id, params):
        return {"id": 1} if id == "1" else None

    def create(self, data, params):
        return data


@pytest.fixture
def client():
    app, records = Flask("tests"), FlaskRecords(logger=False)
    records.add("notes", Notes(), public=True)
    records.init_app(app)
    return app.test_client()


LATER = "Thu, 01 Jan 2099 00:00:00 GMT"
CONDITIONS = [
    ({}, 200),
    ({"If-None-Match": "same"}, 304),
    ({"If-None-Match": '"other", same'}, 304),
    ({"If-None-Match": "strong"}, 304),
    ({"If-None-Match": "*"}, 304),
    ({"If-None-Match": '"other"'}, 200),
    ({"If-None-Match": ""}, 200),
    ({"If-Match": "same"}, 412),
    ({"If-Match": '"other"'}, 412),
    ({"If-Modified-Since": LATER}, 200),
    ({"If-Unmodified-Since": LATER}, 200),
    ({"If-None-Match": "same", "If-Modified-Since": LATER}, 304),
    ({"Range": "bytes=0-1"}, 200),
    ({"Range": "bytes=0-1", "If-Range": "same"}, 200),
    ({"X-If-None-Match": "same"}, 200),
]
"""Headers, where "same" stands for the ETag, and the status."""


@pytest.mark.parametrize("verb", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/notes", "/notes/1"])
@pytest.mark.parametrize(("headers", "status"), CONDITIONS)
def test_an_answer_depends_on_what_the_client_knows(
    client, verb, path, headers, status
):
    plain = client.open(path, method=verb)
    etag = plain.headers["ETag"]
    values = {
        name: value.replace("same", etag).replace("strong", etag.removeprefix("W/"))
        for name, value in headers.items()
    }

    response = client.open(path, method=verb, headers=values)

    assert response.status_code == status
    assert response.headers["ETag"] == etag
    assert response.data == (b"" if status == 304 else plain.data)


def test_an_answer_without_a_condition_is_whole(client):
    response = client.get("/notes")

    assert response.data == b'[{"id":1}]'
    assert response.headers["Content-Length"] == "10"
    assert response.headers["ETag"].startswith('W/"')


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [("POST", "/notes", 201), ("GET", "/notes/2", 204), ("GET", "/notes?", 200)],
)
def test_what_has_no_etag_has_no_condition(client, verb, path, status, header):
    response = client.open(path, method=verb, json={}, headers={header: '"other"'})

    is_refused = header == "If-Match" and status == 200
    assert response.status_code == (412 if is_refused else status)
    assert ("ETag" in response.headers) == (status == 200)


# Times.


@pytest.mark.parametrize(
    ("microsecond", "fraction"),
    [
        (0, "000"),
        (1, "000001"),
        (100, "000100"),
        (999, "000999"),
        (1000, "001"),
        (1001, "001001"),
        (10_000, "010"),
        (100_000, "100"),
        (123_000, "123"),
        (123_400, "123400"),
        (123_456, "123456"),
        (999_000, "999"),
        (999_999, "999999"),
    ],
)
@pytest.mark.parametrize(
    ("tzinfo", "hour"), [(None, "12"), (dt.UTC, "12"), (ZURICH, "10")]
)
def test_a_time_has_milliseconds_or_microseconds(microsecond, fraction, tzinfo, hour):
    moment = NOON.replace(microsecond=microsecond, tzinfo=tzinfo)

    assert dumps(moment) == f'"2024-01-02T{hour}:00:00.{fraction}Z"'.encode()


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOON.replace(tzinfo=SECONDS_OFF), "2024-01-02T13:00:30.000Z"),
        (NOON.replace(hour=1, tzinfo=ZURICH), "2024-01-01T23:00:00.000Z"),
        (NOON.replace(fold=1), "2024-01-02T12:00:00.000Z"),
        (dt.datetime.min, "0001-01-01T00:00:00.000Z"),
        (dt.datetime.max, "9999-12-31T23:59:59.999999Z"),
        (dt.datetime.max.replace(tzinfo=dt.UTC), "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_is_in_utc(moment, text):
    assert dumps({"at": moment}) == f'{{"at":"{text}"}}'.encode()


def test_a_time_beside_a_number_that_is_too_big_has_the_same_form():
    assert dumps([2**64, NOON]) == b'[18446744073709551616, "2024-01-02T12:00:00.000Z"]'


class Moment(dt.datetime):
    """A type of the application."""


def test_a_time_of_another_class_has_the_same_form():
    moment = Moment(2024, 1, 2, 12, microsecond=5000, tzinfo=ZURICH)

    assert dumps(moment) == b'"2024-01-02T10:00:00.005Z"'
