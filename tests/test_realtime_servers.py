"""Connections with WSGI servers that can hold them, and with others."""

from __future__ import annotations

import json
import re
import struct
import sys
import types
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
import websocket
from websocket import ABNF

from .polling import calls
from .polling import Polling
from .polling import received
from .processes import call
from .realtime import live
from .realtime import make_live_records
from .realtime import SERVED_BY
from .realtime_clients import login_of
from .realtime_clients import serving
from .realtime_clients import settings_of

ANOTHER = "class WebSocketHandler: pass"
MB = 1 << 20


@pytest.fixture(scope="module", params=["gthread", "gevent", "asgi"])
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("servers")
    # Engine.IO itself would import it.
    folder.joinpath("geventwebsocket.py").write_text(ANOTHER)
    variables = {"PYTHONPATH": str(folder), "MAX_UNSENT": str(20 * MB)}
    settings = settings_of(folder, WEB_CONCURRENCY="1", **variables)

    app = "create_asgi_app" if request.param == "asgi" else "create_app"

    with serving(settings, "--worker-class", request.param, app=app) as server:
        server.kind = request.param
        yield server

    expected = ["legacy_clients", "does not use threads"] * (request.param == "asgi")
    assert [
        line
        for line in server.complaints
        if not any(words in line for words in expected)
    ] == []


def connect(server, **options):
    """A connected socket that reads only on request."""
    socket = websocket.create_connection(
        f"ws://{server.host}/socket.io/?EIO=4&transport=websocket",
        timeout=20,
        skip_utf8_validation=True,
        **options,
    )
    socket.recv()
    socket.send("40")
    assert socket.recv().startswith("40")
    return socket


@pytest.mark.slow
def test_client_that_is_busy_gets_all_of_it_whole(server):
    pad = "x" * 50_000

    with closing(HTTPConnection(server.host)) as http:
        token = call(http, "POST", "/authentication", login_of(0))[1]["accessToken"]
        header = [f"Authorization: Bearer {token}"]

        with closing(connect(server, header=header)) as socket:
            texts = [f"{number} {pad}" for number in range(300)]

            for text in texts:
                assert call(http, "POST", "/pads", {"text": text}, token)[0] == 201

            events = [json.loads(socket.recv()[2:]) for _ in texts]
            socket.send('421["find","pads"]')
            answer = json.loads(socket.recv()[3:])

    assert events == [["pads created", {"text": text}] for text in texts]
    assert answer == [None, ["x" * 1_000_000] * 6]


@pytest.mark.parametrize("version", ["3", "4"])
def test_calls_before_and_after_an_upgrade_are_answered(server, version):
    if server.kind == "asgi" and version == "3":
        pytest.skip("ASGI servers are for later clients.")

    polling = Polling(f"http://{server.host}", version)
    first, second = range(300), range(300, 600)

    if version == "4":
        polling.connect()

    assert polling.post(*calls(first, "find", "processes"))[0] == 200
    polling.answers(10)
    socket = polling.upgrade()

    for packet in calls(second, "find", "processes"):
        socket.send(packet)

    assert list(received(socket, 600, polling.packets)) == [*first, *second]
    polling.close()


def memory_of(server):
    """The resident memory of the worker in megabytes."""
    status = Path(f"/proc/{server.workers[0]}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def one_frame(send, chunk):
    send(struct.pack("!BBQI", 0x81, 0xFF, 100 * MB, 0))

    for _ in range(100):
        send(chunk)


def many_frames(send, chunk):
    for number in range(100):
        opcode = 0x00 if number else 0x01
        send(struct.pack("!BBQI", opcode, 0xFF, MB, 0) + chunk)


def binary_frames(send, chunk):
    text = ABNF(1, 0, 0, 0, 1, 1, '45199-["find","items"]')
    send(text.format())

    for _ in range(100):
        send(struct.pack("!BBQI", 0x82, 0xFF, MB, 0) + chunk)


def calls_meanwhile(send, chunk):
    send(ABNF(1, 0, 0, 0, 1, 1, '421["find","waits"]').format())
    text = b'421["find","processes",{"x":"' + chunk[: MB - 100] + b'"}]'

    for _ in range(100):
        send(struct.pack("!BBQI", 0x81, 0xFF, len(text), 0) + text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack", [one_frame, many_frames, binary_frames, calls_meanwhile]
)
def test_memory_that_a_stranger_takes_is_bounded(server, attack):
    with closing(connect(server)) as socket:
        socket.sock.settimeout(2)
        before = memory_of(server)

        try:
            attack(socket.sock.sendall, b"x" * MB)
        except OSError:
            pass

        after = memory_of(server)

        with closing(HTTPConnection(server.host)) as http:
            call(http, "POST", "/waits", {})

    # gunicorn keeps up to 32 messages of a connection for an ASGI application.
    reads_ahead = server.kind == "asgi" and attack is calls_meanwhile
    assert after - before < (72 if reads_ahead else 16)


@pytest.mark.slow
def test_sync_worker_refuses_connections_and_goes_on(tmp_path):
    settings = settings_of(tmp_path, WEB_CONCURRENCY="1")

    with serving(settings, "--worker-class", "sync", "--threads", "1") as server:
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            connect(server)

        with closing(HTTPConnection(server.host, timeout=5)) as http:
            status = call(http, "GET", "/processes")[0]

    assert refused.value.status_code == 400
    assert status == 200
    assert any("a sync worker answers one request" in line for line in server.log)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("granian.wsgi", "granian"),
        ("uvicorn.middleware.wsgi", "uvicorn"),
        ("waitress.server", "waitress"),
    ],
)
def test_server_without_websockets_is_warned_of_once(
    tmp_path, monkeypatch, caplog, module, name
):
    monkeypatch.setitem(sys.modules, module, types.ModuleType(module))

    with live(make_live_records(), tmp_path) as site:
        site.http.get("/messages")
        site.http.get("/messages")

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"{name} has none for WSGI applications" in caplog.text


def test_asgi_application_is_not_warned_of(tmp_path, monkeypatch, caplog):
    module = "uvicorn.middleware.wsgi"
    monkeypatch.setitem(SERVED_BY, "name", "asgi")

    with live(make_live_records(), tmp_path) as site:
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
        site.http.get("/messages")

    assert caplog.record_tuples == []


def test_other_server_is_not_warned_of(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("SERVER_SOFTWARE", "gunicorn/1")
    monkeypatch.setitem(sys.modules, "waitress.server", types.ModuleType("waitress"))

    with live(make_live_records(), tmp_path) as site:
        site.http.get("/messages")
        site.http.get("/messages")

    assert caplog.record_tuples == []
