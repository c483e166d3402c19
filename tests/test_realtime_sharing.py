"""An application with a Flask-SocketIO object of its own."""

from __future__ import annotations

import logging
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partialmethod

import flask.json
import pytest
import socketio
import websocket
from engineio.payload import Payload
from flask import Flask
from flask import request
from flask import session
from flask_socketio import ConnectionRefusedError
from flask_socketio import emit
from flask_socketio import join_room
from flask_socketio import Namespace
from flask_socketio import SocketIO
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records import FlaskRecords
from flask_records.realtime import Realtime

from .authentication import LOGIN
from .authentication import serving
from .listening import running
from .polling import calls
from .polling import Polling
from .realtime import connected
from .realtime import make_live_records
from .realtime import Plain
from .waiting import wait_until

TIMEOUT = 5

ORDERS = ["host first", "host's init_app first", "host's init_app last"]
"""The order in which an application sets up its server and ours."""


@pytest.fixture(autouse=True)
def close_at_once(monkeypatch):
    """Close connections without the answer: the client's other thread may take it."""
    close = partialmethod(websocket.WebSocket.close, timeout=0)
    monkeypatch.setattr(websocket.WebSocket, "close", close)


class Host:
    """A running application with handlers of its own."""

    def __init__(self, http, url, records, own):
        self.app = http.application
        self.http = http
        self.url = url
        self.records = records
        self.socketio = own

    @contextmanager
    def connect(self, namespace="/", **options):
        """A connected client of python-socketio."""
        client = socketio.Client(reconnection=False)
        events = queue.Queue()
        client.on("*", lambda name, *args: events.put((name, *args)), namespace="/")
        client.events = events
        client.connect(self.url, namespaces=[namespace], wait_timeout=5, **options)

        try:
            yield client
        finally:
            client.disconnect()


@contextmanager
def host(
    tmp_path, add_handlers, order="host first", records=None, settings=None, **options
):
    """An application whose handlers are added by a function."""
    config = {"SESSION_COOKIE_NAME": "host", "RECORDS_REALTIME": settings}
    options = {"async_mode": "threading", **options}
    records = records or make_live_records(public=True)
    url = f"sqlite:///{tmp_path / 'host.db'}"

    with serving(records, url=url, **config) as http:
        app = http.application

        if order == "host first":
            own = SocketIO(app, **options)
            add_handlers(own)
            Realtime(records, app, socketio=own)
        else:
            own = SocketIO(**options)
            realtime = Realtime(records, socketio=own)
            steps = [own.init_app, realtime.init_app]

            if order == "host's init_app last":
                steps.reverse()

            for init_app in steps:
                init_app(app)

            add_handlers(own)

        with running(app) as address:
            yield Host(http, address, records, own)


def call(client, method, *message):
    """The arguments of the answer to a call."""
    answers = queue.Queue()
    client.emit(method, message, callback=lambda *answer: answers.put(answer))
    return answers.get(timeout=TIMEOUT)


def log_in(client):
    error, *rest = call(client, "create", "authentication", LOGIN)
    assert error is None, error


def no_handlers(own):
    pass


@pytest.mark.parametrize("transports", [["polling"], ["websocket"], None])
@pytest.mark.parametrize("order", ORDERS)
def test_handlers_of_the_application_and_ours_answer_on_one_connection(
    tmp_path, order, transports
):
    def add_handlers(own):
        @own.on("connect")
        def connect(auth):
            session["seen"] = 1
            join_room("everybody")

        @own.on("my event")
        def my_event(data):
            session["seen"] += 1
            emit("mine", {"data": data, "seen": session["seen"]}, to="everybody")
            return "done"

    with host(tmp_path, add_handlers, order) as site:
        with site.connect(transports=transports) as client:
            log_in(client)
            theirs = client.call("my event", 5, timeout=TIMEOUT)
            ours = call(client, "create", "messages", {"text": "Hi"})
            events = [client.events.get(timeout=TIMEOUT) for _ in range(2)]

    assert theirs == "done"
    assert (ours[0], ours[1]["text"]) == (None, "Hi")
    assert events[0] == ("mine", {"data": 5, "seen": 2})
    assert events[1] == ("messages created", ours[1])


