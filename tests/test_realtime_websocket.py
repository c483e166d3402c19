"""WebSockets, frame by frame."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from contextlib import contextmanager

import pytest
import websocket
from websocket import ABNF
from werkzeug.serving import make_server

from flask_records.realtime.closing import LATE_READER

from .listening import QuietHandler
from .realtime import Client
from .realtime import live
from .realtime import make_live_records
from .waiting import wait_until

CONTINUATION, TEXT, BINARY = ABNF.OPCODE_CONT, ABNF.OPCODE_TEXT, ABNF.OPCODE_BINARY
PAYLOAD = 10_000


@pytest.fixture
def records():
    return make_live_records(public=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site for tests that write nothing."""
    folder = tmp_path_factory.mktemp("websocket")

    with live(make_live_records(public=True), folder, {"max_payload": PAYLOAD}) as site:
        yield site


@pytest.fixture
def client(site):
    client = site.connect()
    client.socket.settimeout(5)
    yield client
    client.socket.shutdown()


def send_frame(client, data, opcode=TEXT, fin=1, rsv1=0):
    frame = ABNF(fin, rsv1, 0, 0, opcode, 1, data)
    client.socket.sock.sendall(frame.format())


def code_of_end(client):
    """The code that the server closes a connection with."""
    while True:
        frame = client.socket.recv_frame()

        if frame.opcode == ABNF.OPCODE_CLOSE:
            return struct.unpack("!H", frame.data[:2])[0]


def test_largest_message_is_answered(client):
    query = {"text": "x" * (PAYLOAD - 100)}

    assert client.result("find", "messages", query) == []


@pytest.mark.parametrize("character", ["x", "€"])
def test_message_of_one_frame_ends_the_connection_as_it_exceeds_the_limit(
    client, character
):
    # Nothing but the beginning of 1 GB is ever sent.
    head = struct.pack("!BBQI", 0x81, 0xFF, 1 << 30, 0)
    client.socket.sock.sendall(head + character.encode() * PAYLOAD + b"xx")

    assert code_of_end(client) == 1009


def test_message_of_many_frames_ends_the_connection_as_it_exceeds_the_limit(client):
    send_frame(client, "4" * 1000, fin=0)

    for _ in range(10):
        send_frame(client, "x" * 1000, CONTINUATION, fin=0)

    assert code_of_end(client) == 1009


def test_message_of_some_frames_is_read_around_control_frames(client):
    send_frame(client, '421["find",', fin=0)
    send_frame(client, "", CONTINUATION, fin=0)
    send_frame(client, "are you there", ABNF.OPCODE_PING)
    send_frame(client, '"messages"]', CONTINUATION)

    frames = [client.socket.recv_frame() for _ in range(2)]

    assert [(frame.opcode, frame.data) for frame in frames] == [
        (ABNF.OPCODE_PONG, b"are you there"),
        (TEXT, b"431[null,[]]"),
    ]


def test_compression_is_not_negotiated(site):
    offer = "permessage-deflate; client_max_window_bits"

    client = site.connect(Sec_WebSocket_Extensions=offer)

    assert "sec-websocket-extensions" not in client.socket.getheaders()


def test_compressed_message_ends_the_connection(client):
    send_frame(client, "anything", rsv1=1)

    assert code_of_end(client) == 1002


@pytest.mark.parametrize("fin", [0, 1])
def test_binary_message_ends_the_connection(client, fin):
    send_frame(client, b"bytes", BINARY, fin)

    assert code_of_end(client) == 1003


@pytest.mark.parametrize(
    "packet",
    [
        '451-["find",{"_placeholder":true,"num":0}]', '461-1[]', "bAAEC",
        '42["connect"]', '42["disconnect"]', '42["connect_error"]',
        '42["disconnecting"]', "42", "42[]", "42{}", '42["find"', "42[" + "[" * 5000,
        "429" + "9" * 500 + "[]", "4", "44{}", "48", "x", "²", "",
    ],
)  # fmt: skip
def test_packet_that_is_not_valid_ends_the_connection(client, packet, caplog):
    client.send(packet)

    assert code_of_end(client) == 1008
    assert caplog.record_tuples == []


def test_end_that_the_client_asks_for_is_confirmed(client):
    client.socket.send_close(4321, b"bye")

    assert code_of_end(client) == 4321


def handshake(url, *lines):
    """The status of the answer to a request that would be a WebSocket."""
    host = url.removeprefix("http://")
    request = [
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1",
        f"Host: {host}",
        *lines,
    ]

    with socket.create_connection(host.split(":"), 5) as connection:
        connection.sendall("\r\n".join([*request, "", ""]).encode())
        return connection.recv(1000).split()[1]


KEY = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
VERSION = "Sec-WebSocket-Version: 13"
UPGRADE = ("Connection: Upgrade", "Upgrade: websocket")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([*UPGRADE, VERSION, KEY], b"101"),
        ([*UPGRADE, VERSION], b"400"),
        ([*UPGRADE, KEY], b"400"),
        ([*UPGRADE, VERSION, "Sec-WebSocket-Key: short"], b"400"),
        ([UPGRADE[0], VERSION, KEY], b"400"),
        ([UPGRADE[1], VERSION, KEY], b"400"),
    ],
)
def test_handshake_that_is_not_complete_is_refused(site, lines, status):
    before = set(engine_of(site).sockets)

    assert handshake(site.url, *lines) == status
    wait_until(lambda: set(engine_of(site).sockets) <= before)


def engine_of(site):
    return site.realtime.socketio(site.app).server.eio


