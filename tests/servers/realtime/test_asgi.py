"""Connections of an ASGI server, which take no threads."""

import http.client
import json
import threading
import time

import pytest
import requests
import websocket
from flask import request
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records.realtime import Realtime, server

from ...authentication import ANN
from ...polling import calls, Polling
from ...realtime import (
    begin_polling,
    fetch,
    live,
    loop_of,
    make_live_records,
    POLL,
    reason_of,
)
from ...waiting import wait_until


@pytest.fixture
def slow(records):
    """The begin of a call, and what lets it go on."""
    is_begun, may_go_on = threading.Event(), threading.Event()

    class Slow:
        def find(self, params):
            is_begun.set()
            assert may_go_on.wait(30)
            return []

    records.add("slow", Slow(), public=True)
    yield is_begun, may_go_on
    may_go_on.set()


def publish(records):
    records["messages"].publish()(lambda event, record, context: "anonymous")


def test_connections_take_no_threads(records, tmp_path):
    with live(records, tmp_path) as site:
        first = site.connect()
        first.result("find", "messages")
        before = threading.active_count()
        clients = [site.connect() for _ in range(50)]
        count = len(site.connections)
        added = threading.active_count() - before

        for client in clients:
            client.socket.shutdown()

        wait_until(lambda: len(site.connections) == 1, 30)
        wait_until(lambda: len(loop_of(site).clients) == 1, 30)

    assert count == 51
    # Eight are for calls.
    assert added < 10


def test_calls_of_a_connection_follow_each_other_while_others_go_on(records, tmp_path):
    is_waiting, may_go_on = threading.Event(), threading.Event()
    calls = []

    class Slow:
        def find(self, params):
            is_waiting.set()
            assert may_go_on.wait(30)
            calls.append("slow")
            return []

        def get(self, id, params):
            calls.append(id)
            return {"id": id}

    records.add("slow", Slow(), public=True)

    with live(records, tmp_path) as site:
        client, other = site.connect(), site.connect()
        client.send('4291["find","slow"]')
        client.send('4292["get","slow",7]')
        assert is_waiting.wait(30)
        other.result("get", "slow", 8)
        may_go_on.set()
        client.result("get", "slow", 9)

    assert calls == [8, "slow", 7, 9]


def test_answer_of_a_write_does_not_wait_for_its_events(records, tmp_path):
    """The publisher runs before the answer, the rules after it."""
    may_go_on = threading.Event()

    def readable(user):
        assert may_go_on.wait(30)
        return True

    records = make_live_records(public=["find", "create"], readable=readable)
    publish(records)

    with live(records, tmp_path) as site:
        client = site.connect()
        # No rule applies to a create.
        answer = site.http.post("/messages", json={"text": "A"})
        may_go_on.set()
        names = client.names()

    assert answer.status_code == 201
    assert names == ["messages created"]


def test_events_do_not_wait_long_for_a_slow_call(records, slow, tmp_path):
    is_begun, may_go_on = slow
    publish(records)

    with live(records, tmp_path) as site:
        client = site.connect()
        site.connect().send('421["find","slow"]')
        assert is_begun.wait(30)
        start = time.monotonic()
        site.emit("A")
        names = client.names()
        seconds = time.monotonic() - start
        may_go_on.set()

    assert names == ["messages typing"]
    # The call would go on by itself after 30.
    assert seconds < 20


def test_events_of_a_write_are_decided_once_it_is_answered(monkeypatch, tmp_path):
    """They would hold the interpreter before the answer has left."""
    monkeypatch.setattr(server, "HEAD_START", 30)
    running = []

    def readable(user):
        running.append(loop_of(site).running)
        return True

    # No rule applies to a create.
    records = make_live_records(public=["find", "create"], readable=readable)
    publish(records)

    with live(records, tmp_path) as site:
        client = site.connect()

        for text in ("A", "B", "C"):
            response = requests.post(f"{site.url}/messages", json={"text": text})
            assert response.status_code == 201
            # The next call would run meanwhile.
            site.settle()

        names = client.names()

    assert names == ["messages created"] * 3
    assert running == [0] * 3


def test_call_that_waits_for_a_thread_ends_with_its_session(records, slow, tmp_path):
    with live(records, tmp_path) as site:
        client, worker = site.connect(), loop_of(site)

        # As many as there are threads.
        for each in [site.connect() for _ in range(8)]:
            each.send('421["find","slow"]')

        wait_until(lambda: worker.running == 8)
        client.send('421["create","messages",{"text":"late"}]')
        wait_until(lambda: worker.running == 9)
        client.send("x")
        end = reason_of(client)
        slow[1].set()
        wait_until(lambda: worker.running == 0)
        stored = site.http.get("/messages").json

    assert (end[0], stored) == (1008, [])


def test_server_that_stops_admits_nobody(records, tmp_path):
    with live(records, tmp_path) as site:
        worker = loop_of(site)
        worker._loop.call_soon_threadsafe(worker.close, lambda: None)
        wait_until(lambda: worker.admission.is_closed)
        status, text = fetch(site.url, "GET", POLL)

    assert (status, "The server stops." in text) == (503, True)