def test_events_of_calls_over_http_reach_the_connections(tmp_path):
    with host(tmp_path, no_handlers) as site, site.connect() as client:
        log_in(client)
        site.http.post("/messages", json={"text": "Hi"})

        assert client.events.get(timeout=TIMEOUT)[0] == "messages created"


@pytest.mark.parametrize("order", ORDERS)
def test_connection_that_the_application_refuses_is_refused(tmp_path, order):
    def add_handlers(own):
        @own.on("connect")
        def connect(auth):
            if auth == {"refuse": "politely"}:
                raise ConnectionRefusedError("Not today")

            return (auth or {}).get("refuse") is None

    with host(tmp_path, add_handlers, order) as site:
        for auth in ({"refuse": "politely"}, {"refuse": "silently"}):
            with pytest.raises(socketio.exceptions.ConnectionError):
                with site.connect(auth=auth):
                    pass

        assert site.app.extensions["records_realtime"].connections == {}

        with site.connect(auth={"name": "Ann"}) as client:
            assert call(client, "find", "messages") == (None, [])


def test_end_of_a_connection_is_told_to_the_application_and_to_us(tmp_path):
    ended = queue.Queue()

    def add_handlers(own):
        @own.on("disconnect")
        def disconnect():
            ended.put(request.sid)

    with host(tmp_path, add_handlers) as site:
        with site.connect() as client:
            sid = client.get_sid()

        assert ended.get(timeout=TIMEOUT) == sid
        wait_until(lambda: not site.app.extensions["records_realtime"].connections)


def test_namespaces_of_the_application_are_its_own(tmp_path):
    class Chat(Namespace):
        def on_find(self, *args):
            return ["chat", *args]

    def add_handlers(own):
        own.on_namespace(Chat("/chat"))

    with host(tmp_path, add_handlers) as site:
        with site.connect("/chat") as client:
            found = client.call("find", "messages", namespace="/chat", timeout=TIMEOUT)

        with site.connect("/") as client:
            ours = call(client, "find", "messages")

    assert found == ["chat", "messages"]
    assert ours == (None, [])


def test_class_of_handlers_for_the_default_namespace_works(tmp_path):
    class Own(Namespace):
        def on_connect(self, auth=None):
            emit("welcome", "Hi")

        def on_find(self, *args):
            return "own"

    with host(tmp_path, lambda own: own.on_namespace(Own("/"))) as site:
        with site.connect() as client:
            welcome = client.events.get(timeout=TIMEOUT)
            own = client.call("find", {"a": 1}, timeout=TIMEOUT)
            ours = call(client, "find", "messages")

    assert (welcome, own, ours) == (("welcome", "Hi"), "own", (None, []))


def test_messages_with_the_name_of_a_method_go_to_the_service_that_they_name(tmp_path):
    def add_handlers(own):
        @own.on("create")
        def create(*args):
            return ["own", *args]

    with host(tmp_path, add_handlers) as site, site.connect() as client:
        own = client.call("create", {"title": "Hi"}, timeout=TIMEOUT)
        ours = call(client, "create", "messages", {"text": "Hi"})
        unknown = call(client, "find", "nothing")

    assert own == ["own", {"title": "Hi"}]
    assert ours[1]["text"] == "Hi"
    assert unknown[0]["code"] == 404


def test_catch_all_of_the_application_gets_the_rest(tmp_path):
    def add_handlers(own):
        own.on("*")(lambda name, *args: [name, *args])

    with host(tmp_path, add_handlers) as site, site.connect() as client:
        other = client.call("other", 1, timeout=TIMEOUT)
        ours = call(client, "find", "messages")

    assert (other, ours) == (["other", 1], (None, []))


def test_error_handler_of_the_application_gets_its_errors(tmp_path):
    def add_handlers(own):
        own.on("fail")(lambda: 1 / 0)
        own.on_error_default(lambda error: type(error).__name__)

    with host(tmp_path, add_handlers) as site, site.connect() as client:
        assert client.call("fail", timeout=TIMEOUT) == "ZeroDivisionError"


