"""Requests of a Flask application that an ASGI server serves."""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import closing, contextmanager
from wsgiref.validate import validator

import pytest
from flask import Flask, request

from flask_records import FlaskRecords
from flask_records.realtime import Realtime
from flask_records.realtime.asgi import event_loop

from ...realtime import live, make_live_records, running_asgi
from ...waiting import wait_until

TEXT = [("Content-Type", "text/plain")]


@contextmanager
def serving_app(app):
    """The host of an ASGI server, and a connection to it."""
    records = FlaskRecords()
    records.init_app(app)

    with running_asgi(app, Realtime(records, app)) as url:
        with connection_to(url) as connection:
            yield connection


@contextmanager
def serving(wsgi):
    """A connection to a server of a WSGI application."""
    app = Flask("tests")
    app.wsgi_app = wsgi

    with serving_app(app) as connection:
        yield connection


def fetch(connection, method="GET", path="/", body=None, headers=None, **options):
    connection.request(method, path, body, headers or {}, **options)
    response = connection.getresponse()
    return response, response.read()


def raw(connection, text):
    """A socket with a request of any text."""
    opened = socket.create_connection((connection.host, connection.port), timeout=30)
    opened.sendall(text.encode("latin-1"))
    return opened


class Slow:
    """A service whose answers wait."""

    def __init__(self, is_waiting, may_go_on):
        self._is_waiting = is_waiting
        self._may_go_on = may_go_on

    def find(self, params):
        self._is_waiting.set()
        assert self._may_go_on.wait(60)
        return []


def connection_to(url):
    """A connection that is closed after the block."""
    host = url.removeprefix("http://")
    return closing(http.client.HTTPConnection(host, timeout=30))


def test_application_sees_what_wsgi_promises():
    app = Flask("tests")
    app.wsgi_app = validator(app.wsgi_app)

    @app.post("/<path:path>")
    def echo(path):
        lines = list(request.environ["wsgi.input"])
        return {"path": path, "a": request.args["a"], "lines": len(lines)}

    with serving_app(app) as connection:
        response, body = fetch(connection, "POST", "/b%20c?a=1", b"x\ny\nz")
        # More than is read before the application runs.
        large = fetch(connection, "POST", "/d?a=2", b"x\n" * 100_000)[1]
        head, nothing = fetch(connection, "HEAD", "/d")

    assert body == b'{"a":"1","lines":3,"path":"b c"}\n'
    assert large == b'{"a":"2","lines":100000,"path":"d"}\n'
    assert (response.status, head.status, nothing) == (200, 405, b"")


def test_line_break_in_a_header_is_an_error(caplog):
    def app(environ, start_response):
        start_response("200 OK", [("X-A", "1\r\nX-B: 2")])
        return [b"A"]

    with serving(app) as connection:
        response = fetch(connection)[0]

    assert (response.status, "X-B" in response.headers) == (500, False)


def test_parts_of_a_response_are_not_delayed():
    may_go_on = threading.Event()

    def app(environ, start_response):
        write = start_response("200 OK", TEXT)
        write(b"A")
        yield b""
        assert may_go_on.wait(30)
        yield b"B"

    with serving(app) as connection:
        connection.request("GET", "/")
        response = connection.getresponse()
        first = response.read1(1)
        may_go_on.set()
        rest = response.read()

    assert (first, rest) == (b"A", b"B")


@pytest.mark.parametrize("length", [None, 500_000])
def test_long_responses_arrive_whole(length):
    headers = TEXT if length is None else [*TEXT, ("Content-Length", str(length))]

    def app(environ, start_response):
        start_response("200 OK", headers)
        return (b"%05d" % number * 100 for number in range(1000))

    with serving(app) as connection:
        body = fetch(connection)[1]
        again = fetch(connection)[1]

    assert body == again == b"".join(b"%05d" % number * 100 for number in range(1000))


@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", "200 OK"), ("GET", "204 No"), ("GET", "304 No")]
)
def test_response_without_a_body(method, status):
    def app(environ, start_response):
        start_response(status, TEXT)
        return [b"A"]

    with serving(app) as connection:
        responses = [fetch(connection, method) for _ in range(2)]

    assert [(response.status, body) for response, body in responses] == [
        (int(status[:3]), b"")
    ] * 2


@pytest.mark.parametrize(
    "app",
    [
        lambda environ, start_response: 1 / 0,
        lambda environ, start_response: [b"A"],
        lambda environ, start_response: [start_response("200 OK", TEXT), "A"][1:],
        lambda environ, start_response: [start_response("200 OK", TEXT), exit()],
    ],
)
def test_error_before_the_response_is_500(app, caplog):
    with serving(app) as connection:
        status = fetch(connection)[0].status
        # The server goes on.
        again = fetch(connection)[0].status

    assert (status, again) == (500, 500)


