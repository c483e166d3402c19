"""Answers to strangers: nonsense, other sites, and too many clients."""

import socket
import struct
from itertools import product

import pytest
import requests
import websocket
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from flask_records import FlaskRecords
from flask_records.realtime import Realtime
from flask_records.realtime.asgi import session

from ...realtime import live, loop_of, Plain
from ...waiting import wait_until

NONSENSE = [
    "42[]", "42{}", "42[null]", "42[{}]", "42[[]]", '42"find"', "42", "42[", "4",
    "49", "40", "40/admin,", "42/admin,[\"find\",\"messages\"]", "43", "431[1]",
    "439999[1]", '42["connect"]', '42["disconnect"]', '42["nothing",1]',
    '421["nothing",1]', "5", "6",
    "451-[\"find\",{\"_placeholder\":true,\"num\":7}]",
    "42" + "[" * 50_000, '42["find","messages",' + '{"a":' * 5000,
    "4" + "2" * 5000, "42" + "9" * 5000 + "[]", "x", "",
]  # fmt: skip


def test_others_are_served_after_packets_that_are_nonsense(site):
    other = site.connect()

    for packet in NONSENSE:
        site.connect().send(packet)
        assert other.result("find", "messages") == [], packet

    assert site.connect().result("find", "messages") == []


PATH = "GET /socket.io/?EIO=4&transport="
POLL = f"{PATH}polling HTTP/1.1\r\nHost: x\r\n\r\n".encode()
HANDSHAKE = (
    f"{PATH}websocket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    "Sec-WebSocket-Version: 13\r\n\r\n"
).encode()
JOIN = b"\x81\x82\0\0\0\x0040"
STAGES = [
    [],
    [HANDSHAKE[:60]],
    [HANDSHAKE],
    [HANDSHAKE, b""],
    [HANDSHAKE, JOIN],
    [POLL],
]
"""The packets that clients send before they leave. All but the last are answered."""


def leave(site, stage, has_reset):
    """Begin to connect, and leave."""
    host, port = site.url.removeprefix("http://").split(":")

    with socket.create_connection((host, int(port)), 30) as connection:
        if has_reset:
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

        for number, part in enumerate(stage):
            number and connection.recv(4096)
            connection.sendall(part)


def test_connections_are_so_many_at_most_and_leave_their_places(
    records, tmp_path, monkeypatch
):
    with live(records, tmp_path, {"max_connections": 20}) as site:
        # A client that polls may come back.
        monkeypatch.setattr(session, "JOIN_TIMEOUT", 1)

        for stage, has_reset in product(STAGES * 3, [True, False]):
            leave(site, stage, has_reset)

        wait_until(lambda: not (loop_of(site).clients or site.connections))
        clients = [site.connect() for _ in range(20)]

        with pytest.raises(websocket.WebSocketBadStatusException, match="503"):
            site.connect()

        assert len(clients) == 20


OWN = "https://app.test"
ORIGINS = {
    None: (
        ["https://evil.test", "null", "{url}.evil.test", "https://{host}"],
        [None, "{url}"],
    ),
    "": (["https://evil.test"], []),
    OWN: (["https://evil.test"], [OWN]),
    (OWN,): (["https://evil.test", "http://app.test"], [OWN, "{url}"]),
    "*": ([], ["https://evil.test"]),
}
"""The pages that can't connect, and those that can, for each value of ``origins``."""


@pytest.mark.parametrize("origins", ORIGINS)
def test_pages_of_other_sites_can_not_connect(records, tmp_path, origins):
    refused, accepted = ORIGINS[origins]

    with live(records, tmp_path, {"origins": origins}) as site:
        host = site.url.removeprefix("http://")
        poll = f"{site.url}/socket.io/?EIO=4&transport=polling"

        for text in refused:
            origin = text.format(url=site.url, host=host)

            with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
                site.connect(Origin=origin)

            assert requests.get(poll, headers={"Origin": origin}).status_code == 403

        for text in accepted:
            headers = {} if text is None else {"Origin": text.format(url=site.url)}
            assert site.connect(**headers).result("find", "messages") == []


def test_pages_of_any_origin_have_no_cookies(records, tmp_path):
    realtime, cookies = Realtime(records), []

    @realtime.connections("connect")
    def note(event, connection):
        cookies.append(connection.headers.get("Cookie"))

    settings = {"RECORDS_CORS": {"origins": "*"}}

    with live(records, tmp_path, realtime=realtime, **settings) as site:
        for origin in ("https://evil.test", site.url):
            client = site.connect(Origin=origin, Cookie="session=1")
            assert client.result("find", "messages") == []

    assert cookies == [None, "session=1"]


def test_limits_of_http_count_calls_too(tmp_path):
    limiter = Limiter(get_remote_address, storage_uri="memory://")
    records = FlaskRecords(limiter=limiter)
    records.add("plain", Plain(), public=True)

    with live(records, tmp_path, RECORDS_LIMITS={"plain.find": "2 per hour"}) as site:
        client = site.connect()
        site.http.get("/plain")
        answers = [client.call("find", "plain") for _ in range(2)]

    assert answers[0] == [None, []]
    assert answers[1][0]["code"] == 429
