from __future__ import annotations

from contextlib import contextmanager

import pytest

from flask_records import Transaction


class Things:
    """Answers what it is sent."""

    hidden = ("secret",)

    def find(self, params):
        return [{"id": 1, "secret": "x"}]

    def create(self, data, params):
        return data


class Wire:
    """A transport that remembers what it carries."""

    def __init__(self):
        self.is_open = True
        self.turns = []
        self.delivered = []

    def is_listened_to(self):
        return self.is_open

    @contextmanager
    def turn(self):
        self.turns.append("begun")
        yield
        self.turns.append("over")

    def deliver(self, events):
        self.delivered.append([(event.name, event.record) for event in events])


@pytest.fixture
def wire(records):
    wire = Wire()
    records.carry(wire)
    return wire


@pytest.fixture
def things(records):
    return records.add("things", Things(), public=True)


def test_turn_of_a_transaction_is_from_before_its_commit_to_its_events(things, wire):
    with Transaction() as transaction:
        things.create([{"id": 1, "secret": "x"}, {"id": 2}])
        things.create({"id": 3})
        transaction.after_commit(lambda: wire.turns.append("committed"))

        assert (wire.turns, wire.delivered) == ([], [])

    created = [("created", {"id": id}) for id in (1, 2, 3)]
    assert wire.turns == ["begun", "committed", "over"]
    assert wire.delivered == [created]


def test_transport_that_somebody_listens_to_by_the_commit_gets_the_event(things, wire):
    wire.is_open = False

    with Transaction():
        things.create({"id": 1, "secret": "x"})
        wire.is_open = True

    assert wire.turns == []
    assert wire.delivered == [[("created", {"id": 1})]]


def test_event_has_the_record_as_it_was_when_the_call_ended(things, wire):
    with Transaction():
        thing = things.create({"id": 1, "secret": "x"})
        thing["id"] = 2

    assert wire.delivered == [[("created", {"id": 1})]]
