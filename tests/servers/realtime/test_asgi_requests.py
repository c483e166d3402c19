"""Requests of a Flask application that an ASGI server serves."""

import http.client
import socket
import threading
from contextlib import closing, contextmanager
from functools import partial
from wsgiref.validate import validator

import pytest
from flask import Flask, request

from flask_records import FlaskRecords, MultipartParser
from flask_records.realtime import Realtime
from flask_records.realtime.asgi import requests, wsgi_requests

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
    "app",
    [
        lambda environ, start_response: 1 / 0,
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


@pytest.mark.parametrize("size", [10, 200_000])
def test_body_that_is_cut_off_is_not_seen_by_the_application(size):
    seen = []

    def app(environ, start_response):
        seen.append(environ["PATH_INFO"])
        start_response("200 OK", TEXT)
        return []

    with serving(app) as connection:
        lines = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size + 1}\r\n\r\n"

        with raw(connection, lines + "x" * size):
            pass

        fetch(connection, path="/next")

    assert seen == ["/next"]


def echoing_app(limit):
    """An application whose bodies have a limit."""
    app = Flask("tests")
    app.config["MAX_CONTENT_LENGTH"] = limit

    @app.post("/")
    def count():
        return str(len(request.get_data()))

    return app


@pytest.mark.parametrize("expects", ["", "Expect: 100-continue\r\n"])
def test_body_that_announces_too_much_is_not_received(expects):
    text = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n{expects}\r\n"

    with serving_app(echoing_app(1000)) as connection:
        with raw(connection, text) as client:
            line = client.recv(1000).partition(b"\r\n")[0]

    assert line.startswith(b"HTTP/1.1 413 ")


def test_body_without_a_length_is_received_up_to_the_limit():
    def parts(count):
        return iter([b"x" * 1000] * count)

    with serving_app(echoing_app(100_000)) as connection:
        answers = [
            fetch(connection, "POST", "/", parts(count), encode_chunked=True)
            for count in (100, 101)
        ]

    assert [response.status for response, _ in answers] == [200, 413]
    assert answers[0][1] == b"100000"


def test_form_may_be_larger_than_other_bodies():
    records = FlaskRecords()
    app = echoing_app(1000)

    class Forms:
        def create(self, data, params):
            return {"size": len(data["text"])}

    parsers = {"multipart/form-data": MultipartParser(100_000)}
    records.add("forms", Forms(), public=True, body_parsers=parsers)
    records.init_app(app)
    text = '--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x"}

    with running_asgi(app, Realtime(records, app)) as url:
        with connection_to(url) as connection:
            form = f"{text}{'x' * 90_000}\r\n--x--\r\n".encode()
            created = fetch(connection, "POST", "/forms", form, headers)
            refused = fetch(connection, "POST", "/", form)[0].status

    assert created[1] == b'{"size":90000}'
    assert refused == 413


def test_body_that_does_not_arrive_in_time_is_refused(monkeypatch):
    monkeypatch.setattr(requests, "BODY_TIMEOUT", 0.05)
    text = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx"

    with serving_app(echoing_app(1000)) as connection:
        with raw(connection, text) as client:
            line = client.recv(1000).partition(b"\r\n")[0]

    assert line.startswith(b"HTTP/1.1 408 ")


def test_burst_buys_no_time(monkeypatch):
    monkeypatch.setattr(requests, "BODY_TIMEOUT", 0.2)
    text = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n"

    with serving_app(echoing_app(None)) as connection:
        with raw(connection, text + "x" * 9_900_000) as client:
            line = client.recv(1000).partition(b"\r\n")[0]

    assert line.startswith(b"HTTP/1.1 408 ")


