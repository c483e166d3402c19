"""Events over Socket.IO, from a server of the example."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import queue
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
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
        client.on_connect(lambda is_complete: connections.put(client.token))
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
        example.realtime.disconnect(user["id"], reason="We are closed.")
        thread.join(SECONDS)

    assert not thread.is_alive()
    assert "Events have ended: We are closed." in caplog.text


def test_connection_that_ends_before_its_login_is_an_error(example, made, client):
    def end(method, context):
        def disconnect():
            with example.app.app_context():
                example.realtime.disconnect(connection=context.params.connection)

        # Another thread does so at once, not after the commit of this call.
        with ThreadPoolExecutor() as pool:
            pool.submit(disconnect).result()

    reasons = []
    client.on_end(reasons.append)

    with example.authentication.before.connected_to(end, "create"):
        with pytest.raises(made.Unreachable, match="has ended the connection"):
            client.connect()

    assert reasons == []


def test_login_that_gets_no_answer_in_time_is_an_error(
    example, made, client, monkeypatch
):
    monkeypatch.setattr(made, "SECONDS", 1)
    may_go_on = threading.Event()

    def wait(method, context):
        assert may_go_on.wait(SECONDS)

    with example.authentication.before.connected_to(wait, "create"):
        with pytest.raises(made.Unreachable, match="The login got no answer"):
            client.connect()

        may_go_on.set()


def test_client_that_is_closed_while_it_connects_has_no_connection(made, client):
    ready = client._listener.connect()
    thread = client._listener._thread

    client._listener.close()

    assert not thread.is_alive()
    with pytest.raises(made.Unreachable, match="The client is closed"):
        ready.result(SECONDS)


def test_token_may_change_while_a_client_connects(client, other, seen):
    client.messages.on("created", seen.put)
    token, client.token = client.token, None
    ready = client._listener.connect()

    while client._listener._socket is None:
        time.sleep(0)

    client.token = token

    ready.result(SECONDS)
    wait_for_login(client, other, seen)


def test_task_that_gives_up_waiting_for_its_connection_may_wait_again(made, url):
    async def use():
        async with made.AsyncClient(url) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.connect(), 0.001)

            await asyncio.wait_for(client.connect(), SECONDS)

    asyncio.run(use())


def test_program_may_connect_again_once_its_connection_is_ended(
    example, client, other, credentials, seen
):
    def connect(reason):
        client.connect()
        seen.put(reason)

    user = client.users.find({"email": credentials["email"]}).data[0]
    client.messages.on("created", seen.put)
    client.on_end(connect)
    client.connect()

    with example.app.app_context():
        example.realtime.disconnect(user["id"], reason="We are closed.")

    assert seen.get(timeout=SECONDS) == "We are closed."
    other.messages.create({"text": "a"})
    assert texts_of(seen, 1) == ["a"]


def test_login_that_is_revoked_is_renewed(made, url, client, other, seen):
    revoked = client.token
    client.messages.on("created", seen.put)
    client.connect()

    other.log_out()
    wait_until(lambda: client.token != revoked, SECONDS)

    other.token = client.token
    wait_for_login(client, other, seen)


def test_program_is_told_that_a_login_is_over(
    made, url, client, other, credentials, seen
):
    reasons = queue.Queue()

    with made.Client(url, token=client.token) as another:
        another.messages.on("created", seen.put)
        another.on_end(reasons.put)
        another.connect()
        other.log_out()

        assert reasons.get(timeout=SECONDS) == "jwt revoked"
        another.log_in("local", **credentials)
        client.renew()
        wait_for_login(another, client, seen)


def test_task_is_told_that_a_login_is_over(made, url, credentials):
    async def use():
        reasons = asyncio.Queue()

        async with made.AsyncClient(url) as owner:
            await owner.log_in("local", **credentials)

            async with made.AsyncClient(url, token=owner.token) as client:
                client.on_end(reasons.put)
                await client.connect()
                await owner.log_out()
                return await asyncio.wait_for(reasons.get(), SECONDS)

    assert asyncio.run(use()) == "jwt revoked"


def test_login_that_fails_for_now_is_tried_again(
    made, url, credentials, client, seen, monkeypatch
):
    with relayed(url) as relay, made.Client(relay.url) as another:
        another.log_in("local", **credentials)
        another.on_connect(seen.put)
        another.connect()
        assert seen.get(timeout=SECONDS) is False
        send = another._listener._login.send
        failures = [made.Unavailable("Not now", 503), TimeoutError()]

        async def fail_or_send(socket):
            if failures:
                raise failures.pop()

            return await send(socket)

        monkeypatch.setattr(another._listener._login, "send", fail_or_send)
        relay.cut()

        assert seen.get(timeout=SECONDS) is False
        assert failures == []


def test_functions_of_an_event_loop_run_in_it(made, url, credentials):
    async def use():
        arrived = asyncio.Queue()

        async def put(message):
            await arrived.put((message["text"], asyncio.get_running_loop()))

        async with made.AsyncClient(url) as client:
            await client.log_in("local", **credentials)
            client.messages.on("created", put)
            client.on_connect(arrived.put_nowait)
            await client.connect()
            await client.messages.create_many([{"text": "a"}, {"text": "b"}])
            events = [await asyncio.wait_for(arrived.get(), SECONDS) for _ in range(3)]
            return events, asyncio.get_running_loop()

    events, loop = asyncio.run(use())

    assert events == [False, ("a", loop), ("b", loop)]


def test_login_of_a_connection_is_renewed_before_its_token_expires(tmp_path):
    short = {"FLASK_RECORDS_AUTHENTICATION__lifetime": "4"}
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
        reasons = queue.Queue()
        other.on_end(reasons.put)
        other.connect()

        assert tokens.get(timeout=SECONDS) != first
        # One without credentials can't do so.
        assert reasons.get(timeout=SECONDS) == "jwt expired"
        assert other.token == first
