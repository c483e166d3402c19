"""Clients that freeze or leave in the middle."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import contextmanager, ExitStack
from itertools import cycle

import pytest

from ...realtime_clients import serving, settings_of
from ...waiting import wait_until

pytestmark = pytest.mark.slow

PLACES = 90
STORM = 240
PATH = "/socket.io/?EIO=4&transport="


@pytest.fixture
def server(tmp_path):
    settings = settings_of(
        tmp_path,
        WEB_CONCURRENCY="1",
        THREADS="120",
        MAX_CONNECTIONS=str(PLACES),
        PING_SECONDS="3",
    )
    with serving(settings) as server:
        # Its event loop runs, and has files of its own.
        with joined(server):
            pass

        yield server

    assert [line for line in server.complaints if "Traceback" in line] == []


def files_of(server):
    """The number of files and sockets that the worker has open."""
    return len(os.listdir(f"/proc/{server.workers[0]}/fd"))


def dialled(server):
    host, port = server.host.split(":")
    connection = socket.create_connection((host, int(port)), 30)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return connection


def request_for(path, token=None, upgrade=True):
    lines = [f"GET {path} HTTP/1.1", "Host: x"]

    if upgrade:
        key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
        version = "Sec-WebSocket-Version: 13"
        lines += ["Upgrade: websocket", "Connection: Upgrade", version, key]

    if token is not None:
        lines.append(f"Authorization: Bearer {token}")

    return "\r\n".join([*lines, "", ""]).encode()


def read_until(connection, end):
    data = b""

    while end not in data:
        chunk = connection.recv(4096)
        assert chunk, data
        data += chunk

    return data


@contextmanager
def joined(server, token=None):
    """A socket that is connected to Socket.IO.

    :raises AssertionError: The server refuses it.
    """
    with dialled(server) as connection:
        connection.sendall(request_for(f"{PATH}websocket", token))
        answer = read_until(connection, b"\r\n\r\n")
        assert b" 101 " in answer, answer
        connection.sendall(b"\x81\x82\0\0\0\x0040")
        # The end of the answer: the one before ends with a number.
        read_until(connection, b'"}')
        yield connection


def stage_socket(connection):
    pass


def stage_half_a_request(connection):
    connection.sendall(request_for(f"{PATH}websocket")[:60])


def stage_handshake(connection):
    connection.sendall(request_for(f"{PATH}websocket"))


def stage_opened(connection):
    connection.sendall(request_for(f"{PATH}websocket"))
    connection.recv(4096)


def stage_joining(connection):
    connection.sendall(request_for(f"{PATH}websocket"))
    connection.recv(4096)
    connection.sendall(b"\x81\x82\0\0\0\x0040")


def stage_polling(connection):
    connection.sendall(request_for(f"{PATH}polling", upgrade=False))
    connection.recv(4096)


STAGES = [
    stage_socket,
    stage_half_a_request,
    stage_handshake,
    stage_opened,
    stage_joining,
    stage_polling,
]


def test_storm_of_clients_that_leave_in_the_middle_leaves_nothing(server):
    before = files_of(server)

    for _, stage, has_reset in zip(
        range(STORM), cycle(STAGES), cycle([True, False, True, False, True])
    ):
        with dialled(server) as connection:
            if has_reset:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

            stage(connection)

    wait_until(lambda: files_of(server) <= before + 8, 120)

    # All places are free, and no more than those that there are.
    def can_fill_all_places():
        with ExitStack() as stack:
            try:
                for _ in range(PLACES):
                    stack.enter_context(joined(server))
            except AssertionError:
                return False

            connection = stack.enter_context(dialled(server))
            connection.sendall(request_for(f"{PATH}websocket"))
            answer = connection.recv(4096)
            return b" 503 " in answer or b" 403 " in answer

    wait_until(can_fill_all_places, 120)
