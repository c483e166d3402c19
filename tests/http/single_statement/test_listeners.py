"""Listeners to models and sessions are called, however late they come."""

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from .notes import note_of
from .twins import listening


@pytest.mark.parametrize("name", ["do_orm_execute", "before_flush"])
@pytest.mark.parametrize("is_global", [False, True])
def test_a_session_that_is_listened_to_writes_by_the_unit_of_work(
    make_notes, name, is_global
):
    notes = make_notes(note_of())

    with listening(orm.Session if is_global else notes.make, name):
        assert notes.methods_of_one_statement() == set()


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
