"""Streams of events over plain HTTP."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPException

import pytest
import requests
from flask import Flask, request

from flask_records import FlaskRecords, Unavailable
from flask_records.realtime import Realtime
from flask_records.realtime.asgi import senders, stream

from ...authentication import bearer
from ...event_stream import EventStream, listening
from ...realtime import live, loop_of, make_live_records, Plain, running_asgi
from ...redis_server import own_redis
from ...waiting import wait_until

STREAM = {"stream": "sse"}


@pytest.fixture
def public(records):
    records["messages"].publish()(lambda event, record, context: "anonymous")
    return records


def test_stream_has_the_events_of_its_channels(public, tmp_path, way):
    with live(public, tmp_path, STREAM) as site, ExitStack() as stack:
        client = EventStream(site.url, "/sse?channel=news&team[id]=1")
        stack.callback(client.close)
        created = site.http.post("/messages", json={"text": "Hi\n\nthere"})
        events = [client.next(), client.next()]

    query = {"channel": "news", "team": {"id": "1"}}
    assert client.headers["content-type"] == "text/event-stream"
    assert client.headers["cache-control"] == "no-cache"
    assert client.headers["x-accel-buffering"] == "no"
    assert events == [
        {"event": "connected", "data": query, "path": "sse"},
        {"event": "created", "data": created.json, "path": "messages"},
    ]


def test_events_go_to_those_who_may_see_them(records, tmp_path):
    with live(records, tmp_path, STREAM) as site:
        headers = bearer(site.token())

        with listening(site.url) as other, listening(site.url, headers=headers) as ann:
            site.http.post("/messages", json={"text": "secret"})
            event = ann.next()
            [channels] = [each.channels for each in site.connections if each.user]

            with site.app.app_context():
                site.realtime.channel("anonymous").disconnect("Enough.")

            others = other.end()

    assert event["data"]["text"] == "secret"
    assert channels == {"authenticated", "users/1"}
    # A login is all that the other one lacks.
    assert others[0] == [
        {"event": "disconnected", "data": {"message": "Enough."}, "path": "sse"}
    ]


def test_receivers_know_the_request_of_a_stream(records, tmp_path):
    realtime, told = Realtime(records), []

    @realtime.connections("connect", "disconnect")
    def note(event, connection):
        told.append((event, request.args["room"]))

    with live(records, tmp_path, STREAM, realtime=realtime) as site:
        with listening(site.url, "/sse?room=7"):
            assert told == [("connect", "7")]

        wait_until(lambda: len(told) == 2)
        wait_until(lambda: not loop_of(site).clients)

    assert told[1] == ("disconnect", "7")


def test_thousands_of_streams_take_no_threads(records, tmp_path):
    with live(records, tmp_path, STREAM) as site, ExitStack() as stack:
        stack.enter_context(listening(site.url))
        before = threading.active_count()

        for _ in range(15):
            stack.enter_context(listening(site.url))

        # Eight are for calls.
        assert threading.active_count() - before < 8


@pytest.mark.parametrize("value", ["Bearer x", "Bearer x.y.z"])
def test_bad_token_is_refused_before_the_stream(records, tmp_path, value):
    with live(records, tmp_path, STREAM) as site:
        client = EventStream(site.url, headers={"Authorization": value})
        body = client.json()
        client.close()
        wait_until(lambda: not loop_of(site).clients)

    assert (client.status, body["className"]) == (401, "not-authenticated")
    assert client.headers["content-type"] == "application/json"
    assert client.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("verb", ["POST", "HEAD"])
def test_stream_is_read_by_get_alone(records, tmp_path, caplog, verb):
    with live(records, tmp_path, STREAM) as site:
        answer = requests.request(verb, f"{site.url}/sse", timeout=30)

    assert answer.status_code == 405
    assert "is read by GET" in answer.text or verb == "HEAD"
    assert not [each for each in caplog.records if "connections" in each.getMessage()]


def test_page_of_another_origin_is_refused(records, tmp_path, caplog):
    origin = "https://app.test"

    with live(records, tmp_path, {**STREAM, "origins": [origin]}) as site:
        refused = EventStream(site.url, headers={"Origin": "https://evil.test"})
        body = refused.json()
        refused.close()

        with listening(site.url, headers={"Origin": origin}) as accepted:
            pass

    assert (refused.status, body["className"]) == (403, "forbidden")
    assert "Not an accepted origin" in caplog.text
    assert "access-control-allow-origin" not in refused.headers
    assert accepted.headers["access-control-allow-origin"] == origin


def test_stream_too_many_is_refused_until_another_ends(records, tmp_path):
    with live(records, tmp_path, {**STREAM, "max_connections": 1}) as site:
        with listening(site.url):
            refused = EventStream(site.url)
            body = refused.json()
            refused.close()

        wait_until(lambda: not loop_of(site).clients)

        with listening(site.url):
            pass

    assert (refused.status, body["className"]) == (503, "unavailable")
    assert refused.headers["retry-after"] == "10"


def test_streams_of_one_user_are_so_many_at_most(records, tmp_path):
    settings = {**STREAM, "max_connections_per_user": 1}

    with live(records, tmp_path, settings) as site:
        headers = bearer(site.token())

        with listening(site.url, headers=headers), listening(site.url):
            refused = EventStream(site.url, headers=headers)
            body = refused.json()
            refused.close()

        wait_until(lambda: not loop_of(site).clients)

    assert (refused.status, body["className"]) == (429, "too-many-requests")
    assert refused.headers["retry-after"] == "10"


def test_login_that_ends_breaks_the_stream(tmp_path, monkeypatch, way):
    monkeypatch.setattr(stream, "FAREWELL", 0.05)
    records = make_live_records()

    with live(records, tmp_path, STREAM) as site:
        headers = bearer(site.token())

        with listening(site.url, headers=headers) as client:
            site.http.delete("/authentication", headers=headers)
            events, how = client.end()

    assert [(event["path"], event["event"]) for event in events] == [
        ("sse", "loggedOut")
    ]
    assert how == "broken"


def test_application_ends_a_stream_for_good(public, tmp_path, way):
    left = []
    realtime = Realtime(public)
    realtime.connections("disconnect")(lambda event, each: left.append(each.id))

    with live(public, tmp_path, STREAM, realtime=realtime) as site:
        with listening(site.url) as client:
            site.emit("first")
            assert client.next()["event"] == "typing"

            with site.app.app_context():
                realtime.channel("anonymous").disconnect("Enough.")

            events, how = client.end()

        wait_until(lambda: left)

    assert [event["data"] for event in events] == [{"message": "Enough."}]
    assert how == "over"


def test_stream_that_may_have_lost_something_breaks(public, tmp_path):
    with live(public, tmp_path, STREAM) as site:
        with listening(site.url) as client:
            log = site.app.extensions["records_realtime"].log
            log.append([b'{"lost":true}'])
            how = client.end()

    assert how == ([], "broken")


def test_redis_that_goes_away_breaks_streams_once_it_is_back(public, tmp_path):
    with own_redis() as server:
        settings = {**STREAM, "message_queue": server.url}

        with live(public, tmp_path, settings) as site:
            with listening(site.url) as client:
                server.stop()
                site.emit("lost")
                server.start()
                how = client.end()

            # The process that writes and the one that reads both announce the loss.
            def gets_an_event():
                with suppress(HTTPException), listening(site.url) as client:
                    site.emit("Hi")
                    return client.next()["data"]["text"] == "Hi"

            wait_until(gets_an_event)

    assert how == ([], "broken")


def test_rule_that_can_not_be_asked_breaks_the_stream(tmp_path):
    is_away = []

    def readable(user):
        if is_away:
            raise Unavailable("The database is away.")

        return True

    records = make_live_records(readable=readable)

    with live(records, tmp_path, STREAM) as site:
        headers = bearer(site.token())

        with listening(site.url, headers=headers) as client:
            is_away.append(True)
            site.emit("Hi")
            how = client.end()

    assert how == ([], "broken")


def test_client_that_reads_nothing_is_cut_off_alone(public, tmp_path, way):
    settings = {**STREAM, "max_unsent": 100_000}

    with live(public, tmp_path, settings) as site:
        with listening(site.url, buffer=4096) as slow, listening(site.url) as other:

            def fill():
                while len(site.connections) == 2:
                    site.emit("x" * 60_000)
                    # The other client reads.
                    other.next()

            thread = threading.Thread(target=fill)
            thread.start()
            thread.join(60)
            _, how = slow.end()
            site.emit("still here")
            text = other.next()["data"]["text"]

    assert how == "broken"
    assert text == "still here"


def test_client_that_accepts_nothing_for_a_time_is_gone(public, tmp_path, monkeypatch):
    monkeypatch.setattr(senders, "READ_TIMEOUT", 1)

    with live(public, tmp_path, {**STREAM, "max_unsent": 1 << 30}) as site:
        with listening(site.url, buffer=4096):
            site.emit(*["x" * 60_000] * 170)
            wait_until(lambda: not site.connections, 20)


def test_comments_keep_a_quiet_stream_alive(public, tmp_path, monkeypatch, way):
    monkeypatch.setattr(stream, "HEARTBEAT", 0.1)

    with live(public, tmp_path, STREAM) as site, listening(site.url) as client:
        lines = client.lines()

        assert [next(lines) for _ in range(4)] == [":", "", ":", ""]


def test_services_with_a_prefix_have_the_stream_behind_it():
    records = FlaskRecords(url_prefix="/api")
    records.add("messages", Plain(), public=True)
    app = Flask("tests")
    app.config["RECORDS_REALTIME"] = STREAM
    records.init_app(app)

    with running_asgi(app, Realtime(records, app)) as url:
        with listening(url, "/api/sse"):
            pass

        missing = EventStream(url)
        missing.close()

    assert missing.status == 404


def test_login_that_can_not_be_checked_is_refused_for_now(tmp_path):
    records, is_away = make_live_records(), []

    @records["users"].before("get")
    def fail(method, context):
        if is_away:
            raise Unavailable("The database is away.")

    with live(records, tmp_path, STREAM) as site:
        headers = bearer(site.token())
        is_away.append(True)
        client = EventStream(site.url, headers=headers)
        body = client.json()
        client.close()
        is_away.clear()

        with listening(site.url, headers=headers):
            pass

    assert (client.status, body["message"]) == (503, "The database is away.")


def test_flood_of_refused_clients_leaves_no_trace(records, tmp_path):
    headers = {"Authorization": "Bearer x.y.z"}

    with live(records, tmp_path, {**STREAM, "max_connections": 20}) as site:

        def ask(_):
            client = EventStream(site.url, headers=headers)
            client.close()
            return client.status

        with ThreadPoolExecutor(10) as pool:
            statuses = set(pool.map(ask, range(100)))

        wait_until(lambda: not loop_of(site).clients)

        with ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(listening(site.url))

    assert statuses <= {401, 503}
    assert 401 in statuses


def test_stream_that_ends_before_it_begins_is_refused(tmp_path):
    records, may_go_on = make_live_records(), threading.Event()
    may_go_on.set()

    @records["users"].before("get")
    def wait(method, context):
        assert may_go_on.wait(30)

    with live(records, tmp_path, STREAM) as site, ThreadPoolExecutor(1) as pool:
        headers = bearer(site.token())
        may_go_on.clear()
        opened = pool.submit(EventStream, site.url, headers=headers)
        loop = loop_of(site)
        wait_until(lambda: loop.clients)
        [waiting] = loop.clients.values()
        loop.post(waiting.end)
        wait_until(lambda: not loop.clients)
        may_go_on.set()
        client = opened.result()
        body = client.json()
        client.close()
        wait_until(lambda: not site.connections)

    assert (client.status, body["className"]) == (503, "unavailable")
