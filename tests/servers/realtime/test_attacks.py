"""Clients that take more than their share of the example."""

import re
from pathlib import Path

import pytest

from ...processes import environment, started
from ...realtime import begin_polling, fetch, live, make_live_records, reason_of

MB = 1 << 20


@pytest.fixture
def server(tmp_path):
    variables = environment(f"sqlite:///{tmp_path}/example.db", tmp_path)
    own = {"WEB_CONCURRENCY": "1", "THREADS": "8"}

    with started(["-c", "instance/gunicorn.conf.py"], variables | own) as server:
        # It runs once it answers.
        assert fetch(server.host, "GET", "/rooms")[0] == 401
        yield server

    assert server.complaints == []


def peak_of(server):
    """The most memory that the worker has had, in bytes."""
    status = Path(f"/proc/{server.workers[0]}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def test_body_of_many_packets_takes_no_memory(server):
    statuses, before = set(), peak_of(server)

    for packet in ["40/a,", "40", "2", '42["a"]']:
        body = "\x1e".join([packet] * (MB // (len(packet) + 1)))

        for _ in range(15):
            path = begin_polling(server.host)
            fetch(server.host, "POST", path, "40")
            statuses.add((packet, fetch(server.host, "POST", path, body)[0]))

    assert {status for _, status in statuses} == {400}, statuses
    assert peak_of(server) - before < 40 * MB


def test_long_namespace_has_a_short_refusal(tmp_path):
    with live(make_live_records(), tmp_path) as site:
        client = site.connect()
        client.send(f"40/{'a' * 1000},")
        refusal = client.socket.recv()

    assert refusal.startswith("44/aaa")
    assert len(refusal) < 200


@pytest.mark.parametrize("has_header", [False, True])
def test_connections_of_one_user_are_so_many_at_most(tmp_path, has_header):
    with live(make_live_records(), tmp_path, {"max_connections_per_user": 2}) as site:
        token = site.token()
        anonymous = site.connect()
        clients = [site.connect(Authorization=f"Bearer {token}") for _ in range(2)]

        if has_header:
            last = site.connect(Authorization=f"Bearer {token}")
        else:
            last = site.connect()
            last.log_in()

        assert reason_of(last) == (1013, "Too many connections of this user.")
        assert [each.result("find", "messages") for each in clients] == [[]] * 2
        assert anonymous.error("find", "messages")[0] == 401


def test_several_workers_without_redis_are_warned_of(tmp_path):
    variables = environment(f"sqlite:///{tmp_path}/example.db", tmp_path)
    variables.pop("REDIS_URL", None)
    own = {"WEB_CONCURRENCY": "2", "THREADS": "8"}

    with started(["-c", "instance/gunicorn.conf.py"], variables | own) as server:
        fetch(server.host, "GET", "/rooms")

    warnings = [line for line in server.log if "several workers" in line]
    assert len(warnings) == 2
