"""Answers to strangers: nonsense, other sites, and too many clients."""

from __future__ import annotations

import pytest
import websocket
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from flask_records import FlaskRecords

from ...realtime import live, make_live_records, Plain
from ...waiting import wait_until


@pytest.fixture
def records():
    return make_live_records(public=True)


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


def test_connections_are_so_many_at_most_and_leave_their_places(records, tmp_path):
    with live(records, tmp_path, {"max_connections": 2}) as site:
        for _ in range(2):
            clients = [site.connect(), site.connect()]

            with pytest.raises(websocket.WebSocketBadStatusException, match="503"):
                site.connect()

            for client in clients:
                client.socket.close()

            wait_until(lambda: site.connections == [], 30)


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

            with pytest.raises(websocket.WebSocketBadStatusException, match="400"):
                site.connect(Origin=origin)

            assert site.http.get(poll, headers={"Origin": origin}).status_code == 400

        for text in accepted:
            headers = {} if text is None else {"Origin": text.format(url=site.url)}
            assert site.connect(**headers).result("find", "messages") == []


def test_error_tells_no_token(site):
    client = site.connect(Authorization=f"Bearer {site.token()}x")

    assert client.welcome.startswith('44{"message":"')
    assert "eyJ" not in client.welcome


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