def test_client_that_leaves_too_much_unread_can_come_back(records, tmp_path, way):
    publish(records)

    with live(records, tmp_path, {"max_unsent": 100_000}) as site:
        slow, other = site.connect(), site.connect()

        def fill():
            while len(site.connections) == 2:
                site.emit("x" * 60_000)
                # The other client reads.
                other.names()

        thread = threading.Thread(target=fill)
        thread.start()
        thread.join(60)
        reason = reason_of(slow)
        site.connect().result("find", "messages")

    assert reason == (1013, "Too many events are unread. Connect again.")


@pytest.mark.parametrize(
    ("send", "code"),
    [
        (lambda socket: socket.send("4" + "2" * 1001), 1009),
        (lambda socket: socket.send("x"), 1008),
        (lambda socket: socket.send('461-["find"]'), 1008),
        (lambda socket: socket.send("40"), 1008),
    ],
)
def test_message_that_is_refused_ends_the_connection(records, tmp_path, send, code):
    with live(records, tmp_path, {"max_payload": 1000}) as site:
        client = site.connect()
        send(client.socket)
        reason = reason_of(client)
        wait_until(lambda: not site.connections, 30)

    assert reason[0] == code


def test_client_that_does_not_answer_pings_is_closed(records, tmp_path, way):
    with live(records, tmp_path) as site:
        loop = loop_of(site)
        silent, other = site.connect(), site.connect()
        loop.ping_interval = loop.ping_timeout = 0.1

        for session in list(loop.clients.values()):
            session.deadline = 0

        def answers():
            other.call("find", "x")
            return len(site.connections) == 1

        wait_until(answers, 30)
        packets = [silent.socket.recv()]

    assert packets == ["2"]


def test_page_of_an_accepted_origin_may_poll(records, tmp_path):
    origin = "https://app.test"

    with live(records, tmp_path, {"origins": [origin]}) as site:
        connection = http.client.HTTPConnection(site.url.removeprefix("http://"))
        asked = {"Origin": origin, "Access-Control-Request-Headers": "X-A"}
        connection.request("OPTIONS", POLL, headers=asked)
        response = connection.getresponse()
        response.read()
        connection.close()

    assert response.status == 200
    assert response.headers["Access-Control-Allow-Origin"] == origin
    assert response.headers["Access-Control-Allow-Headers"] == "X-A"


def test_events_that_wait_for_a_poll_are_bounded(records, tmp_path):
    publish(records)

    with live(records, tmp_path, {"max_unsent": 100_000}) as site:
        path = begin_polling(site.url)
        fetch(site.url, "POST", path, "40")
        wait_until(lambda: site.connections, 30)
        site.emit(*["x" * 60_000] * 3)
        site.settle()
        wait_until(lambda: not site.connections, 30)
        status = fetch(site.url, "GET", path)[0]

    assert status == 400


def test_end_of_the_server_runs_the_receivers_of_disconnections(records, tmp_path):
    left = []
    realtime = Realtime(records)
    realtime.connections("disconnect")(lambda event, each: left.append(each.id))

    with live(records, tmp_path, realtime=realtime) as site:
        clients = [site.connect() for _ in range(3)]
        ids = {connection.id for connection in site.connections}

    assert set(left) == ids
    assert len(clients) == len(left) == 3


def test_request_of_a_call_is_that_of_the_handshake(records, tmp_path):
    class Asker:
        def find(self, params):
            return [request.path, request.headers["X-A"], request.remote_addr]

    records.add("asker", Asker(), public=True)

    with live(records, tmp_path) as site:
        answer = site.connect(X_A="1").result("find", "asker")

    assert answer == ["/socket.io/", "1", "127.0.0.1"]


@pytest.mark.parametrize("is_polling", [False, True])
def test_connections_trust_the_proxies_of_the_application(tmp_path, is_polling):
    seen = []
    records = make_live_records(public=True)
    realtime = Realtime(records)

    @realtime.connections("connect")
    def remember(event, connection):
        seen.append((request.remote_addr, request.scheme, request.host))

    headers = {
        "X_Forwarded_For": "6.6.6.6, 203.0.113.7",
        "X_Forwarded_Proto": "https",
        "X_Forwarded_Host": "app.test",
        "Origin": "https://app.test",
    }

    with live(records, tmp_path, realtime=realtime) as site:
        application = site.app.wsgi_app
        site.app.wsgi_app = ProxyFix(application, x_for=1, x_proto=1, x_host=1)

        if is_polling:
            lines = {name.replace("_", "-"): headers[name] for name in headers}
            text = fetch(site.url, "GET", POLL, headers=lines)[1]
            path = f"{POLL}&sid={json.loads(text[1:])['sid']}"
            fetch(site.url, "POST", path, "40", headers=lines)
        else:
            site.connect(**headers)

        wait_until(lambda: seen, 30)

    assert seen == [("203.0.113.7", "https", "app.test")]


class Notes:
    """Remembers the data of its calls."""

    def __init__(self):
        self.made = []

    def create(self, data, params):
        self.made.append(data["number"])
        return data


