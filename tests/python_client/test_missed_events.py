"""Events that clients miss while their connection is cut, from a server with a log."""

from __future__ import annotations

import asyncio
import json
import queue
from contextlib import ExitStack

import pytest

from tests.conftest import running
from tests.example import loaded
from tests.example import new_email
from tests.servers import PASSWORD

from .modules import imported
from .relay import relayed

SECONDS = 20
LOG = json.dumps({"seconds": 120, "events": 20})


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The module of the example, and the address of a server."""
    folder = tmp_path_factory.mktemp("example")
    settings = {"FLASK_RECORDS_REALTIME__event_log": LOG}

    with ExitStack() as stack:
        url = f"sqlite:///{folder / 'example.db'}"
        example = stack.enter_context(loaded(url, folder, **settings))
        made = stack.enter_context(imported(example.app, "missed_client"))
        yield made, stack.enter_context(running(example.app))


@pytest.fixture
def credentials(site):
    made, url = site
    credentials = {"email": new_email(), "password": PASSWORD}

    with made.Client(url) as client:
        client.users.create(credentials)

    return credentials


@pytest.fixture
def other(site, credentials):
    """A client that is not cut."""
    made, url = site

    with made.Client(url) as other:
        other.log_in("local", **credentials)
        yield other


def write(client, *texts):
    for text in texts:
        client.messages.create({"text": text})


def test_events_that_were_missed_arrive_in_order(site, credentials, other):
    made, url = site
    seen = queue.Queue()

    with relayed(url) as relay, made.Client(relay.url) as client:
        client.log_in("local", **credentials)
        client.messages.on("created", lambda message: seen.put(message["text"]))
        connections = queue.Queue()
        client.on_connect(connections.put)
        client.connect()
        assert connections.get(timeout=SECONDS) is False

        with relay.down():
            write(other, "one", "two")

        assert connections.get(timeout=SECONDS) is True
        write(other, "three")

        with relay.down():
            write(other, "four")

        texts = [seen.get(timeout=SECONDS) for _ in range(4)]
        assert texts == ["one", "two", "three", "four"]
        assert connections.get(timeout=SECONDS) is True


def test_client_that_missed_too_much_is_told_so(site, credentials, other):
    made, url = site
    seen, connections = queue.Queue(), queue.Queue()

    with relayed(url) as relay, made.Client(relay.url) as client:
        client.log_in("local", **credentials)
        client.messages.on("created", lambda message: seen.put(message["text"]))
        client.on_connect(connections.put)
        client.connect()
        connections.get(timeout=SECONDS)

        with relay.down():
            write(other, *map(str, range(25)))

        assert connections.get(timeout=SECONDS) is False
        write(other, "later")
        assert seen.get(timeout=SECONDS) == "later"


def test_gap_is_told_after_a_login_that_was_cut(site, credentials, other, monkeypatch):
    """The connection after it continues that one, which told nobody of the gap."""
    made, url = site
    connections = queue.Queue()

    with relayed(url) as relay, made.Client(relay.url) as client:
        client.log_in("local", **credentials)
        client.on_connect(connections.put)
        client.connect()
        connections.get(timeout=SECONDS)
        send, cuts = client._listener._login.send, [relay.cut]

        async def cut_or_send(socket):
            if cuts:
                cuts.pop()()
                raise ConnectionError

            return await send(socket)

        monkeypatch.setattr(client._listener._login, "send", cut_or_send)

        with relay.down():
            write(other, *map(str, range(25)))

        assert connections.get(timeout=SECONDS) is False
        assert cuts == []


def test_event_loop_gets_what_it_missed(site, credentials, other):
    made, url = site

    async def use(relay):
        seen, connections = asyncio.Queue(), asyncio.Queue()

        async with made.AsyncClient(relay.url) as client:
            await client.log_in("local", **credentials)
            client.messages.on("created", seen.put)
            client.on_connect(connections.put)
            await client.connect()
            first = await asyncio.wait_for(connections.get(), SECONDS)

            with relay.down():
                await asyncio.to_thread(write, other, "one", "two")

            second = await asyncio.wait_for(connections.get(), SECONDS)
            arrived = [await asyncio.wait_for(seen.get(), SECONDS) for _ in range(2)]
            return first, second, [each["text"] for each in arrived]

    with relayed(url) as relay:
        assert asyncio.run(use(relay)) == (False, True, ["one", "two"])
