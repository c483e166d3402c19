"""A thousand clients that come and leave within seconds."""

from __future__ import annotations

import asyncio
import resource
from contextlib import closing
from http.client import HTTPConnection
from itertools import cycle

import pytest

from flask_records.realtime.closing import NOT_JOINED

from ...processes import call
from ...realtime_clients import login_of
from ...realtime_clients import serving
from ...realtime_clients import settings_of
from ...waiting import wait_until
from ..soak.wire import Closed
from ..soak.wire import Wire
from .test_bounds import files_of
from .test_bounds import threads_of

pytestmark = pytest.mark.slow

CLIENTS = 1000
JOINS_TOO_LATE = NOT_JOINED[0]
AT_ONCE = 25
"""The clients that are connecting at a time."""

MOST_FILES = 30
"""The files by which the server may grow: its pool of connections to the database."""

MOST_THREADS = 8
"""The threads besides those of calls and connections."""

MOST_MEMORY = 5
"""The megabytes by which memory may grow: connections take 14 and more in each case."""

MOST_STORMS = 8
"""The first ones fill the pools of threads and of memory."""

PLACES = 900
"""The places for connections."""

THREADS = 32
"""The threads that stay."""


@pytest.fixture
def many_files():
    """The clients and the server have a file for each connection."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture
def server(tmp_path, many_files):
    settings = settings_of(tmp_path, WEB_CONCURRENCY="1", MAX_CONNECTIONS=str(PLACES))

    with serving(settings, "--worker-connections", "2000") as it:
        yield it

    assert [line for line in it.complaints if "Traceback" in line] == []


async def storm(host, token):
    """Come and leave, some of each way to leave. Return the answers to calls of the
    clients that were accepted, the statuses of those that were not, and the answer to
    one more.
    """
    turns = asyncio.Semaphore(AT_ONCE)
    accepted, refused = [], []

    async def come():
        async with turns:
            while not await is_settled(Wire(host, token, lambda *event: None)):
                pass

    async def is_settled(wire):
        try:
            await wire.open()
        except Closed as error:
            await wire.close()

            # A machine with too much to do may take longer than clients have to join.
            if error.code != JOINS_TOO_LATE:
                refused.append(error.code)

            return error.code != JOINS_TOO_LATE

        accepted.append(wire)
        return True

    await asyncio.gather(*(come() for _ in range(CLIENTS)))
    calls = (wire.call("find", "processes") for wire in accepted)
    answers = await asyncio.gather(*calls)
    one_more = await asyncio.to_thread(polling, host)

    for wire, leave in zip(accepted, cycle([Wire.leave, Wire.reset, Wire.freeze])):
        leave(wire)

    await asyncio.gather(*(wire.close() for wire in accepted))
    return answers, refused, one_more


def polling(host):
    with closing(HTTPConnection(host, timeout=30)) as http:
        http.request("GET", "/socket.io/?EIO=4&transport=polling")
        response = http.getresponse()
        return response.status, response.read().decode()


def test_storm_leaves_no_thread_file_or_memory_behind(server):
    with closing(HTTPConnection(server.host, timeout=60)) as http:
        token = call(http, "POST", "/authentication", login_of(0))[1]["accessToken"]

    files = files_of(server) + MOST_FILES
    memory = []

    while not has_settled(memory):
        assert len(memory) < MOST_STORMS, memory
        answers, refused, one_more = asyncio.run(storm(server.host, token))
        wait_until(lambda: files_of(server) <= files, 30)
        memory.append(server.memory)

        assert len(answers) == PLACES
        # gunicorn sends 403 for an ASGI application.
        assert len(refused) == CLIENTS - PLACES and set(refused) <= {403, 503}
        assert one_more[0] == 503
        assert "Too many connections. Try again later." in one_more[1]
        assert threads_of(server) <= THREADS + MOST_THREADS


def has_settled(memory):
    """Return ``True`` if the last storm has left no memory behind."""
    return len(memory) > 1 and memory[-1] <= memory[-2] + MOST_MEMORY