def leave_by_packet(client):
    client.send("41")
    client.send("1")


def leave_by_frame(client):
    client.socket.send_close()


@pytest.mark.parametrize("leave", [leave_by_packet, leave_by_frame])
def test_client_that_sends_and_leaves_has_made_its_calls(
    records, tmp_path, leave, slow
):
    is_begun, may_go_on = slow
    notes = Notes()
    records.add("notes", notes, public=True)

    with live(records, tmp_path) as site:
        client = site.connect()
        client.send(*calls([100], "find", "slow"))
        assert is_begun.wait(30)

        for number in range(20):
            client.send(*calls([number], "create", "notes", {"number": number}))

        leave(client)
        may_go_on.set()
        wait_until(lambda: not site.connections, 30)

    assert notes.made == list(range(20))


def test_client_that_does_not_read_its_answers_is_not_read(records, tmp_path):
    calls = []

    class Large:
        def find(self, params):
            calls.append(1)
            return ["x" * 1_000_000]

    records.add("large", Large(), public=True)

    with live(records, tmp_path) as site:
        client = site.connect()

        for number in range(1000, 1050):
            client.send(f'42{number}["find","large"]')

        wait_until(lambda: len(calls) > 1)
        other = site.connect()

        # The server has the time to read more.
        for _ in range(100):
            other.result("find", "messages")

        before = len(calls)
        client.result("find", "messages")

    assert before < 20
    assert len(calls) == 50


def test_body_of_a_thousand_calls_is_answered_whole(records, tmp_path):
    with live(records, tmp_path) as site:
        polling = Polling(site.url)
        polling.connect()
        posted = polling.post(*calls(range(1000)))
        answers = polling.answers(1000)

    assert posted == (200, "ok")
    assert list(answers) == list(range(1000))
    assert set(map(str, answers.values())) == {"[None, []]"}


def test_last_event_of_a_record_tells_what_is_stored(tmp_path):
    records = make_live_records()
    messages = records["messages"]

    with live(records, tmp_path) as site, site.app.app_context():
        ann = site.connect(ANN)
        messages.create({"text": "A", "rank": 0})

        def write(start):
            with site.app.app_context():
                for rank in range(start, start + 20):
                    messages.patch(1, {"rank": rank})

        threads = [threading.Thread(target=write, args=[n * 100]) for n in (1, 2, 3)]

        for thread in threads:
            thread.start()

        for thread in threads:
            thread.join()

        ranks = [record["rank"] for name, record in ann.events()]
        assert len(ranks) == 61
        assert ranks[-1] == messages.get(1)["rank"]


def test_attachments_are_refused_and_the_connection_goes_on(records, tmp_path, way):
    with live(records, tmp_path) as site:
        client = site.connect()
        client.send('451-9["create","messages",{"text":{"_placeholder":true,"num":0}}]')
        client.socket.send_binary(b"\x01\x02")
        answer = client.socket.recv()
        found = client.result("find", "messages")
        url = site.url.replace("http", "ws", 1)
        early = websocket.create_connection(
            f"{url}/socket.io/?EIO=4&transport=websocket", timeout=30
        )
        early.recv()
        early.send_binary(b"40")
        end = early.recv_data()
        early.shutdown()

    assert answer.startswith('439[{"name":"BadRequest"')
    assert (found, end[1][2:]) == ([], b"Messages must be text.")


def test_reader_of_many_large_events_keeps_its_connection(records, tmp_path, way):
    publish(records)

    with live(records, tmp_path) as site:
        reader, silent = site.connect(), site.connect()
        writer = threading.Thread(target=site.emit, args=[*["x" * 60_000] * 200])
        writer.start()
        packets = [reader.socket.recv() for _ in range(200)]
        writer.join()
        reason = reason_of(silent)

    assert all(each.startswith('42["messages ') for each in packets)
    assert reason == (1013, "Too many events are unread. Connect again.")


def test_client_that_does_not_read_delays_no_others(records, tmp_path):
    publish(records)

    with live(records, tmp_path, {"max_unsent": 40_000_000}) as site:
        slow, other = site.connect(), site.connect()
        start, seconds = time.monotonic(), []

        for _ in range(600):
            site.emit("x" * 60_000)
            other.socket.recv()
            seconds.append(time.monotonic() - start)
            start = time.monotonic()

        slow.socket.shutdown()

    assert sum(each > 0.05 for each in seconds) < 10


def test_an_answer_waits_a_little_for_many_earlier_events(records, tmp_path):
    """Clients that write back to back stay near their events."""
    publish(records)

    with live(records, tmp_path) as site:
        client, loop = site.connect(), loop_of(site)
        loop.waiting += server.MAX_WAITING + 1
        start = time.monotonic()
        answer = site.http.post("/messages", json={"text": "A"})
        waited = time.monotonic() - start
        loop.waiting -= server.MAX_WAITING + 1
        site.settle()

        assert answer.status_code == 201
        assert waited >= server.MAX_DELAY
        assert client.names() == ["messages created"]
        assert loop.waiting == 0
