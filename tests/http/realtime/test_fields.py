"""Fields in events, by receiver."""

import json
from contextlib import contextmanager, ExitStack

import pytest

from flask_records import SQLAlchemyService
from flask_records.http.formatter import dumps

from ...authentication import ANN, bearer, log_in, make_records
from ...models import Message, User
from ...realtime import BOB, in_memory, make_live_records


def own(user):
    """The records of the user."""
    return user and {"user_id": user["id"]}


@pytest.fixture
def open_site(tmp_path):
    """A function that opens a site with notes whose fields are visible by rules."""

    @contextmanager
    def sites(options, **rest):
        records = make_live_records()
        service = SQLAlchemyService(Message, multi=True, events=["typing"], **rest)
        records.add("notes", service, **options)

        with in_memory(records, tmp_path) as site:
            site.register(BOB)

            with site.app.app_context():
                yield site

    with ExitStack() as stack:
        yield lambda readable=None, **rest: stack.enter_context(
            sites({"readable": readable}, **rest)
        )


def ranks(client, number=1):
    """The names of the events that a client gets, and the field with a rule."""
    events = events_of(client, number)
    return [(name[6:], record.get("rank", "absent")) for name, record in events]


def events_of(client, number):
    """The events of a client, of which there are so many."""
    events = client.events()
    assert len(events) == number
    return events


NEW = {"text": "Hi", "rank": 1, "user_id": 1}


def write(site):
    """Write a note in Python in all ways."""
    notes = site.records["notes"]
    created = notes.create(NEW)
    notes.patch(created["id"], {"rank": 2})
    notes.update(created["id"], {**NEW, "rank": 3})
    notes.emit("typing", created)
    notes.remove(created["id"])


EVENTS = [("created", 1), ("patched", 2), ("updated", 3), ("typing", 1), ("removed", 3)]


def test_receivers_get_the_fields_that_they_may_see(open_site):
    site = open_site(visible={"rank": own})
    ann, bob = site.connect(ANN), site.connect(BOB)

    write(site)

    assert ranks(ann, 5) == EVENTS
    assert ranks(bob, 5) == [(name, "absent") for name, _ in EVENTS]


def test_event_has_what_its_caller_may_not_see(open_site):
    site = open_site(visible={"rank": own})
    ann, bob = site.connect(ANN), site.connect(BOB)
    site.records["notes"].create(NEW)
    ranks(ann)

    bob.result("patch", "notes", 1, {"text": "Ho"})

    assert ranks(ann) == [("patched", 1)]


def test_rule_that_fails_shows_nothing(open_site, caplog):
    def rule(user):
        raise RuntimeError("no rule")

    site = open_site(visible={"rank": rule})
    ann = site.connect(ANN)

    site.records["notes"].create(NEW)

    assert ranks(ann) == [("created", "absent")]
    assert "The 'visible' rule of 'notes' failed." in caplog.text


def test_user_sees_itself_in_logins(tmp_path):
    rules = {
        "email": lambda user: user and {"id": user["id"]},
        "age": lambda user: False,
    }
    users = SQLAlchemyService(User, hidden=["password"], visible=rules)
    records = make_records(users=users)
    seen = []
    authentication = records["authentication"]
    authentication.events()(lambda event, record, context: seen.append(record))

    with in_memory(records, tmp_path) as site:
        site.register(BOB)
        login = site.connect().log_in(ANN)
        headers = bearer(log_in(site.http))
        people = site.http.get("/users", headers=headers).json
        echo = site.http.get("/echo", headers=headers).json

    assert login["user"] == {"id": 1, "email": "ann@example.com"}
    assert echo["user"] == {"id": 1, "email": "ann@example.com"}
    assert people == [{"id": 1, "email": "ann@example.com"}, {"id": 2}]
    assert [json.loads(dumps(each["user"])) for each in seen] == [{"id": 1}] * 2
