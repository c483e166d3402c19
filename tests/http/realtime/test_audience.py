"""The connections that get an event."""

from __future__ import annotations

import pytest
from werkzeug.datastructures import Headers

from flask_records import FromUser
from flask_records import Params
from flask_records.query import UserRule
from flask_records.realtime.audience import ANONYMOUS
from flask_records.realtime.audience import Audience
from flask_records.realtime.connection import Connection
from flask_records.realtime.connections import Connections

from ...sql import statements_of


@pytest.fixture(autouse=True)
def context(app):
    with app.app_context():
        yield


def message(id=1, channels=(ANONYMOUS,), **values):
    record = {"id": id, "text": "Hi", "rank": None, "read": False, **values}
    return {
        "service": "messages",
        "event": "created",
        "record": record,
        "channels": list(channels),
    }


def connection(connections, id, *channels):
    new = Connection(id, Headers(), 50, connections)
    new.join(*channels or (ANONYMOUS,))
    connections.add(new)
    return new


def receivers(groups):
    """The ids of the connections that get an event."""
    return [each.id for group in groups for each in group.connections]


def test_events_for_some_connections_reach_no_others(records):
    connections = Connections()
    a, b, c = [connection(connections, id) for id in ("a", "b", "c")]
    audience = Audience(records, connections)

    groups = audience.deliveries([message()], [b])

    assert list(map(receivers, groups)) == [["b"]]
    assert receivers(*audience.deliveries([message()])) == ["a", "b", "c"]


def log_in(connection, **user):
    login = Params(authenticated=True, user=user, user_id=user["id"])
    connection.set_login(login)


def test_query_finds_the_connections_of_a_user(owned):
    connections, audience = owned
    log_in(connections["a"], id=1)
    log_in(connections["b"], id=2)
    events = [message(1, user_id=2), message(2, user_id=1), message(3, user_id=3)]

    found = [receivers(groups) for groups in audience.deliveries(events)]

    assert found == [["b"], ["a"], []]


def test_query_finds_a_connection_by_the_user_of_now(owned):
    connections, audience = owned
    events = [message(1, user_id=1), message(2, user_id=2)]

    def found():
        return [receivers(groups) for groups in audience.deliveries(events)]

    assert found() == [[], []]
    log_in(connections["a"], id=1)
    assert found() == [["a"], []]
    log_in(connections["a"], id=2)
    assert found() == [[], ["a"]]
    connections["a"].set_login(Params())
    assert found() == [[], []]


def test_function_is_asked_again_in_each_transaction(owned, messages):
    connections, audience = owned
    log_in(connections["a"], id=1)
    allowed = set()
    messages.readable = lambda user: {"user_id": {"$in": list(allowed)}}

    assert receivers(*audience.deliveries([message(user_id=1)])) == []
    allowed.add(1)
    assert receivers(*audience.deliveries([message(user_id=1)])) != []


def test_query_asks_the_rule_for_the_owners_only(owned, messages, monkeypatch):
    connections, audience = owned
    [log_in(each, id=number) for number, each in enumerate(connections.values())]
    asked = []
    rule = messages.readable_by
    monkeypatch.setattr(
        messages, "readable_by", lambda user: asked.append(user["id"]) or rule(user)
    )

    assert receivers(*audience.deliveries([message(user_id=1)])) == ["b"]
    assert asked == [1]


def test_texts_such_as_uuids_are_compared_without_the_database(owned, messages, db):
    connections, audience = owned
    log_in(connections["a"], id=1, name="6f1c")
    log_in(connections["b"], id=2, name="70aa")
    messages.readable = lambda user: {"text": user["name"]} if user else {"id": []}

    with statements_of(db.engine) as executed:
        groups = audience.deliveries([message(text="6f1c")])

    assert (receivers(*groups), executed) == (["a"], [])


@pytest.fixture
def owned(records, messages):
    """Three connections, and the audience of records that belong to users."""
    messages.readable = UserRule({"user_id": FromUser("id")}, "readable")
    connections = Connections()
    [connection(connections, id) for id in ("a", "b", "c")]
    return connections, Audience(records, connections)
