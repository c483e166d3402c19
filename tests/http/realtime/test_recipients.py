"""Indexed rules reach the same connections as a look at each of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from werkzeug.datastructures import Headers

from flask_records import FromUser
from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records.realtime.audience import Audience
from flask_records.realtime.connection import Connection
from flask_records.realtime.connections import Connections

from ...databases import served
from ...models import Message
from ...models import User

ID, NAMES, RANK = FromUser("id"), FromUser("names"), FromUser("rank")

QUERIES = [
    {"user_id": ID},
    {"text": NAMES},
    {"text": {"$in": NAMES}, "read": True},
    {"$or": [{"user_id": ID}, {"read": True}]},
    {"$or": [{"user_id": ID}, {"text": NAMES, "rank": RANK}]},
    {"$and": [{"$or": [{"user_id": ID}, {"text": NAMES}]}, {"rank": RANK}]},
    {"$or": [{"user_id": ID}, {"text": {"$search": "a"}}]},
    {"$or": [{"rank": None}, {"rank": RANK}]},
    {"rank": RANK, "user_id": {"$in": ID, "$gt": 1}},
    {"read": False},
    {"$or": [{"read": True}, {"nope": ID}]},
]

RULES = [
    None,
    *QUERIES,
    lambda user: user["id"] == 1 or {"user_id": user["id"]},
    lambda user: {"text": user["names"]} if user else {"read": True},
]
"""Rules for records."""

VISIBLE = [None, *QUERIES[:4], lambda user: bool(user) and user["id"] != 2]
"""Rules for a field."""

NAMED = ["a", "A", "a ", "b", "ä", None]

PAIRS = [(rule, None) for rule in RULES] + [
    (rule, visible) for rule in (None, QUERIES[3]) for visible in VISIBLE[1:]
]

CHANNELS = ("red", "blue", "green")

users = st.none() | st.fixed_dictionaries(
    {
        "id": st.integers(1, 4),
        "names": st.lists(
            st.sampled_from(["a", "A", "a ", "b", "ä", None]), max_size=3
        ),
        "rank": st.sampled_from([0, 1, "1", "x", None, {"$gt": 0}]),
    }
)

values = st.fixed_dictionaries(
    {
        "text": st.sampled_from(["a", "A", "b", "ä", "c"]),
        "rank": st.sampled_from([None, 0, 1]),
        "read": st.booleans(),
        "user_id": st.none() | st.integers(1, 4),
    }
)

changes = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["login", "join", "leave", "assign", "close", "open"]),
        users,
        st.sets(st.sampled_from(CHANNELS), max_size=2),
    ),
    min_size=6,
    max_size=25,
)

published = st.lists(
    st.tuples(
        values,
        st.lists(st.sampled_from(CHANNELS), unique=True, min_size=1),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def live():
    """The services with their rules, the writer of records, and an app's context."""
    from flask_sqlalchemy import SQLAlchemy

    from flask_records import FlaskRecords

    from ...models import Base

    db, records = SQLAlchemy(model_class=Base), FlaskRecords()

    for rule, visible in PAIRS:
        service = SQLAlchemyService(
            Message,
            whitelist=["$search", "$and"],
            visible=None if visible is None else {"text": visible},
        )
        path = f"m/{RULES.index(rule)}/{VISIBLE.index(visible)}"
        records.add(path, service, readable=rule, public=True)

    with served(db, records, "sqlite://") as app, app.app_context():
        db.session.add_all([User(email=str(number)) for number in range(4)])
        db.session.commit()
        yield records


def login_of(user, authenticator):
    if user is None:
        return Params()

    return Params(
        authenticated=True,
        authenticator=authenticator,
        user=user,
        # As if each login was another user: rights are remembered by user.
        user_id=id(user),
    )


def apply(changes, connections):
    """Let connections open, change and close."""
    for number, action, user, channels in changes:
        connection = connections.get(str(number))

        if connection is None:
            connection = Connection(str(number), Headers(), 50, connections)
            connection.join("red")
            connections.add(connection)
        elif action == "close":
            connections.remove(connection.id)

        if action in ("login", "open"):
            connection.set_login(login_of(user, None))
        elif action == "join":
            connection.join(*channels)
        elif action == "leave":
            connection.leave(*channels)
        elif action == "assign":
            connection.channels = channels


def is_met(rule, service, record, user):
    """Ask the database if a user meets a rule."""
    try:
        answer = rule(user)

        if isinstance(answer, bool) or answer is None:
            return answer

        service._get(record["id"], Params(query=dict(answer)))
        return True
    except Exception:
        return False


def expected(service, connection, message):
    """The part of an event that a connection gets, or ``None``."""
    user, record = connection.user, message["record"]
    names = [name for name in message["channels"] if name in connection.channels]

    if not names:
        return None

    if service.readable is not None:
        answer = is_met(service.readable, service, record, user)

        if answer is False:
            return None

    data = message.get("data", {}).get(names[0], record)
    rules = service.capabilities.field_rules.visible
    hidden = [
        name
        for name, rule in rules.items()
        if is_met(rule, service, record, user) in (False, None)
    ]
    return {name: data[name] for name in data if name not in hidden}


@settings(max_examples=15, deadline=None, derandomize=True)
@given(changes, published, changes)
def test_connections_get_what_their_rules_allow(live, first, events, second):
    connections = Connections()
    audience = Audience(live, connections)
    messages = messages_of(live["m/0/0"], events)
    apply(first, connections)

    # Users and channels change after the first events.
    for service in live.services.values():
        audience.deliveries([{**each, "service": service.path} for each in messages])

    apply(second, connections)
    opened = list(connections.values())
    some = opened[::2]
    ids = {each.id for each in some}

    for service in live.services.values():
        own = [{**each, "service": service.path} for each in messages]
        wanted = [wanted_of(service, opened, message) for message in own]
        assert received(audience.deliveries(own)) == wanted, service
        part = [{id: each[id] for id in each if id in ids} for each in wanted]
        assert received(audience.deliveries(own, some)) == part, service


def messages_of(service, events):
    """Messages of records that are stored."""
    messages = []

    for record, channels, has_data in events:
        message = {
            "event": "created",
            "record": service._create(record),
            "channels": channels,
        }

        if has_data:
            message["data"] = {channels[-1]: {"text": "own", "extra": 1}}

        messages.append(message)

    return messages


def wanted_of(service, connections, message):
    """The part of an event that each connection gets, by its id."""
    found = {each.id: expected(service, each, message) for each in connections}
    return {id: data for id, data in found.items() if data is not None}


def received(deliveries):
    """The part of each event that each connection gets."""
    found = []

    for groups in deliveries:
        ids = [each.id for group in groups for each in group.connections]
        assert len(ids) == len(set(ids))
        found.append(
            {each.id: group.record for group in groups for each in group.connections}
        )

    return found
