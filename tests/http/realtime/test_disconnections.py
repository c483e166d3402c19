"""Connections that the application ends."""

from __future__ import annotations

import queue
from functools import partial

import pytest
import socketio
import websocket

from flask_records import AuthenticationService
from flask_records import hash_password
from flask_records import SQLAlchemyService
from flask_records.realtime import Realtime

from ... import waiting
from ...authentication import ANN
from ...authentication import CHEAP
from ...models import User
from ...realtime import BOB
from ...realtime import live
from ...realtime import make_live_records

wait_until = partial(waiting.wait_until, seconds=30)


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def app(site):
    site.register(BOB)

    with site.app.app_context():
        yield site.app


def packets_of(client):
    """The packets of Socket.IO that a client gets until the server hangs up."""
    packets = []

    try:
        while packet := client.socket.recv():
            # An empty message ends the session.
            packets += [packet] if packet != "1" else []
    except (OSError, websocket.WebSocketException):
        pass

    return packets


def test_all_connections_of_a_user_end_with_the_reason(site, app):
    clients = [site.connect(ANN), site.connect(ANN)]
    bob = site.connect(BOB)

    site.realtime.disconnect({"id": 1, "email": "x"}, reason="See you.")

    told = ['42["disconnected",{"message":"See you."}]', "41"]
    assert [packets_of(client)[-2:] for client in clients] == [told, told]
    assert bob.result("find", "messages") == []
    wait_until(lambda: len(site.connections) == 1)


def test_users_are_named_by_their_identifiers_too(site, app):
    ann, bob = site.connect(ANN), site.connect(BOB)

    site.realtime.disconnect(2)

    assert packets_of(bob)[-1] == "41"
    assert ann.result("find", "messages") == []


def test_one_connection_ends(site, app):
    first = site.connect(ANN)
    (connection,) = site.connections
    second = site.connect(ANN)

    site.realtime.disconnect(connection=connection)

    assert packets_of(first)[-1] == "41"
    assert second.result("find", "messages") == []


def test_connections_of_a_channel_end(site, app):
    clients = {ANN["email"]: site.connect(ANN), BOB["email"]: site.connect(BOB)}
    room = site.realtime.channel("rooms/1")
    room.join(*[c for c in site.connections if c.user["email"] == BOB["email"]])

    room.disconnect("The room is closed.")

    bob = clients[BOB["email"]]
    assert '42["disconnected",{"message":"The room is closed."}]' in packets_of(bob)
    wait_until(lambda: room.connections == [])
    assert clients[ANN["email"]].result("find", "messages") == []


def test_client_that_polls_is_told_the_reason(site, app):
    client, told = socketio.Client(reconnection=False), queue.Queue()
    client.on("disconnected", told.put)
    bearer = f"Bearer {site.token(ANN)}"
    headers = {"Authorization": bearer}
    client.connect(site.url, headers, transports=["polling"], wait_timeout=10)

    site.realtime.disconnect(1, reason="See you.")

    assert told.get(timeout=10) == {"message": "See you."}
    wait_until(lambda: not client.connected)
    assert client.transport() == "polling"


def test_receivers_run_at_the_end(records, tmp_path):
    realtime = Realtime(records)
    ended = []
    realtime.connections("disconnect")(lambda event, c: ended.append(c.user["email"]))

    with live(records, tmp_path, realtime=realtime) as site:
        site.connect(ANN)

        with site.app.app_context():
            realtime.disconnect(1)

        wait_until(lambda: ended == [ANN["email"]])


def test_connections_end_after_the_commit_only(records, site, app):
    site.connect(ANN)
    rooms = records["rooms"]

    @rooms.after("create")
    def disconnect(method, context):
        site.realtime.disconnect(1)

        if context.data["name"] == "fails":
            raise ValueError

    bob = site.connect(BOB)
    assert bob.error("create", "rooms", {"name": "fails"})[0] == 500
    assert len(site.connections) == 2

    bob.result("create", "rooms", {"name": "a"})
    wait_until(lambda: len(site.connections) == 1)


def test_client_that_is_disconnected_makes_no_calls(site, app):
    ann = site.connect(ANN)

    site.realtime.disconnect(1)
    wait_until(lambda: site.connections == [])
    ann.send('421["create","rooms",{"name":"a"}]')

    assert not any(packet.startswith("43") for packet in packets_of(ann))
    assert site.records["rooms"].find() == []


def test_user_of_another_service_stays(tmp_path):
    records = make_live_records()
    admins = records.add("admins", SQLAlchemyService(User, hidden=["password"]))
    admins.before("create", "update", "patch")(hash_password())
    records.add("staff", AuthenticationService(users="admins", settings="STAFF"))
    settings = {"secret": "t" * 32, "passwords": CHEAP, "audience": "staff"}

    with live(records, tmp_path, STAFF=settings) as site:
        ann, staff = site.connect(ANN), site.connect()
        staff.result("create", "staff", {"strategy": "local", **ANN})

        with site.app.app_context():
            site.realtime.disconnect(1, authentication="staff")

        assert packets_of(staff)[-1] == "41"
        assert ann.result("find", "messages") == []


def test_neither_user_nor_connection_is_refused(site, app):
    with pytest.raises(TypeError, match="takes a user, or connection="):
        site.realtime.disconnect()


def test_application_without_real_time_is_refused(records):
    with pytest.raises(RuntimeError, match="realtime.init_app"):
        Realtime(records).disconnect(1)
