"""Relationships that hooks ask for, in the events that each client gets."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from flask_records import Forbidden
from flask_records import FromUser
from flask_records import Params
from flask_records import protect
from flask_records import SQLAlchemyService
from flask_records.query import rule_of

from ...databases import redis_url
from ...models import Message
from ...models import Room
from ...realtime import ANN
from ...realtime import BOB
from ...realtime import in_memory
from ...realtime import make_live_records
from ...sql import statements_of
from ...waiting import wait_until

SHOWN = {"id": 1, "email": "ann@example.com", "age": None}


@pytest.fixture(params=["one process", "redis"])
def open_site(request, tmp_path, app_contexts):
    """A function that opens a site, whose events go through Redis or not."""
    settings = None

    if request.param == "redis":
        settings = {"message_queue": redis_url(), "channel": f"e{tmp_path.name}"}

    def open(records):
        site = app_contexts.enter_context(in_memory(records, tmp_path, settings))
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
    found = []
    wait_until(lambda: found.extend(client.events()) or found)
    [(name, record)] = found
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

    found = []
    wait_until(lambda: found.extend(bob.events()) or len(found) == 5)
    assert [record for _, record in found] == answers
    assert [record["user"] for _, record in found] == [SHOWN] * 5
    assert [record["room"] for _, record in found] == [room] * 3 + [None] * 2


@pytest.mark.parametrize("query", [None, {}, {"$populate": "user"}])
def test_query_of_a_client_does_not_change_what_a_hook_asks_for(open_site, query):
    site = open_site(populating("user"))
    ann, bob = site.connect(ANN), site.connect(BOB)

    ann.result("create", "messages", {"text": "Hi", "user_id": 1}, query)

    assert event_of(bob)["user"] == SHOWN


def test_relationship_that_a_client_asks_for_is_in_no_event(open_site):
    site = open_site(make_live_records())
    ann, bob = site.connect(ANN), site.connect(BOB)
    query = {"$populate": ["user"]}

    ann.result("create", "messages", {"text": "Hi", "user_id": 1}, query)

    assert "user" not in event_of(bob)


def test_hook_that_adds_to_the_list_of_a_client_adds_to_events(open_site):
    records = make_live_records()

    @records["messages"].before("create")
    def populate(method, context):
        context.params.query["$populate"].append("room")

    site = open_site(records)
    ann, bob = site.connect(ANN), site.connect(BOB)
    query = {"$populate": ["user"]}

    ann.result("create", "messages", {"text": "Hi", "user_id": 1}, query)

    record = event_of(bob)
    assert "user" not in record
    assert record["room"] is None


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


def notes_in(records, lobbies, **options):
    """A service whose records have a room, as a service of its own shows it."""
    records.add("lobbies", lobbies, **options)
    service = SQLAlchemyService(
        Message, populate={"room": "lobbies"}, whitelist=["$populate"]
    )
    notes = records.add("notes", service)

    @notes.before()
    def populate(method, context):
        context.params.query["$populate"] = "room"

    return notes


def test_receiver_gets_the_fields_that_it_may_see(open_site):
    records = make_live_records()
    names = {"name": lambda user: user["id"] == 1}
    notes = notes_in(records, SQLAlchemyService(Room, visible=names))
    site = open_site(records)
    ann, bob = site.connect(ANN), site.connect(BOB)
    room = records["rooms"]._create({"name": "Secret"})

    notes.create({"text": "Hi", "room_id": room["id"]})

    assert event_of(ann)["room"] == {"id": 1, "name": "Secret"}
    assert event_of(bob)["room"] == {"id": 1}


def test_receiver_without_access_to_related_records_gets_none(open_site):
    records = make_live_records()
    notes = notes_in(records, SQLAlchemyService(Room), strategies=["api-key"])
    site = open_site(records)
    bob = site.connect(BOB)
    room = records["rooms"]._create({"name": "Secret"})

    notes.create({"text": "Hi", "room_id": room["id"]})

    assert "room" not in event_of(bob)


def test_receivers_in_python_get_no_relationships(open_site):
    records = populating("user")
    seen = []
    records.events("created")(lambda event, record, context: seen.append(record))
    open_site(records)

    records["messages"].create({"text": "Hi", "user_id": 1})

    assert "user" not in seen[0]


def test_data_of_a_publisher_is_sent_as_it_is(open_site):
    records = populating("user")
    data = {"authenticated": {"id": 1}}
    records["messages"].publish()(lambda event, record, context: data)
    site = open_site(records)
    bob = site.connect(BOB)

    records["messages"].create({"text": "Hi", "user_id": 1})

    assert event_of(bob) == {"id": 1}


def test_record_without_its_key_has_no_relationship(open_site):
    records = populating("user")
    records["messages"].after("create")(protect("user_id"))
    site = open_site(records)
    bob = site.connect(BOB)

    records["messages"].create({"text": "Hi", "user_id": 1}, Params(provider=None))

    assert "user" not in event_of(bob)


@pytest.mark.parametrize(("has_hook", "statements"), [(False, 1), (True, 2)])
def test_users_who_see_the_same_share_a_look_up(tmp_path, has_hook, statements):
    records = populating("user")

    if has_hook:
        records["users"].after("find")(protect("age"))

    with in_memory(records, tmp_path) as site, site.app.app_context():
        site.register(BOB)
        clients = [site.connect(user) for user in (ANN, BOB, ANN)]
        db = site.app.extensions["sqlalchemy"]

        with statements_of(db.engine) as executed:
            records["messages"].create({"text": "Hi", "user_id": 1})
            site.settle()

        emails = [event_of(client)["user"]["email"] for client in clients]

    assert emails == ["ann@example.com"] * 3
    found = [each for each in executed if "user_account.id IN" in each]
    # One is for the caller.
    assert len(found) == 1 + statements


def test_anonymous_receiver_gets_what_is_public(tmp_path):
    records = populating("user", public=["find"])
    records["messages"].publish()(lambda *_: ["anonymous", "authenticated"])

    with in_memory(records, tmp_path) as site, site.app.app_context():
        nobody, ann = site.connect(), site.connect(ANN)
        records["messages"].create({"text": "Hi", "user_id": 1})

        assert event_of(ann)["user"] == SHOWN
        assert "user" not in event_of(nobody)


@pytest.mark.parametrize(
    ("rule", "statements"),
    [
        ({"name": FromUser("email")}, 3),
        (lambda user: {"name": "Lobby" if user["id"] < 3 else "Den"}, 2),
        ({"name": "Lobby"}, 1),
    ],
    ids=["by user", "by group", "for all"],
)
def test_users_for_whom_rules_say_the_same_share_a_look_up(tmp_path, rule, statements):
    records = populating("room")
    records["rooms"].readable = rule_of(rule, "readable")

    with in_memory(records, tmp_path) as site, site.app.app_context():
        site.register(BOB)
        eve = {"email": "eve@example.com", "password": "x"}
        site.register(eve)
        clients = [site.connect(user) for user in (ANN, BOB, eve)]
        room = records["rooms"]._create({"name": "Lobby"})
        db = site.app.extensions["sqlalchemy"]

        with statements_of(db.engine) as executed:
            records["messages"].create([{"text": "Hi", "room_id": room["id"]}] * 3)
            site.settle()

        rooms = [[record["room"] for _, record in each.events()] for each in clients]

    shown = {1: [1, 1, 1], 2: [1, 1, 0], 3: [0, 0, 0]}[statements]
    assert rooms == [[room if is_shown else None] * 3 for is_shown in shown]
    found = [each for each in executed if "room.id IN" in each]
    # One is for the caller.
    assert len(found) == 1 + statements


def test_users_who_see_other_fields_share_no_look_up(tmp_path):
    records = make_live_records()
    names = {"name": lambda user: user["id"] == 1}
    notes = notes_in(records, SQLAlchemyService(Room, visible=names))

    with in_memory(records, tmp_path) as site, site.app.app_context():
        site.register(BOB)
        ann, bob = site.connect(ANN), site.connect(BOB)
        room = records["rooms"]._create({"name": "Secret"})
        notes.create({"text": "Hi", "room_id": room["id"]})

        shown = [event_of(client)["room"] for client in (ann, bob)]

    assert shown == [{"id": 1, "name": "Secret"}, {"id": 1}]
