"""Events over Socket.IO, from a server of the example."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import queue
import socket
from contextlib import ExitStack

import pytest

from tests.conftest import running
from tests.example import loaded
from tests.example import new_email
from tests.example import new_room
from tests.servers import PASSWORD
from tests.waiting import wait_until

from .modules import imported
from .relay import relayed

SECONDS = 20


@pytest.fixture
def other(made, url, client):
    """Another client of the same user, which makes the events."""
    with made.Client(url, token=client.token) as other:
        yield other


@pytest.fixture
def seen():
    """The records of events, in the order of their arrival."""
    return queue.Queue()


def texts_of(seen, number):
    return [seen.get(timeout=SECONDS)["text"] for _ in range(number)]


def test_records_of_events_arrive_in_order(client, other, seen):
    client.messages.on("created", seen.put)
    client.connect()

    made = other.messages.create_many([{"text": str(number)} for number in range(30)])

    records = [seen.get(timeout=SECONDS) for _ in range(30)]
    assert records == made
    assert isinstance(records[0]["createdAt"], dt.datetime)


def test_custom_events_arrive(client, other, seen):
    room = other.rooms.create(new_room())["id"]
    client.messages.on("typing", seen.put)
    client.connect()

    other.messages.typing({"roomId": room})

    assert seen.get(timeout=SECONDS)["roomId"] == room


def test_function_may_call_services_and_is_called_until_it_ends(client, other, seen):
    def mark(message):
        seen.put(client.messages.patch(message["id"], {"read": True}))

    end = client.messages.on("created", mark)
    client.connect()
    other.messages.create({"text": "a"})

    assert seen.get(timeout=SECONDS)["read"] is True

    end()
    client.messages.on("created", seen.put)
    other.messages.create({"text": "b"})
    assert seen.get(timeout=SECONDS)["read"] is False


def test_error_of_a_function_is_logged(client, other, seen, caplog):
    client.messages.on("created", lambda message: 1 / 0)
    client.messages.on("created", seen.put)
    client.connect()

    other.messages.create({"text": "a"})

    assert texts_of(seen, 1) == ["a"]
    assert "ZeroDivisionError" in caplog.text


def test_connection_comes_back_with_its_login(made, url, credentials, other, seen):
    connections = queue.Queue()

    with relayed(url) as relay, made.Client(relay.url) as client:
        client.log_in("local", **credentials)
        client.messages.on("created", seen.put)
        client.on_connect(lambda: connections.put(client.token))
        client.connect()
        connections.get(timeout=SECONDS)
        relay.cut()

        assert connections.get(timeout=SECONDS) == client.token
        other.messages.create({"text": "after"})
        assert texts_of(seen, 1) == ["after"]


def test_connection_has_the_login_of_the_client(made, url, credentials, other, seen):
    with made.Client(url) as client:
        client.messages.on("created", seen.put)
        client.connect()
        other.messages.create({"text": "before"})
        client.log_in("local", **credentials)
        wait_for_login(client, other, seen)


def wait_for_login(client, other, seen):
    """Make events until one arrives, which none does before the login."""
    for number in range(100):
        other.messages.create({"text": f"after {number}"})

        try:
            text = seen.get(timeout=0.1)["text"]
        except queue.Empty:
            continue

        assert text.startswith("after")
        return

    raise AssertionError("There was no event.")


def test_login_of_a_connection_is_renewed(made, url, client, other, seen):
    token = client.token

    with made.Client(url, token=token) as another:
        another.log_out()

    client.messages.on("created", seen.put)
    client.connect()

    assert client.token != token
    other.token = client.token
    other.messages.create({"text": "a"})
    assert texts_of(seen, 1) == ["a"]


def test_token_that_is_not_valid_is_an_error(made, url):
    with made.Client(url, token="x.y.z") as client:
        with pytest.raises(made.NotAuthenticated):
            client.connect()


def test_no_server_is_an_error(made):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    with made.Client(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(made.Unreachable, match="There is no connection"):
            client.connect()


def test_connection_that_the_application_ends_stays_away(
    example, client, caplog, credentials
):
    user = client.users.find({"email": credentials["email"]}).data[0]
    client.connect()
    thread = client._listener._thread

    with example.app.app_context(), caplog.at_level(logging.WARNING):
        example.realtime.disconnect(user["id"])
        thread.join(SECONDS)

    assert not thread.is_alive()
    assert "The application has ended the connection." in caplog.text


def test_functions_of_an_event_loop_run_in_it(made, url, credentials):
    async def use():
        arrived = asyncio.Queue()

        async def put(message):
            await arrived.put((message["text"], asyncio.get_running_loop()))

        async with made.AsyncClient(url) as client:
            await client.log_in("local", **credentials)
            client.messages.on("created", put)
            client.on_connect(lambda: arrived.put_nowait("connected"))
            await client.connect()
            await client.messages.create_many([{"text": "a"}, {"text": "b"}])
            events = [await asyncio.wait_for(arrived.get(), SECONDS) for _ in range(3)]
            return events, asyncio.get_running_loop()

    events, loop = asyncio.run(use())

    assert events == ["connected", ("a", loop), ("b", loop)]


def test_login_of_a_connection_is_renewed_before_its_token_expires(tmp_path, caplog):
    short = {"FLASK_RECORDS_AUTHENTICATION__lifetime": "2"}
    tokens = queue.Queue()
    user = {"email": new_email(), "password": PASSWORD}

    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path / 'short.db'}"
        example = stack.enter_context(loaded(url, tmp_path, **short))
        made = stack.enter_context(imported(example.app, "short_client"))
        address = stack.enter_context(running(example.app))
        client = stack.enter_context(made.Client(address))
        client.users.create(user)
        client.log_in("local", **user)
        client.connect()
        first, refresh = client.token, client._listener.refresh
        client._session.changed = lambda: refresh() or tokens.put(client.token)
        other = stack.enter_context(made.Client(address, token=first))
        other.connect()

        assert tokens.get(timeout=SECONDS) != first
        # One without credentials can't do so.
        wait_until(lambda: "The token has expired" in caplog.text, SECONDS)
        assert other.token == first
