"""`python -m flask_records serve`, over real HTTP and sockets."""

import http.client
import json
import os
import signal
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest
import websocket

from ..foreign_databases import fill, shop_of_records
from ..processes import free_port
from ..waiting import START, wait_until

TOKEN = "a long token"
PING = "2"


@contextmanager
def serving(*arguments, **variables):
    """The port of a server, as soon as it answers, which is stopped after the block."""
    port = free_port()
    command = [sys.executable, "-m", "flask_records", "serve", "--port", str(port)]
    process = subprocess.Popen(
        [*command, *arguments],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def answers():
        assert process.poll() is None, process.stdout.read()

        try:
            return ask(port, "GET", "/")[0] > 0
        except ConnectionRefusedError:
            return False

    try:
        wait_until(answers, START)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        log = process.communicate(timeout=60)[0]

    assert "Traceback" not in log, log


def ask(port, verb, path, data=None, **headers):
    """The status, the headers and the text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", **headers}
    connection.request(verb, path, data and json.dumps(data), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("serve") / "shop.db")
    fill(f"sqlite:///{path}", shop_of_records)
    return path


@pytest.fixture(scope="module")
def port(file):
    """The port of a server that takes writes from callers with a token."""
    with serving(
        file, "--write", "--tables", "Artist, Album", "--token", TOKEN
    ) as port:
        yield port


def test_a_server_reads_by_default(file):
    with serving(file) as port:
        status, _, text = ask(port, "GET", "/Track/1?$select=Name")

        assert (status, json.loads(text)) == (200, {"TrackId": 1, "Name": "Rock"})
        assert ask(port, "POST", "/Artist", {"Name": "Eve"})[0] == 405
        assert ask(port, "GET", "/_records/")[0] == 200


@pytest.mark.parametrize("path", ["/", "/Artist", "/_records/services.json"])
def test_a_name_of_another_site_is_refused(port, path):
    """The name of a page may lead to this machine as soon as the page is loaded."""
    bearer = {"Authorization": f"Bearer {TOKEN}", "Host": f"example.com:{port}"}

    assert ask(port, "GET", path, **bearer)[0] == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer another"}, 401),
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"Cookie": "records_token=another"}, 401),
        ({"Cookie": f'records_token="{TOKEN}"'}, 200),
    ],
)
def test_a_token_is_needed(port, headers, status):
    assert ask(port, "GET", "/Artist/1", **headers)[0] == status


def test_an_address_with_the_token_logs_a_browser_in(port):
    path = f"/?token={TOKEN.replace(' ', '+')}"
    status, headers, _ = ask(port, "GET", path)
    cookie = headers["Set-Cookie"].partition(";")[0]

    assert (status, headers["Location"]) == (303, "/")
    assert headers["Set-Cookie"].endswith("; HttpOnly; Path=/; SameSite=Strict")
    assert ask(port, "GET", "/Artist/1", Cookie=cookie)[0] == 200
    assert ask(port, "GET", "/?token=another")[0] == 401


def test_a_socket_needs_the_token_and_gets_events(port):
    url = f"ws://127.0.0.1:{port}/socket.io/?EIO=4&transport=websocket"
    bearer = {"Authorization": f"Bearer {TOKEN}"}

    with pytest.raises(websocket.WebSocketBadStatusException):
        websocket.create_connection(url, timeout=60)

    with closing(websocket.create_connection(url, timeout=60, header=bearer)) as client:
        client.recv()
        client.send("40")
        client.recv()

        status, _, text = ask(port, "POST", "/Artist", {"Name": "Eve"}, **bearer)

        assert status == 201
        messages = iter(client.recv, "")
        event = next(message for message in messages if message != PING)
        assert event == f'42["Artist created",{text}]'


def test_tables_that_are_not_named_are_not_served(port):
    bearer = {"Authorization": f"Bearer {TOKEN}"}

    assert ask(port, "GET", "/Track", **bearer)[0] == 404


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nothing.db", "Error: unable to open database file\n"),
        ("nothing://", "Error: Can't load plugin: sqlalchemy.dialects:nothing\n"),
        ("sqlite+pysqlcipher:///a.db", "Error: No module named"),
    ],
)
def test_what_is_wrong_is_said(url, message, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "flask_records", "serve", url],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert list(tmp_path.iterdir()) == []
