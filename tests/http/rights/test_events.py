"""Events of writes that rules refuse, and of hooks that answer for a method."""

from contextlib import ExitStack

import pytest

from flask_records import Change, FromUser, SQLAlchemyService

from ... import realtime
from ...models import Message
from ...realtime import BOB, in_memory, make_live_records

OWN = {"user_id": FromUser("id")}


@pytest.fixture
def open_site(tmp_path):
    """A function that opens a site where Ann and Bob have connections, and a note."""
    stack = ExitStack()

    def open(hook=None, **rules):
        records = make_live_records()
        notes = records.add("notes", SQLAlchemyService(Message), **rules)

        if hook is not None:
            notes.before("remove")(hook)

        site = stack.enter_context(in_memory(records, tmp_path))
        site.register(BOB)
        ann, bob = site.connect(realtime.ANN), site.connect(BOB)

        with site.app.app_context():
            notes.create({"text": "Bob's", "user_id": 2})

        ann.events(), bob.events()
        return ann, bob

    with stack:
        yield open


@pytest.mark.parametrize("method", ["patch", "update"])
def test_nobody_is_told_of_a_record_that_would_move_to_them(open_site, method):
    ann, bob = open_site(readable=OWN)

    [error] = bob.call(method, "notes", "1", {"text": "spam", "user_id": 1}, {})

    assert (error["code"], error["className"]) == (403, "forbidden")
    assert ann.events() == bob.events() == []
    assert bob.call("get", "notes", "1", {})[1]["text"] == "Bob's"


def test_new_owner_is_told_of_a_record_that_is_given_away(open_site):
    ann, bob = open_site(readable=OWN, allow={"patch": Change(of=True, to=True)})

    bob.call("patch", "notes", "1", {"user_id": 1}, {})

    assert [record["text"] for _, record in ann.events()] == ["Bob's"]
    assert bob.events() == []


def mark(method, context):
    context.result = context.load()
    context.service.patch(context.id, {"user_id": None})


def test_marked_record_is_removed_for_those_who_saw_it(open_site):
    ann, bob = open_site(mark, readable=OWN)

    assert ann.call("remove", "notes", "1", {})[0]["code"] == 404
    assert bob.call("remove", "notes", "1", {})[1]["user_id"] == 2
    assert [(name, record["id"]) for name, record in bob.events()] == [
        ("notes removed", 1)
    ]
    assert ann.events() == []