def test_connection_takes_one_thread_and_leaves_none(records, tmp_path):
    with live(records, tmp_path) as site:
        first = site.connect()
        first.result("find", "messages")
        before = threading.active_count()
        clients = [site.connect() for _ in range(10)]
        while_connected = threading.active_count()

        for client in clients:
            # What was sent is thrown away, and the server gets a reset.
            linger = struct.pack("ii", 1, 0)
            client.socket.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            client.socket.shutdown()

        wait_until(lambda: threading.active_count() <= before)

    assert while_connected <= before + 10


def test_client_that_does_not_answer_pings_is_closed(records, tmp_path):
    with live(records, tmp_path) as site:
        engine = engine_of(site)
        engine.ping_interval = engine.ping_timeout = 0.1
        engine._watcher.interval = 0.05
        silent, other = site.connect(), site.connect()
        before = threading.active_count()

        for session in engine.sockets.values():
            session.heartbeat.deadline = 0

        wait_until(lambda: len(site.connections) == 1 or other.call("find", "x"), 5)
        wait_until(lambda: threading.active_count() < before)
        packet = silent.socket.recv()

    assert packet == "2"


def test_client_that_leaves_too_much_unread_is_told_and_can_come_back(
    records, tmp_path
):
    """It would take memory, as long as it answers pings."""
    with live(records, tmp_path, {"max_unsent": 100_000}) as site:
        client = site.connect()
        publish(records, "anonymous")
        sent, [session] = 0, engine_of(site).sockets.values()

        with site.app.app_context():
            while not session._is_late:
                records["messages"].emit("typing", {"id": 1, "text": "x" * 100_000})
                sent += 100_000
                assert sent < 50_000_000

        reason = reason_of(client)
        wait_until(lambda: not site.connections, 30)
        site.connect().result("find", "messages")

    assert reason == LATE_READER


@pytest.mark.slow
def test_client_that_does_not_read_at_all_is_closed(records, tmp_path):
    with live(records, tmp_path, {"max_unsent": 100_000}) as site:
        client = site.connect()
        publish(records, "anonymous")

        with site.app.app_context():
            while site.connections:
                records["messages"].emit("typing", {"id": 1, "text": "x" * 100_000})

        client.socket.settimeout(30)

        with pytest.raises((websocket.WebSocketException, OSError)):
            while client.socket.recv():
                pass


def test_large_answer_is_not_counted_as_unread_events(records, tmp_path):
    class Large:
        def find(self, params):
            return ["x" * 20_000_000]

    records.add("large", Large(), public=True)

    with live(records, tmp_path, {"max_unsent": 100_000}) as site:
        client = site.connect()
        publish(records, "anonymous")
        [session] = engine_of(site).sockets.values()
        client.send('42900["find","large"]')
        wait_until(lambda: session.unsent, 30)

        with site.app.app_context():
            for number in range(5):
                records["messages"].emit("typing", {"id": number})

        ids = [record["id"] for _, record in client.events()]

    assert ids == list(range(5))


def reason_of(client):
    """The code and the reason of the end of a connection, ``None`` without one."""
    client.socket.settimeout(30)

    try:
        while True:
            opcode, frame = client.socket.recv_data_frame(True)

            if opcode == ABNF.OPCODE_CLOSE:
                return int.from_bytes(frame.data[:2], "big"), frame.data[2:].decode()
    except (websocket.WebSocketException, OSError):
        return None


def publish(records, channel):
    records["messages"].publish()(lambda event, record, context: channel)


def test_client_that_reads_late_gets_all_events_whole(records, tmp_path):
    with live(records, tmp_path, {"max_unsent": 20_000_000}) as site:
        client = site.connect()
        publish(records, "anonymous")
        texts = [f"{number} " + "x" * 100_000 for number in range(100)]

        with site.app.app_context():
            for text in texts:
                records["messages"].emit("typing", {"id": 1, "text": text})

        client.socket.settimeout(10)
        events = client.events()

    assert [record["text"] for name, record in events] == texts


def test_client_that_does_not_read_its_answers_is_not_read(records, tmp_path):
    calls = []

    class Large:
        def find(self, params):
            calls.append(1)
            return ["x" * 1_000_000]

    records.add("large", Large(), public=True)

    with live(records, tmp_path, {"calls_per_second": 1000}) as site:
        client = site.connect()

        for number in range(1000, 1050):
            client.send(f'42{number}["find","large"]')

        wait_until(lambda: len(calls) > 1)
        other = site.connect()
        other.result("find", "messages")
        before = len(calls)
        client.result("find", "messages")

    assert before < 20
    assert len(calls) == 50


@contextmanager
def running_with_tls(app):
    server = make_server(
        "127.0.0.1", 0, app, True, request_handler=QuietHandler, ssl_context="adhoc"
    )
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()

    try:
        yield f"wss://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_calls_and_events_of_several_threads_pass_through_tls(records, tmp_path):
    with (
        live(records, tmp_path, {"max_unsent": 20_000_000}) as site,
        running_with_tls(site.app) as url,
    ):
        connection = websocket.create_connection(
            f"{url}/socket.io/?EIO=4&transport=websocket",
            sslopt={"cert_reqs": ssl.CERT_NONE},
            timeout=10,
        )
        client = Client(connection)
        publish(records, "anonymous")
        texts = [f"{number} " + "x" * 100_000 for number in range(50)]

        def send():
            with site.app.app_context():
                for text in texts:
                    records["messages"].emit("typing", {"id": 1, "text": text})

        thread = threading.Thread(target=send)
        thread.start()
        answers = [client.result("find", "messages") for _ in range(50)]
        thread.join()
        events = client.events()
        connection.close()

    assert answers == [[]] * 50
    assert [record["text"] for name, record in events] == texts
