"""Calls are made again against servers that fail at first."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest
from flask import Flask
from flask import request

from flask_records.client.errors import BadGateway
from flask_records.client.errors import RecordsError
from flask_records.client.errors import TooManyRequests
from flask_records.client.errors import Unavailable
from flask_records.client.errors import Unreachable
from flask_records.client.event_loop import LoopClient
from flask_records.client.event_loop import LoopService
from flask_records.client.retries import Retries
from flask_records.client.threads import ThreadClient
from flask_records.client.threads import ThreadService
from flask_records.errors import ERRORS
from tests.conftest import running

FAST = {"Retry-After": "0"}
PAST = {"Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT"}
WITHOUT_ZONE = {"Retry-After": "Thu, 01 Jan 2026 00:00:00 -0000"}
LATER = {"Retry-After": "3600"}


class Server:
    """Answers with some statuses, and with success after them."""

    def __init__(self):
        self.failures = []
        self.calls = 0

    def answer(self, path):
        self.calls += 1

        if not self.failures:
            return {"id": 1, "verb": request.method}

        status, headers = self.failures.pop(0)
        error = ERRORS[status]("Not now").to_dict() if status in ERRORS else "Proxy"
        return error, status, headers


@pytest.fixture
def server():
    server = Server()
    app = Flask("failing")
    verbs = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    app.add_url_rule("/<path:path>", view_func=server.answer, methods=verbs)

    with running(app) as server.url:
        yield server


@pytest.fixture
def notes(server):
    with ThreadClient(server.url) as client:
        yield ThreadService(client, "notes", {})


def read(notes):
    return notes._run(notes._calls.get(1, None))


def write(notes):
    return notes._run(notes._calls.patch(1, {}, None))


@pytest.mark.parametrize(
    "failure",
    [(429, FAST), (429, PAST), (503, FAST), (429, {}), (502, {}), (503, {}), (504, {})],
)
def test_reads_are_made_again(server, notes, failure):
    server.failures = [failure, failure]

    assert read(notes)["verb"] == "GET"
    assert server.calls == 3


@pytest.mark.parametrize("headers", [FAST, PAST, WITHOUT_ZONE])
def test_writes_are_made_again_that_were_refused_until_later(server, notes, headers):
    server.failures = [(429, headers)]

    assert write(notes)["verb"] == "PATCH"
    assert server.calls == 2


@pytest.mark.parametrize(
    ("failure", "error"),
    [((429, {}), TooManyRequests), ((503, FAST), Unavailable), ((502, {}), BadGateway)],
)
def test_writes_that_may_be_done_are_not_made_again(server, notes, failure, error):
    server.failures = [failure]

    with pytest.raises(error):
        write(notes)

    assert server.calls == 1


def test_logins_are_made_again(server):
    server.failures = [(503, FAST)]

    with ThreadClient(server.url) as client:
        client._log_in("local", {})

    assert server.calls == 2


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500])
def test_other_errors_are_raised_at_once(server, notes, status):
    server.failures = [(status, FAST)]

    with pytest.raises(RecordsError, match="Not now") as caught:
        read(notes)

    assert (caught.value.code, server.calls) == (status, 1)
    assert type(caught.value).__name__ == ERRORS[status].__name__


def test_number_of_retries_is_bounded(server):
    server.failures = [(503, FAST)] * 9

    with ThreadClient(server.url, retries=Retries(times=2)) as client:
        with pytest.raises(Unavailable):
            read(ThreadService(client, "notes", {}))

    assert server.calls == 3


def test_pause_that_is_too_long_is_not_made(server, notes):
    server.failures = [(429, LATER)]

    with pytest.raises(TooManyRequests):
        read(notes)

    assert server.calls == 1


def test_pauses_are_bounded_in_total():
    later = httpx.Response(429, headers={"Retry-After": "8"})
    call = LoopService(LoopClient("http://x"), "notes", {})._calls.get(1, None)

    pauses = [Retries().pause(call, later, 1, waited) for waited in (0, 22, 23)]

    assert pauses == [8, 8, None]


def test_pauses_last_as_long_as_a_server_takes_to_start():
    outage = httpx.Response(503)
    call = LoopService(LoopClient("http://x"), "notes", {})._calls.get(1, None)

    pauses = [Retries().pause(call, outage, done, 0) for done in range(4)]

    assert pauses[0] < 0.25
    assert sum(pauses) > 8


def test_tasks_retry_as_threads_do(server):
    server.failures = [(503, FAST), (502, {})]

    async def use():
        async with LoopClient(server.url) as client:
            notes = LoopService(client, "notes", {})
            return await notes._run(notes._calls.get(1, None))

    assert asyncio.run(use())["verb"] == "GET"
    assert server.calls == 3


def test_answer_of_no_service_is_an_error(server, notes):
    server.failures = [(413, {"Content-Type": "text/html"})]

    with pytest.raises(RecordsError, match="413 REQUEST ENTITY TOO LARGE") as caught:
        write(notes)

    assert caught.value.code == 413


def test_no_server_is_an_error_with_its_cause():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    retries = Retries(times=1)

    with ThreadClient(f"http://127.0.0.1:{port}", retries=retries) as client:
        with pytest.raises(Unreachable) as caught:
            write(ThreadService(client, "notes", {}))

    assert isinstance(caught.value.__cause__, httpx.ConnectError)


def test_silence_is_an_error_after_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"http://127.0.0.1:{port}"

        with ThreadClient(url, timeout=0.05, retries=Retries(times=1)) as client:
            with pytest.raises(Unreachable, match="ReadTimeout"):
                write(ThreadService(client, "notes", {}))


@pytest.mark.parametrize("error", ERRORS.values())
def test_each_class_of_the_server_has_one_of_the_client(server, notes, error):
    server.failures = [(error.code, {})]

    with pytest.raises(RecordsError) as caught:
        write(notes)

    assert type(caught.value).__name__ == error.__name__
    assert caught.value.name == error().name


def test_answer_of_another_form_is_an_error(notes):
    with pytest.raises(RecordsError, match="another form"):
        notes._run(notes._calls.find(None))
