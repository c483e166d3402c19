"""Listeners to models and sessions are called, however late they come."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from .notes import note_of
from .twins import listening


@pytest.mark.parametrize(
    "name",
    ["do_orm_execute", "before_flush", "after_attach", "pending_to_persistent"],
)
@pytest.mark.parametrize("is_global", [False, True])
def test_a_session_that_is_listened_to_writes_by_the_unit_of_work(
    make_notes, name, is_global
):
    notes = make_notes(note_of())

    with listening(orm.Session if is_global else notes.make, name):
        assert notes.methods_of_one_statement() == set()


@pytest.mark.parametrize(
    ("name", "methods"),
    [("before_insert", {"patch", "remove"}), ("load", set()), ("init", set())],
)
def test_listeners_to_a_base_are_honoured(make_notes, name, methods):
    model = note_of()

    with listening(model.__base__, name, propagate=True):
        assert make_notes(model).methods_of_one_statement() == methods


EVENTS = [
    *("before_insert", "after_insert", "before_update", "after_update"),
    *("before_delete", "after_delete"),
]


def run_all(notes):
    notes.service.create({"text": "a"})
    notes.service.patch(1, {"text": "b"})
    notes.service.remove(1)


@pytest.mark.parametrize("name", EVENTS)
def test_a_listener_to_the_model_that_comes_late_is_called(make_notes, name):
    model = note_of()
    notes = make_notes(model)
    run_all(notes)
    heard = []

    sa.event.listen(model, name, lambda *args: heard.append(name))
    run_all(notes)

    assert heard == [name]


def test_what_a_late_listener_changes_is_stored_and_answered(make_notes):
    model = note_of()
    notes = make_notes(model)
    notes.service.create({"text": "a"})

    @sa.event.listens_for(model, "before_insert")
    @sa.event.listens_for(model, "before_update")
    def shout(mapper, connection, note):
        note.text = note.text.upper()

    created = notes.service.create([{"text": "b"}, {"text": "c"}])
    patched = notes.service.patch(1, {"text": "d"})

    assert [patched, *created] == notes.service.find()
    assert [note["text"] for note in notes.service.find()] == ["D", "B", "C"]