def test_rooms_of_the_application_have_connections_with_a_login(tmp_path):
    def add_handlers(own):
        own.on("enter")(lambda: join_room("room"))

    with host(tmp_path, add_handlers) as site, site.connect() as client:
        log_in(client)
        client.call("enter", timeout=TIMEOUT)
        site.socketio.emit("told", 1, to="room")

        assert client.events.get(timeout=TIMEOUT) == ("told", 1)


@pytest.mark.parametrize(
    "options",
    [
        {"manage_session": False},
        {"json": flask.json},
        {"async_handlers": False},
        {"always_connect": True},
        {"namespaces": ["/chat"]},
    ],
)
def test_options_of_the_application_stay(tmp_path, options):
    with host(tmp_path, no_handlers, **options) as site, site.connect() as client:
        assert call(client, "create", "messages", {"text": "Hi"})[1]["text"] == "Hi"


def test_values_that_json_lacks_are_read_as_by_our_server(tmp_path):
    records = make_live_records(public=True)
    records.add("plain", Plain(), public=True)

    with host(tmp_path, no_handlers, records=records) as site:
        with site.connect() as client:
            number = call(client, "create", "plain", {"a": float("nan")})
            binary = call(client, "create", "plain", {"a": b"123"})

    assert number == (None, {"a": None})
    assert (binary[0]["code"], binary[0]["message"]) == (400, "A message must be JSON.")


def codes_of(client, count):
    """The codes of errors of as many calls, sent at once."""
    answers = queue.Queue()

    for _ in range(count):
        client.emit("find", ("messages",), callback=lambda *a: answers.put(a))

    return [(answers.get(timeout=60)[0] or {}).get("code") for _ in range(count)]


def test_calls_that_would_wait_too_long_are_refused(tmp_path, monkeypatch):
    """They would wait in threads of their own."""
    monkeypatch.setattr("flask_records.realtime.connection.MAX_DELAY", 1)

    with host(tmp_path, no_handlers, settings={"calls_per_second": 5}) as site:
        with site.connect() as client:
            codes = codes_of(client, 150)

    assert codes.count(None) >= 105
    assert set(codes) == {None, 429}


@pytest.mark.parametrize("async_handlers", [True, False])
def test_hundreds_of_calls_in_one_body_are_answered(tmp_path, async_handlers):
    with host(tmp_path, no_handlers, async_handlers=async_handlers) as site:
        polling = Polling(site.url)
        polling.connect()

        posted = polling.post(*calls(range(300)))

        assert posted == (200, "OK")
        assert len(polling.answers(300)) == 300


@pytest.mark.parametrize("body", ["x", "3\x1e9", "3\x1e"])
def test_body_with_an_invalid_packet_ends_the_session(tmp_path, body):
    with host(tmp_path, no_handlers) as site:
        polling = Polling(site.url)
        polling.connect()

        assert polling.request("POST", body)[0] == 400
        assert polling.request("GET")[0] == 400


def test_session_that_ends_while_its_client_connects_leaves_nothing(tmp_path):
    is_begun, may_go_on = threading.Event(), threading.Event()

    def wait(event, connection):
        is_begun.set()
        assert may_go_on.wait(30)

    with host(tmp_path, no_handlers) as site, ThreadPoolExecutor(1) as pool:
        server = site.app.extensions["records_realtime"]
        server.logins._signal("connect")(wait)
        polling = Polling(site.url)
        connecting = pool.submit(polling.post, "40")
        assert is_begun.wait(30)
        polling.post("1")
        may_go_on.set()
        connecting.result()

        assert list(server.connections) == []
        assert "/" not in site.socketio.server.manager.rooms


def test_other_servers_of_the_process_stay_as_they_are(tmp_path):
    with host(tmp_path, no_handlers):
        assert Payload.max_decode_packets == 16


def test_bad_token_in_the_handshake_may_be_for_the_application(tmp_path):
    with host(tmp_path, no_handlers) as site:
        with site.connect(headers={"Authorization": "Bearer its-own"}) as client:
            assert call(client, "find", "messages") == (None, [])


def test_raw_protocol_of_the_javascript_client_works(tmp_path):
    with host(tmp_path, no_handlers) as site, connected(site.url) as client:
        assert client.result("create", "messages", {"text": "Hi"})["text"] == "Hi"


