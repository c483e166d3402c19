"""Connections that the application ends."""

import pytest

from flask_records.realtime import Realtime

from ...authentication import ANN
from ...realtime import BOB

TOLD = [["disconnected", {"message": "See you."}]]


@pytest.fixture
def app(site):
    site.register(BOB)

    with site.app.app_context():
        yield site.app


def test_connections_of_a_channel_end_with_the_reason(site, app):
    clients, bob = [site.connect(ANN), site.connect(ANN)], site.connect(BOB)

    site.realtime.channel("users/1").disconnect("See you.")

    assert [client.events() for client in clients] == [TOLD, TOLD]
    assert [client.is_connected for client in clients] == [False, False]
    assert bob.result("find", "messages") == []
    assert len(site.connections) == 1


def test_connections_end_after_the_commit_only(records, site, app):
    ann, bob = site.connect(ANN), site.connect(BOB)

    @records["rooms"].after("create")
    def disconnect(method, context):
        site.realtime.channel("users/1").disconnect()

        if context.data["name"] == "fails":
            raise ValueError

    assert bob.error("create", "rooms", {"name": "fails"})[0] == 500
    assert ann.is_connected

    bob.result("create", "rooms", {"name": "a"})
    assert not ann.is_connected


def test_application_without_real_time_is_refused(records):
    with pytest.raises(RuntimeError, match="realtime.init_app"):
        Realtime(records).channel("users/1")
