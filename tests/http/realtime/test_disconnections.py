"""Connections that the application ends."""

from __future__ import annotations

import pytest

from flask_records import AuthenticationService, hash_password, SQLAlchemyService
from flask_records.realtime import Realtime

from ...authentication import ANN, CHEAP
from ...models import User
from ...realtime import BOB, in_memory, make_live_records

TOLD = [["disconnected", {"message": "See you."}]]


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def app(site):
    site.register(BOB)

    with site.app.app_context():
        yield site.app


@pytest.mark.parametrize("user", [1, {"id": 1, "email": "x"}])
def test_all_connections_of_a_user_end_with_the_reason(site, app, user):
    clients, bob = [site.connect(ANN), site.connect(ANN)], site.connect(BOB)

    site.realtime.disconnect(user, reason="See you.")

    assert [client.events() for client in clients] == [TOLD, TOLD]
    assert [client.is_connected for client in clients] == [False, False]
    assert bob.result("find", "messages") == []
    assert len(site.connections) == 1


def test_one_connection_ends(site, app):
    first = site.connect(ANN)
    (connection,) = site.connections
    second = site.connect(ANN)

    site.realtime.disconnect(connection=connection)

    assert (first.is_connected, second.is_connected) == (False, True)


def test_connections_of_a_channel_end(site, app):
    ann, bob = site.connect(ANN), site.connect(BOB)
    room = site.realtime.channel("rooms/1")
    room.join(*[c for c in site.connections if c.user["email"] == BOB["email"]])

    room.disconnect("See you.")

    assert (bob.events(), room.connections) == (TOLD, [])
    assert (ann.is_connected, bob.is_connected) == (True, False)


def test_connections_end_after_the_commit_only(records, site, app):
    ann, bob = site.connect(ANN), site.connect(BOB)

    @records["rooms"].after("create")
    def disconnect(method, context):
        site.realtime.disconnect(1)

        if context.data["name"] == "fails":
            raise ValueError

    assert bob.error("create", "rooms", {"name": "fails"})[0] == 500
    assert ann.is_connected

    bob.result("create", "rooms", {"name": "a"})
    assert not ann.is_connected


def test_user_of_another_service_stays(tmp_path):
    records = make_live_records()
    admins = records.add("admins", SQLAlchemyService(User, hidden=["password"]))
    admins.before("create", "update", "patch")(hash_password())
    records.add("staff", AuthenticationService(users="admins", settings="STAFF"))
    settings = {"secret": "t" * 32, "passwords": CHEAP, "audience": "staff"}

    with in_memory(records, tmp_path, STAFF=settings) as site:
        ann, staff = site.connect(ANN), site.connect()
        staff.result("create", "staff", {"strategy": "local", **ANN})

        with site.app.app_context():
            site.realtime.disconnect(1, authentication="staff")

        assert (ann.is_connected, staff.is_connected) == (True, False)


def test_neither_user_nor_connection_is_refused(site, app):
    with pytest.raises(TypeError, match="takes a user, or connection="):
        site.realtime.disconnect()


def test_application_without_real_time_is_refused(records):
    with pytest.raises(RuntimeError, match="realtime.init_app"):
        Realtime(records).disconnect(1)
