from __future__ import annotations

import pytest

from flask_records import NO_RESULT, Params, Transaction


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
        self.prepared = []
        self.delivered = []

    def is_listened_to(self):
        return self.is_open

    def prepare(self, service, records):
        self.prepared.append((service.path, list(records)))

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


def test_transport_prepares_before_the_commit_and_delivers_after_it(things, wire):
    with Transaction():
        things.create([{"id": 1, "secret": "x"}, {"id": 2}])
        things.create({"id": 3})

        assert wire.prepared == [
            ("things", [{"id": 1}, {"id": 2}]),
            ("things", [{"id": 3}]),
        ]
        assert wire.delivered == []

    created = [("created", {"id": id}) for id in (1, 2, 3)]
    assert wire.delivered == [created]


def test_transport_that_somebody_listens_to_by_the_commit_gets_the_event(things, wire):
    wire.is_open = False

    with Transaction():
        things.create({"id": 1, "secret": "x"})
        wire.is_open = True

    assert wire.prepared == []
    assert wire.delivered == [[("created", {"id": 1})]]


def test_event_has_the_record_as_it_was_when_the_call_ended(things, wire):
    with Transaction():
        thing = things.create({"id": 1, "secret": "x"})
        thing["id"] = 2

    assert wire.delivered == [[("created", {"id": 1})]]


@pytest.mark.parametrize(
    ("readable", "method", "is_kept"),
    [(True, "create", True), (True, "find", False), (False, "create", False)],
)
def test_stored_result_is_kept_for_the_rule_of_an_event_only(
    records, wire, readable, method, is_kept
):
    kept = []
    things = records.add(
        "things",
        Things(),
        public=True,
        readable=(lambda user: {"id": 1}) if readable else None,
    )

    @things.after()
    def look(method, context):
        kept.append(context.stored is not NO_RESULT)

    arguments = [{"id": 1}] if method == "create" else []
    getattr(things, method)(*arguments, Params())

    assert kept == [is_kept]


def test_stored_result_is_not_kept_without_a_transport(records):
    things = records.add("things", Things(), readable=lambda user: {"id": 1})
    kept = []
    things.after()(lambda method, context: kept.append(context.stored))

    things.create({"id": 1})

    assert kept == [NO_RESULT]
