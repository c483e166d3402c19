"""Calls within others, and blocks of calls, are committed or undone together."""

import contextvars

import pytest
import sqlalchemy as sa
from flask import Flask

from flask_records import Forbidden, RecordsError, Transaction

from ...databases import served
from ...stored import stored


@pytest.fixture
def events(records):
    """The events that were sent, by name and text."""
    sent = []
    records.events()(lambda event, record, context: sent.append(event))
    return sent


@pytest.fixture
def on_disk(db, records, users, rooms, messages, tmp_path):
    """An app on a database where other sessions see only what is committed."""
    with (
        served(db, records, f"sqlite:///{tmp_path / 'test.db'}") as app,
        app.app_context(),
    ):
        yield app


@pytest.mark.parametrize("when", ["before", "after"])
def test_error_undoes_nested_calls_and_sends_no_event(
    on_disk, db, rooms, messages, events, when
):
    @getattr(messages, when)("create")
    def refuse(method, context):
        rooms.create({"name": "Lobby"})
        raise Forbidden("No.")

    with pytest.raises(Forbidden, match="^No.$"):
        messages.create({"text": "hi"})

    assert stored(db) == []
    assert events == []


def test_nested_call_that_breaks_a_constraint_is_undone_alone(
    db, records, users, messages, database_url
):
    @messages.before("create")
    def register(method, context):
        users.create({"email": "first@example.com"})

        with pytest.raises(RecordsError, match="already"):
            users.create({"email": "first@example.com"})

    with served(db, records, database_url) as app, app.app_context():
        messages.create({"text": "hi"})

        assert [user["email"] for user in users.find()] == ["first@example.com"]
        assert stored(db) == ["hi"]


def test_calls_after_the_end_in_a_copy_of_the_context_are_committed(
    on_disk, db, rooms, messages, events
):
    copies = []

    @rooms.after("create")
    def begin_task(method, context):
        copies.append(contextvars.copy_context())

    assert (
        on_disk.test_client().post("/rooms", json={"name": "Lobby"}).status_code < 300
    )
    # Tasks of asyncio and threads may go on with the context of a hook.
    [copy] = copies
    copy.run(messages.create, {"text": "later"})
    copy.run(messages.emit, "patched", {"id": 1, "text": "later"})

    assert stored(db) == ["Lobby", "later"]
    assert events == ["created", "created", "patched"]


def test_block_commits_several_calls_at_once(on_disk, db, rooms, messages, events):
    with Transaction():
        rooms.create({"name": "Lobby"})
        messages.create({"text": "hi"})
        inside = (stored(db), list(events))

    assert inside == ([], [])
    assert stored(db) == ["Lobby", "hi"]
    assert events == ["created", "created"]


def test_functions_of_a_nested_transaction_run_after_the_outermost():
    seen = []

    with Transaction() as outer:
        outer.after_commit(lambda: seen.append("outer"))

        with Transaction() as inner:
            inner.after_commit(lambda: seen.append("inner"))

        seen.append("end of the block")

    assert seen == ["end of the block", "outer", "inner"]


def test_transaction_is_no_part_of_one_of_another_application(app):
    with app.app_context(), Transaction(), Flask("other").app_context():
        assert Transaction.current_or_none() is None


def test_current_without_a_transaction_tells_the_cure():
    with pytest.raises(RuntimeError, match="or open a 'Transaction'"):
        Transaction.current()


def test_commit_that_fails_fails_the_call_and_sends_no_event(
    on_disk, db, rooms, events
):
    @sa.event.listens_for(db.session, "before_commit")
    def fail(session):
        raise LookupError("The disk is full.")

    with pytest.raises(LookupError, match="disk is full"):
        rooms.create({"name": "Lobby"})

    assert stored(db) == []
    assert events == []


@pytest.mark.parametrize("is_slow", [True, False])
def test_slow_hook_runs_before_the_lock_is_taken(on_disk, db, messages, is_slow):
    waiting = []

    def check(method, context):
        with db.engine.connect() as other:
            other.exec_driver_sql("PRAGMA busy_timeout = 0")

            try:
                other.exec_driver_sql("BEGIN IMMEDIATE")
            except sa.exc.OperationalError as error:
                waiting.append(str(error.orig))

    check.is_slow = is_slow
    messages.before("create")(check)

    response = on_disk.test_client().post("/messages", json={"text": "hi"})

    assert response.status_code == 201
    assert waiting == ([] if is_slow else ["database is locked"])


def test_write_waits_for_others_as_long_as_twenty_seconds(on_disk, db, messages):
    seen = []

    @messages.after("create")
    def look(method, context):
        seen.append(db.session.scalar(sa.text("PRAGMA busy_timeout")))

    messages.create({"text": "hi"})

    assert seen == [20_000]
