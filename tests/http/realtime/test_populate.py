"""Relationships that hooks ask for, in the events that each client gets."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from flask_records import Forbidden

from ...realtime import ANN, BOB, in_memory, make_live_records

SHOWN = {"id": 1, "email": "ann@example.com", "age": None}


@pytest.fixture
def open_site(tmp_path, app_contexts):
    """A function that opens a site."""

    def open(records):
        site = app_contexts.enter_context(in_memory(records, tmp_path))
        app_contexts.enter_context(site.app.app_context())
        site.register(BOB)
        return site

    return open


@pytest.fixture
def app_contexts():
    with ExitStack() as stack:
        yield stack


def populating(*names, **options):
    """An extension whose messages have relationships, whoever calls."""
    records = make_live_records(**options)

    @records["messages"].before()
    def populate(method, context):
        context.params.query["$populate"] = list(names)

    return records


def event_of(client):
    """The record of the next event of a client."""
    [(name, record)] = client.events()
    return record


def test_events_have_the_relationships_that_a_hook_asks_for(open_site):
    site = open_site(populating("user", "room"))
    ann, bob = site.connect(ANN), site.connect(BOB)
    room = site.records["rooms"].create({"name": "Lobby"})
    event_of(ann), event_of(bob)

    data = {"text": "Hi", "user_id": 1, "room_id": room["id"]}
    answers = [
        ann.result("create", "messages", data),
        ann.result("patch", "messages", 1, {"text": "Ho"}),
        ann.result("update", "messages", 1, data),
        ann.result("patch", "messages", None, {"room_id": None})[0],
        ann.result("remove", "messages", 1),
    ]

    found = bob.events()
    assert [record for _, record in found] == answers
    assert [record["user"] for _, record in found] == [SHOWN] * 5
    assert [record["room"] for _, record in found] == [room] * 3 + [None] * 2


def test_relationship_that_a_client_asks_for_is_in_no_event(open_site):
    site = open_site(make_live_records())
    ann, bob = site.connect(ANN), site.connect(BOB)
    query = {"$populate": ["user"]}

    ann.result("create", "messages", {"text": "Hi", "user_id": 1}, query)

    assert "user" not in event_of(bob)


def private(records):
    """Rooms that only Ann may see, by a rule."""
    records["rooms"].readable = lambda user: user["id"] == 1


def restricted(records):
    """Rooms that only Ann finds, by a hook."""

    @records["rooms"].before("find")
    def restrict_to_ann(method, context):
        if context.params.provider and context.params.user["id"] != 1:
            context.params.query["id"] = None


def refused(records):
    """Rooms that only Ann may ask for."""

    @records["rooms"].before("find")
    def refuse(method, context):
        if context.params.provider and context.params.user["id"] != 1:
            raise Forbidden("Secret")


@pytest.mark.parametrize(
    ("rule", "shown"), [(private, None), (restricted, None), (refused, "absent")]
)
@pytest.mark.parametrize("writer", [ANN, BOB, None])
def test_receiver_gets_no_record_that_it_may_not_see(open_site, rule, shown, writer):
    records = populating("room")
    rule(records)
    site = open_site(records)
    ann, bob = site.connect(ANN), site.connect(BOB)
    room = records["rooms"]._create({"name": "Secret"})
    data = {"text": "Hi", "room_id": room["id"]}

    if writer is None:
        records["messages"].create(data)
    else:
        client = {"ann": ann, "bob": bob}[writer["email"][:3]]
        # The write itself may be refused for the hook.
        client.call("create", "messages", data)

    if writer is BOB and rule is refused:
        assert bob.events() == []
        return

    assert event_of(ann)["room"] == {"id": 1, "name": "Secret"}
    assert event_of(bob).get("room", "absent") == shown
