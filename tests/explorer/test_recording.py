from __future__ import annotations

from contextlib import contextmanager

from flask import Flask

from flask_records import AuthenticationService
from flask_records import FlaskRecords
from flask_records import Forbidden
from flask_records import hash_password
from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records.explorer.journal.recorder import journal_of

from ..models import Message
from ..models import Room
from ..models import User
from .journals import flat
from .journals import recorded

HERE = __name__


def named(function):
    return f"{HERE}:{function.__qualname__.replace('<locals>.', '')}"


def test_call_has_method_path_and_names_of_fields(journal):
    call = journal.call_of("POST", "rooms?$select=id", json={"name": "Lobby"})

    assert (call["path"], call["method"], call["provider"]) == (
        "rooms",
        "create",
        "rest",
    )
    assert (call["status"], call["error"]) == (201, None)
    assert (call["data"], call["query"]) == (["name"], ["$select"])
    assert call["milliseconds"] > 0


def test_newest_call_is_first(journal):
    journal.send("GET", "rooms")
    journal.send("GET", "messages")

    assert [each["path"] for each in journal.calls()] == ["messages", "rooms"]


def test_calls_after_a_number(journal):
    journal.send("GET", "rooms")
    last = journal.calls()[0]["id"]
    journal.send("GET", "messages")

    assert [each["path"] for each in journal.calls(after=last)] == ["messages"]


def test_number_that_is_none_is_refused(journal):
    response = journal.send("GET", "_records/calls.json?after=x")

    assert response.status_code == 400
    assert "'after'" in response.json()["message"]


def test_call_that_is_not_kept_is_not_found(journal):
    assert journal.send("GET", "_records/calls/9.json").status_code == 404


def test_hooks_are_in_order(journal, records, messages):
    @records.before()
    def first(method, context):
        pass

    @messages.before("find")
    def second(method, context):
        pass

    @messages.after("find")
    def third(method, context):
        pass

    @messages.around()
    @contextmanager
    def surround(method, context):
        yield

    call = journal.call_of("GET", "messages")

    assert flat(call["parts"]) == [
        ("access", "messages"),
        ("around", named(surround)),
        ("before", named(first)),
        ("before", named(second)),
        ("method", "flask_records.adapter.service:SQLAlchemyService.find"),
        ("after", named(third)),
        ("around end", named(surround)),
    ]


def test_around_hook_handles_the_error_of_a_call(journal, messages):
    seen = []

    @messages.around()
    @contextmanager
    def surround(method, context):
        try:
            yield
        except Forbidden as error:
            seen.append(error)
            raise

    @messages.before("find")
    def refuse(method, context):
        raise Forbidden("No.")

    call = journal.call_of("GET", "messages")

    assert (call["status"], call["error"], len(seen)) == (403, "Forbidden", 1)


def test_error_hook_is_after_the_hook_that_fails(journal, messages):
    @messages.before("find")
    def refuse(method, context):
        raise Forbidden("No.")

    @messages.error()
    def handle(method, context):
        context.error, context.result = None, []

    call = journal.call_of("GET", "messages")
    before, error = call["parts"][1:]

    assert (call["status"], call["error"]) == (200, None)
    assert (before["name"], before["error"]) == (named(refuse), "Forbidden")
    assert (error["phase"], error["name"]) == ("error", named(handle))


def test_calls_of_hooks_are_inside_of_their_call(journal, messages, rooms):
    @messages.after("find")
    def look(method, context):
        rooms.find(Params(query={"$limit": 1}))

    call = journal.call_of("GET", "messages")
    after = call["parts"][-1]
    [inner] = after["parts"]

    assert [each["path"] for each in journal.calls()] == ["messages"]
    assert (inner["phase"], inner["name"]) == ("call", "rooms.find")
    assert after["statements"] == inner["statements"] == 1


