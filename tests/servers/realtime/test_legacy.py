"""Clients of Socket.IO 2, and all that their protocol does differently."""

import json

import pytest
import websocket

from ...polling import calls, Polling
from ...realtime import fetch, live, make_live_records, Plain

LEGACY = {"legacy_clients": True}
WORDS = "This server is for socket.io-client 3 and 4."


@pytest.fixture
def records():
    records = make_live_records(public=True)
    records.add("plain", Plain(), public=True)
    return records


@pytest.fixture
def site(records, tmp_path):
    with live(records, tmp_path, LEGACY) as site:
        yield site


@pytest.fixture
def polling(site):
    polling = Polling(site.url, "3")
    polling.opening = polling.get()
    yield polling
    polling.close()


@pytest.fixture
def socket(site):
    """A WebSocket, after the packets that open it."""
    url = site.url.replace("http", "ws", 1)
    path = "/socket.io/?EIO=3&transport=websocket"
    socket = websocket.create_connection(url + path, timeout=60)
    socket.opening = [socket.recv(), socket.recv()]
    yield socket
    socket.shutdown()


def test_client_that_polls_is_connected_without_asking(polling):
    assert polling.welcome["upgrades"] == ["websocket"]
    assert polling.opening == ["40"]


def test_client_with_a_websocket_is_connected_without_asking(socket):
    assert json.loads(socket.opening[0][1:])["upgrades"] == []
    assert socket.opening[1] == "40"


def test_pings_of_a_client_are_answered(polling, socket):
    polling.post("2", "2again")
    socket.send("2")

    assert polling.get() == ["3", "3again"]
    assert socket.recv() == "3"


def test_events_reach_clients_of_both_protocols(records, site, polling, socket):
    records["messages"].publish()(lambda event, record, context: "anonymous")
    modern = site.connect()

    with site.app.app_context():
        records["messages"].emit("typing", {"id": 1})

    event = '42["messages typing",{"id":1}]'
    assert (polling.get(), socket.recv()) == ([event], event)
    assert modern.names() == ["messages typing"]


@pytest.mark.parametrize("version", ["3", "4"])
def test_unknown_namespace_is_refused_and_the_client_stays_connected(site, version):
    url = site.url.replace("http", "ws", 1)
    path = f"/socket.io/?EIO={version}&transport=websocket"
    socket = websocket.create_connection(url + path, timeout=60)
    socket.recv()
    socket.send("40") if version == "4" else None
    socket.recv()
    socket.send("40/nowhere,")
    socket.send('421["find","messages"]')
    refusal, answer = socket.recv(), socket.recv()
    socket.shutdown()

    error = {"3": '"Invalid namespace"', "4": '{"message":"Invalid namespace"}'}
    assert refusal == f"44/nowhere,{error[version]}"
    assert answer == "431[null,[]]"


@pytest.mark.parametrize("version", ["3", "4"])
def test_client_that_polls_stays_connected_without_a_namespace(site, version):
    polling = Polling(site.url, version)
    polling.connect() if version == "4" else None
    posted = polling.post("40/nowhere,", '421["find","messages"]')

    assert posted == (200, "ok")
    assert polling.answers(1) == {1: [None, []]}
    assert any(each.startswith("44/nowhere,") for each in polling.packets)


@pytest.mark.parametrize("version", ["3", "4"])
def test_call_with_an_attachment_is_told_to_send_text(site, version):
    polling = Polling(site.url, version)
    polling.connect() if version == "4" else None
    call = '451-7["create","messages",{"text":{"_placeholder":true,"num":0}}]'
    posted = polling.post(call, "bAQID", '428["find","messages"]')
    answers = polling.answers(2)

    assert posted == (200, "ok")
    assert answers[7][0]["code"] == 400
    assert answers[7][0]["message"].endswith("Send it as text in base64.")
    assert answers[8] == [None, []]


@pytest.mark.parametrize(
    ("version", "packet"), [("3", "3"), ("4", "2"), ("3", "5"), ("4", "6"), ("4", "0")]
)
def test_packet_of_the_other_side_ends_the_session(site, version, packet):
    polling = Polling(site.url, version)
    polling.connect() if version == "4" else None

    assert polling.post(packet)[0] == 400
    assert polling.request("GET")[0] == 400


def test_body_may_be_larger_than_a_message(records, tmp_path):
    """Clients of this protocol put all that waits into one body."""
    with live(records, tmp_path, {**LEGACY, "max_payload": 2000}) as site:
        polling = Polling(site.url, "3")
        text = "x" * 1000

        posted = polling.post(*calls(range(20), "create", "plain", {"t": text}))
        refused = polling.post(*calls(range(40), "create", "plain", {"t": text}))

    assert posted == (200, "ok")
    assert refused[0] == 413
    assert json.loads(refused[1])["message"] == "The body is too large."


def refusal(site, query):
    """The status and the text of an answer to a first request that polls."""
    status, text = fetch(site.url, "GET", f"/socket.io/?{query}")
    return status, json.loads(text)["message"]


def test_without_the_setting_the_client_is_told_why(records, tmp_path, caplog):
    with live(records, tmp_path) as site:
        answers = [refusal(site, "EIO=3&transport=polling") for _ in range(3)]

    status, text = answers[0]
    assert status == 400
    assert text.startswith(WORDS)
    assert "RECORDS_REALTIME['legacy_clients'] = True" in text
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "A client was refused: This server" in caplog.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("EIO=3&transport=polling&j=0", "JSONP is not supported"),
        ("EIO=4&transport=polling&j=0", "JSONP is not supported"),
        ("EIO=2&transport=polling", "EIO=4 or 3"),
        ("transport=polling", "EIO=4 or 3"),
        ("EIO=4&transport=flashsocket", "Invalid transport"),
        ("EIO=4&sid=none", "Connect again"),
        ("", "EIO=4 or 3"),
    ],
)
def test_request_that_can_not_be_answered_is_told_why(site, query, words):
    status, text = refusal(site, query)

    assert status == 400
    assert words in text