def test_large_body_of_a_caller_without_a_login_is_not_received(tmp_path):
    class Forms:
        def create(self, data, params):
            return {"size": len(data["file"].read())}

    records = make_live_records()
    parsers = {"multipart/form-data": MultipartParser(4_000_000)}
    records.add("forms", Forms(), body_parsers=parsers)
    start = '--x\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    form = f"{start}{'x' * 3_000_000}\r\n--x--\r\n".encode()
    head = "Host: x\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    announced = f"POST /forms HTTP/1.1\r\n{head}Content-Length: 3000000\r\n\r\n"
    chunk = f"{head}Transfer-Encoding: chunked\r\n\r\n{2_000_000:x}\r\n"
    chunked = f"POST /forms HTTP/1.1\r\n{chunk}{'x' * 2_000_000}"

    with live(records, tmp_path) as site, connection_to(site.url) as connection:
        lines = []

        for text in (announced, chunked):
            with raw(connection, text) as client:
                lines.append(client.recv(1000).partition(b"\r\n")[0])

        headers = {
            "Content-Type": "multipart/form-data; boundary=x",
            "Authorization": f"Bearer {site.token()}",
        }
        created = fetch(connection, "POST", "/forms", form, headers)[1]

    assert [line[:13] for line in lines] == [b"HTTP/1.1 401 "] * 2
    assert created == b'{"size":3000000}'


def test_uploads_of_a_worker_have_a_bound_together():
    app = echoing_app(None)
    app.config["RECORDS_BOUNDS"] = {"uploads": 4_000_000}
    text = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n"

    with serving_app(app) as connection:
        upload = partial(fetch, connection, "POST", "/")
        worker = app.extensions["records_realtime"].worker
        held = raw(connection, text + "x" * 3_000_000)
        wait_until(lambda: worker.uploaded == 3_000_000)
        refused = upload(b"x" * 2_000_000)
        small = upload(b"x" * 1_000_000)[1]
        held.close()
        wait_until(lambda: worker.uploaded == 0)
        taken = upload(b"x" * 2_000_000)[1]

    assert (refused[0].status, refused[0].headers["Retry-After"]) == (503, "5")
    assert b"Too many uploads are in progress. Try again." in refused[1]
    assert (small, taken) == (b"1000000", b"2000000")


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_uploads_that_stall_take_no_threads(size):
    app = echoing_app(1_000_000)

    with serving_app(app) as connection:
        text = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n"
        # There are 8 threads.
        stalled = [raw(connection, text + "x" * (size - 1)) for _ in range(30)]
        body = fetch(connection, "POST", "/", b"whole")[1]

        for each in stalled:
            each.close()

    assert body == b"5"


def test_readers_that_read_nothing_give_their_threads_back(monkeypatch):
    monkeypatch.setattr(wsgi_requests, "SEND_TIMEOUT", 0.2)
    closed = []

    class Parts:
        def __iter__(self):
            while True:
                yield b"x" * 1_000_000

        def close(self):
            closed.append(1)

    def app(environ, start_response):
        start_response("200 OK", TEXT)
        return Parts() if environ["PATH_INFO"] == "/" else [b"A"]

    with serving(app) as connection:
        # There are 8 threads.
        frozen = [
            raw(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(20)
        ]
        wait_until(lambda: len(closed) == 20, 60)
        body = fetch(connection, path="/other")[1]

        for each in frozen:
            each.close()

    assert body == b"A"


def test_requests_that_find_no_room_are_refused(monkeypatch):
    monkeypatch.setattr(wsgi_requests, "MAX_WAITING", 2)
    may_go_on = threading.Event()

    def app(environ, start_response):
        assert may_go_on.wait(60)
        start_response("200 OK", TEXT)
        return [b"A"]

    flask = Flask("tests")
    flask.wsgi_app = app

    with serving_app(flask) as connection:
        text = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        # There are 8 threads.
        opened = [raw(connection, text) for _ in range(10)]
        worker = flask.extensions["records_realtime"].worker
        wait_until(lambda: worker.running == 10, 30)
        response, body = fetch(connection)
        may_go_on.set()
        lines = [each.recv(15) for each in opened]

        for each in opened:
            each.close()

    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert b"Too many requests are waiting. Try again." in body
    assert lines == [b"HTTP/1.1 200 OK"] * 10
