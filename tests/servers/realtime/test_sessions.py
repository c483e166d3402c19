"""Sessions: their number, their transports and their lifetime."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import websocket
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records.realtime.asgi import session

from ...realtime import begin_polling, fetch, live, loop_of, POLL
from ...waiting import wait_until


def status_of_handshake(site, path="/socket.io/?EIO=4&transport=websocket"):
    url = site.url.replace("http", "ws", 1) + path

    try:
        websocket.create_connection(url, timeout=30).shutdown()
    except websocket.WebSocketBadStatusException as error:
        return error.status_code

    return 101


@pytest.mark.parametrize("query", ["&xsid=1", "&sid=1", "&sid=", "&foo=sid=1"])
@pytest.mark.parametrize(
    "begin", [lambda site: site.connect(), lambda site: begin_polling(site.url)]
)
def test_one_connection_too_many_is_refused_whatever_it_says(
    records, tmp_path, query, begin
):
    with live(records, tmp_path, {"max_connections": 1}) as site:
        begun = begin(site)
        path = f"/socket.io/?EIO=4&transport=websocket{query}"

        assert begun
        assert status_of_handshake(site, path) in (400, 503)
        assert fetch(site.url, "GET", POLL + query)[0] in (400, 503)
        assert len(loop_of(site).clients) == 1


def test_connections_of_one_address_are_so_many_at_most(records, tmp_path):
    settings = {"max_connections": 9, "max_connections_per_address": 2}

    with live(records, tmp_path, settings) as site:
        site.app.wsgi_app = ProxyFix(site.app.wsgi_app)
        first = site.connect(X_Forwarded_For="192.0.2.1")
        site.connect(X_Forwarded_For="192.0.2.1")
        site.connect(X_Forwarded_For="192.0.2.2")
        site.connect(X_Forwarded_For="2001:db8::1")
        site.connect(X_Forwarded_For="2001:db8::2")

        for address in ("192.0.2.1", "2001:db8::3"):
            with pytest.raises(websocket.WebSocketBadStatusException, match="503"):
                site.connect(X_Forwarded_For=address)

        first.socket.shutdown()
        wait_until(lambda: can_connect(site, "192.0.2.1"))


def can_connect(site, address):
    try:
        return site.connect(X_Forwarded_For=address)
    except websocket.WebSocketBadStatusException:
        return False


def test_second_request_that_polls_ends_the_session(records, tmp_path):
    """Each of them would hold a thread for 45 seconds."""
    with live(records, tmp_path) as site:
        path = begin_polling(site.url)

        with ThreadPoolExecutor(2) as pool:
            both = pool.map(lambda _: fetch(site.url, "GET", path)[0], range(2))

        later = fetch(site.url, "GET", path)[0]

    assert sorted(both) == [200, 400]
    assert later == 400


@pytest.mark.parametrize(
    "body", ["", "x", "9", "\x1e", "4" + "[" * 100_000, b"\xff", "d="]
)
def test_body_that_has_no_packets_ends_the_session(records, tmp_path, body, caplog):
    with live(records, tmp_path, {"max_connections": 1}) as site:
        path = begin_polling(site.url)
        fetch(site.url, "POST", path, "40")

        status = fetch(site.url, "POST", path, body or "\x1e")[0]

        assert status == 400
        assert caplog.record_tuples == []
        # The place is free once the receivers of the connection have run.
        wait_until(lambda: fetch(site.url, "GET", POLL)[0] == 200, 30)


@pytest.mark.parametrize(
    "settings",
    [{"message_queue": "redis://127.0.0.1:1"}, {"transports": ["websocket"]}],
)
def test_polling_is_refused_where_it_can_not_work(records, tmp_path, settings):
    with live(records, tmp_path, settings) as site:
        status, text = fetch(site.url, "GET", POLL)

    assert status == 400
    assert "transports: ['websocket']" in text


@pytest.mark.parametrize(
    ("transports", "upgrades"),
    [(["polling", "websocket"], ["websocket"]), (("polling",), [])],
)
def test_polling_works_where_it_can(records, tmp_path, transports, upgrades):
    settings = {"transports": transports, "message_queue": "redis://127.0.0.1:1"}

    with live(records, tmp_path, settings) as site:
        status, text = fetch(site.url, "GET", POLL)

    assert status == 200
    assert json.loads(text[1:])["upgrades"] == upgrades


def test_websocket_is_refused_if_the_setting_does_not_name_it(records, tmp_path):
    with live(records, tmp_path, {"transports": ["polling"]}) as site:
        path = begin_polling(site.url).replace("polling", "websocket")

        assert status_of_handshake(site) == 400
        assert status_of_handshake(site, path) == 400


def test_session_that_does_not_join_in_time_is_closed(records, tmp_path, monkeypatch):
    with live(records, tmp_path, {"max_connections": 3}) as site:
        joined = site.connect()
        monkeypatch.setattr(session, "JOIN_TIMEOUT", 0.2)
        polling = begin_polling(site.url)
        url = site.url.replace("http", "ws", 1)
        path = "/socket.io/?EIO=4&transport=websocket"
        silent = websocket.create_connection(url + path, timeout=30)
        assert silent.recv().startswith("0")
        end = silent.recv_data()
        wait_until(lambda: len(loop_of(site).clients) == 1)
        silent.shutdown()

        assert end[0] == websocket.ABNF.OPCODE_CLOSE
        assert end[1][2:] == b"Connect to Socket.IO in time."
        assert fetch(site.url, "GET", polling)[0] == 400
        assert joined.result("find", "messages") == []