def test_error_after_the_start_cuts_the_response_off(caplog):
    closed = threading.Event()

    class Parts:
        def __iter__(self):
            yield b"A"
            raise ValueError

        def close(self):
            closed.set()

    def app(environ, start_response):
        start_response("200 OK", TEXT)
        return Parts()

    with serving(app) as connection:
        with pytest.raises(http.client.HTTPException):
            fetch(connection)

        assert closed.wait(30)


def test_stream_is_closed_when_the_client_leaves():
    closed, names = threading.Event(), []

    class Parts:
        def __iter__(self):
            names.append(threading.current_thread().name)

            while True:
                yield b"x" * 1000

        def close(self):
            names.append(threading.current_thread().name)
            closed.set()

    def app(environ, start_response):
        start_response("200 OK", TEXT)
        return Parts()

    with serving(app) as connection:
        with raw(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") as client:
            assert client.recv(100)

        assert closed.wait(30)

    assert names[0] == names[1]


def test_slow_client_bounds_what_is_made():
    made = []
    closed = threading.Event()

    class Parts:
        def __iter__(self):
            for _ in range(100):
                made.append(1)
                yield b"x" * 1_000_000

        def close(self):
            closed.set()

    def app(environ, start_response):
        start_response("200 OK", TEXT)
        return Parts() if environ["PATH_INFO"] == "/" else [b"A"]

    with serving(app) as connection:
        with raw(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") as client:
            assert client.recv(100)

            for _ in range(20):
                fetch(connection, path="/other")

            count = len(made)

        assert closed.wait(30)

    assert count < 50


def test_body_without_a_length():
    def app(environ, start_response):
        start_response("200 OK", TEXT)
        return [str(len(environ["wsgi.input"].read())).encode()]

    with serving(app) as connection:
        small = fetch(connection, "POST", "/", iter([b"A", b"B"]), encode_chunked=True)
        parts = iter([b"x" * 100_000] * 30)
        large = fetch(connection, "POST", "/", parts, encode_chunked=True)

    assert (small[1], large[1]) == (b"2", b"3000000")


def test_body_is_asked_for_when_it_is_read():
    """The application may refuse it before."""

    def app(environ, start_response):
        if environ["PATH_INFO"] == "/":
            environ["wsgi.input"].read()

        start_response("200 OK", TEXT)
        return [b"A"]

    def first_line(path):
        lines = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
        text = f"{lines}Expect: 100-continue\r\n\r\n"

        with serving(app) as connection, raw(connection, text) as client:
            line = client.recv(1000).partition(b"\r\n")[0]
            client.sendall(b"hello")

        return line

    assert first_line("/") == b"HTTP/1.1 100 Continue"
    assert first_line("/refused") == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("size", [10, 200_000])
def test_body_that_is_cut_off_is_an_error(size):
    errors = []

    def app(environ, start_response):
        try:
            environ["wsgi.input"].read()
        except Exception as error:
            errors.append(error)

        start_response("400 Bad", TEXT)
        return []

    with serving(app) as connection:
        lines = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size + 1}\r\n\r\n"

        with raw(connection, lines + "x" * size):
            pass

        wait_until(lambda: errors, 30)

    assert [type(error) for error in errors] == [ConnectionError]


def test_slow_body_takes_no_thread():
    app = Flask("tests")
    app.add_url_rule("/", view_func=lambda: "A")

    with serving_app(app) as connection:
        text = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx"
        # There are 8 threads.
        slow = [raw(connection, text) for _ in range(20)]
        body = fetch(connection)[1]

        for each in slow:
            each.close()

    assert body == b"A"


def test_requests_go_on_beside_slow_calls(tmp_path):
    is_waiting, may_go_on = threading.Event(), threading.Event()
    records = make_live_records(public=True)
    records.add("slow", Slow(is_waiting, may_go_on), public=True)

    with live(records, tmp_path) as site, connection_to(site.url) as connection:
        # There are 8 threads.
        clients = [site.connect() for _ in range(10)]

        for client in clients:
            client.send('421["find","slow"]')

        assert is_waiting.wait(30)
        status = fetch(connection, path="/messages")[0].status
        may_go_on.set()
        answers = [client.result("find", "messages") for client in clients]

    assert (status, answers) == (200, [[]] * 10)


def test_requests_that_find_no_room_are_refused(monkeypatch):
    monkeypatch.setattr(event_loop, "MAX_WAITING", 2)
    may_go_on = threading.Event()

    def app(environ, start_response):
        assert may_go_on.wait(60)
        start_response("200 OK", TEXT)
        return [b"A"]

    flask = Flask("tests")
    flask.wsgi_app = app

    with serving_app(flask) as connection:
        text = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        # 6 of 8 threads are for requests.
        opened = [raw(connection, text) for _ in range(8)]
        share = flask.extensions["records_realtime"].transport.requests
        wait_until(lambda: len(share._waiting) == 2, 30)
        response, body = fetch(connection)
        may_go_on.set()
        lines = [each.recv(15) for each in opened]

        for each in opened:
            each.close()

    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert body == b'"Too many requests are waiting. Try again."'
    assert lines == [b"HTTP/1.1 200 OK"] * 8
