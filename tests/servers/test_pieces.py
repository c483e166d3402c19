"""Results that come piece by piece, over real connections."""

import itertools
import threading
from contextlib import ExitStack

import pytest
from flask import Flask

from flask_records import FlaskRecords
from flask_records.realtime import Realtime

from ..event_stream import EventStream
from ..listening import running
from ..realtime import running_asgi
from ..waiting import wait_until


class Numbers:
    """Yields numbers until something happens."""

    def __init__(self):
        self.is_closed = threading.Event()
        self.may_go_on = threading.Event()

    def find(self, params):
        try:
            yield {"n": 1}
            assert self.may_go_on.wait(30)
            yield {"n": 2}

            if "fail" in params.query:
                raise ValueError("secret")

            yield from ({"n": n, "text": "x" * 1000} for n in itertools.count(3))
        finally:
            self.is_closed.set()

    def get(self, id, params):
        return {"id": id}


@pytest.fixture
def numbers():
    numbers = Numbers()
    yield numbers
    numbers.may_go_on.set()


@pytest.fixture(params=["asgi", "wsgi"])
def url(request, numbers):
    app, serve = serving(numbers), request.param

    if serve == "wsgi":
        with running(app) as url:
            yield url
    else:
        with running_asgi(app, app.extensions["tests_realtime"]) as url:
            yield url


def serving(numbers):
    records = FlaskRecords()
    records.add("numbers", numbers, public=True)
    app = Flask("tests")
    records.init_app(app)
    app.extensions["tests_realtime"] = Realtime(records, app)
    return app


@pytest.fixture
def stream():
    streams = []

    def open_stream(*args, **options):
        streams.append(EventStream(*args, **options))
        return streams[-1]

    yield open_stream

    for each in streams:
        each.close()


def test_first_piece_does_not_wait_for_the_second(url, numbers, stream):
    client = stream(url, "/numbers")
    first = client.next()
    numbers.may_go_on.set()

    assert (first, client.next()) == ({"n": 1}, {"n": 2})


def test_error_after_the_first_piece_breaks_the_connection(
    url, numbers, stream, caplog
):
    numbers.may_go_on.set()
    client = stream(url, "/numbers?fail=1")

    assert client.end() == ([{"n": 1}, {"n": 2}], "broken")
    assert "The result of 'numbers.find' has broken off." in caplog.text


def test_client_that_leaves_ends_the_generator(url, numbers, stream):
    client = stream(url, "/numbers")
    client.next()
    client.close()
    numbers.may_go_on.set()

    assert numbers.is_closed.wait(30)


def status_of(url):
    client = EventStream(url, "/numbers")
    client.close()
    return client.status


def test_half_of_the_threads_answer_others(numbers):
    app = serving(numbers)

    with (
        running_asgi(app, app.extensions["tests_realtime"]) as url,
        ExitStack() as stack,
    ):
        for _ in range(4):
            client = EventStream(url, "/numbers")
            stack.callback(client.close)
            client.next()

        refused, other = EventStream(url, "/numbers"), EventStream(url, "/numbers/1")
        bodies = refused.json(), other.json()
        refused.close()
        other.close()
        numbers.may_go_on.set()
        stack.close()
        wait_until(lambda: status_of(url) == 200, 30)

    assert (refused.status, bodies[0]["className"]) == (503, "unavailable")
    assert bodies[1] == {"id": "1"}