def test_call_without_hooks_says_so(journal, messages, rooms):
    messages.after("find")(lambda method, context: rooms._find())

    call = journal.call_of("GET", "messages")

    assert call["parts"][-1]["parts"][0]["name"] == "rooms._find"


def test_commit_and_receivers_of_events_end_a_write(journal, rooms):
    @rooms.events()
    def receive(event, record, context):
        pass

    call = journal.call_of("POST", "rooms", json={"name": "Lobby"})

    assert flat(call["parts"])[-2:] == [("commit", "rooms"), ("event", named(receive))]


def test_asynchronous_hooks_are_measured(journal, messages, rooms):
    @messages.before("find")
    async def look(method, context):
        rooms.find()

    call = journal.call_of("GET", "messages")

    assert flat(call["parts"])[1:3] == [("before", named(look)), ("call", "rooms.find")]
    assert call["parts"][1]["statements"] == 1


def test_rule_for_records_is_a_step(db, database_url):
    records = FlaskRecords()

    def own(user):
        return {"name": "Lobby"}

    records.add("rooms", SQLAlchemyService(Room), public=True, readable=own)

    with recorded(db, records, database_url) as site:
        call = site.call_of("GET", "rooms")

    assert ("readable", named(own)) in flat(call["parts"])


def test_refused_caller_is_recorded(db, database_url):
    records = FlaskRecords()
    users = records.add("users", SQLAlchemyService(User, hidden=["password"]))
    users.before("create", "update", "patch")(hash_password())
    records.add("authentication", AuthenticationService())
    records.add("messages", SQLAlchemyService(Message))

    with recorded(db, records, database_url) as site:
        call = site.call_of("GET", "messages")

    assert (call["status"], call["error"]) == (401, "NotAuthenticated")
    assert [part["error"] for part in call["parts"]] == ["NotAuthenticated"]


def test_services_that_are_added_later_are_recorded(db, records, rooms, database_url):
    with recorded(db, records, database_url) as site:
        records.add("later", SQLAlchemyService(Room), public=True)
        call = site.call_of("GET", "later")

    assert call["path"] == "later"


def test_answers_are_the_same(journal, messages):
    """Hooks that are compared, such as 'validate', stay the same objects."""
    body = {"text": "hi"}
    created = journal.send("POST", "messages", json=body).json()

    assert journal.send("GET", f"messages/{created['id']}").json() == created
    assert messages.finds_by_rules


def test_nothing_is_recorded_outside_of_debug_mode(db, records, rooms, database_url):
    pipeline, access = rooms._pipeline, rooms.check_access

    with recorded(db, records, database_url, is_debug=False) as site:
        site.send("GET", "rooms")

        assert site.send("GET", "_records/calls.json").status_code == 404
        assert site.send("GET", "_records/calls/1.json").status_code == 404
        assert "records_explorer_calls" not in site.app.extensions
        assert rooms._pipeline is pipeline
        assert rooms.check_access == access


def test_debug_mode_that_ends_ends_recording(journal):
    journal.send("GET", "rooms")
    journal.app.debug = False
    journal.send("GET", "rooms")
    assert journal.send("GET", "_records/calls.json").status_code == 404
    journal.app.debug = True

    assert len(journal.calls()) == 1


def test_calls_are_shown_to_those_who_may_see_them(db, records, rooms, database_url):
    def refuse(params):
        raise Forbidden("No.")

    with recorded(db, records, database_url, refuse) as site:
        assert site.send("GET", "_records/calls.json").status_code == 403
        assert site.send("GET", "_records/calls/1.json").status_code == 403


class Plain:
    def find(self, params):
        return []


def test_applications_with_the_same_services_have_their_own_calls():
    records = FlaskRecords()
    records.add("plain", Plain(), public=True)
    apps = [Flask(name) for name in ("one", "other")]

    for app in apps:
        app.debug = True
        records.init_app(app)
        journal_of(app)

    apps[0].test_client().get("/plain")

    assert [len(journal_of(app).after(0)) for app in apps] == [1, 0]