@pytest.mark.parametrize(
    ("name", "value", "cure"),
    [
        ("origins", "*", "cors_allowed_origins"),
        ("max_payload", 5, "max_http_buffer_size"),
        ("transports", ["polling"], "transports"),
        ("async_mode", "gevent", "async_mode"),
        ("path", "records.io", "path"),
        ("max_connections", 5, "Remove it."),
        ("legacy_clients", True, "Remove it."),
    ],
)
def test_settings_of_a_server_of_our_own_are_refused(name, value, cure):
    app, records = Flask("tests"), FlaskRecords()
    app.config["RECORDS_REALTIME"] = {name: value}
    records.init_app(app)
    own = SocketIO(app, async_mode="threading")

    with pytest.raises(RuntimeError, match=rf"\['{name}'\] has no effect .*{cure}"):
        Realtime(records, app, socketio=own)


def test_server_that_is_never_set_up_is_in_the_log(caplog):
    app, records = Flask("tests"), FlaskRecords()
    records.init_app(app)
    Realtime(records, app, socketio=SocketIO())

    with caplog.at_level(logging.WARNING):
        app.test_client().get("/")
        app.test_client().get("/")

    assert [record.getMessage()[:22] for record in caplog.records] == [
        "Clients cannot connect"
    ]


def with_socketio(app):
    SocketIO(app, async_mode="threading")


def with_socketio_behind_proxy(app):
    with_socketio(app)
    app.wsgi_app = ProxyFix(app.wsgi_app)


def with_python_socketio(app):
    server = socketio.Server(async_mode="threading")
    app.wsgi_app = socketio.WSGIApp(server, app.wsgi_app)


SERVERS = [with_socketio, with_socketio_behind_proxy, with_python_socketio]


def late(records, app, add_server):
    Realtime(records, app)
    add_server(app)


def early(records, app, add_server):
    add_server(app)
    Realtime(records, app)


@pytest.mark.parametrize("add_server", SERVERS)
@pytest.mark.parametrize("when", [early, late])
def test_two_servers_at_one_path_are_refused(when, add_server):
    app, records = Flask("tests"), FlaskRecords()
    app.testing = True
    records.init_app(app)

    with pytest.raises(RuntimeError) as caught:
        when(records, app, add_server)
        app.test_client().get("/")

    assert str(caught.value) == (
        "This app has another Socket.IO server at /socket.io. Share it, with"
        " Realtime(records, socketio=...), or give ours another path:"
        " RECORDS_REALTIME['path'] = 'records.io'."
    )


@pytest.mark.parametrize("when", [early, late])
def test_two_servers_at_two_paths_work(tmp_path, when):
    def add_server(app):
        own = SocketIO(app, async_mode="threading")
        own.on("my event")(lambda data: emit("mine", data))

    records = make_live_records(public=True)
    settings = {"path": "/records.io", "origins": "*"}

    with serving(records, RECORDS_REALTIME=settings) as http:
        when(records, http.application, add_server)

        with running(http.application) as url:
            site = Host(http, url, records, None)

            with (
                site.connect() as theirs,
                site.connect(socketio_path="records.io") as ours,
            ):
                theirs.emit("my event", 5)
                mine = theirs.events.get(timeout=TIMEOUT)
                found = call(ours, "find", "messages")

    assert (mine, found) == (("mine", 5), (None, []))


@pytest.mark.parametrize("transport", ["polling", "websocket"])
def test_connections_of_the_application_can_be_ended(tmp_path, transport):
    with host(tmp_path, no_handlers) as site, site.connect(transports=[transport]) as c:
        log_in(c)
        server = site.app.extensions["records_realtime"]

        with site.app.app_context():
            server.disconnections.send("user", "users/1", "Bye.")

        assert c.events.get(timeout=TIMEOUT) == ("disconnected", {"message": "Bye."})
        wait_until(lambda: not c.connected and not server.connections)


@pytest.mark.parametrize("path", ["", "/", 5, None])
def test_path_must_be_a_path(path):
    app, records = Flask("tests"), FlaskRecords()
    app.config["RECORDS_REALTIME"] = {"path": path}
    records.init_app(app)

    with pytest.raises(RuntimeError, match=r"\['path'\] must be a path"):
        Realtime(records, app)
