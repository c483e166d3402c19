from __future__ import annotations

import gc
from contextlib import contextmanager
from contextlib import suppress

import pytest
import sqlalchemy as sa

from flask_records import Conflict
from flask_records import current_call
from flask_records import Forbidden
from flask_records import NotFound

from ..realtime import live
from ..realtime import make_live_records


@pytest.fixture
def calls():
    return []


def noting(calls, name):
    """A receiver whose context manager notes when it is entered and left."""

    @contextmanager
    def note(method, context):
        calls.append(f"{name} enters {method}")

        try:
            yield
        finally:
            calls.append(f"{name} leaves {method}")

    return note


def test_around_surrounds_hooks_commit_and_events(
    app_context, db, records, messages, calls
):
    messages.around("create")(noting(calls, "create"))
    messages.around()(noting(calls, "service"))
    messages.around("find")(noting(calls, "find"))
    records.around()(noting(calls, "all"))
    records.before()(lambda *args: calls.append("before"))
    records.after()(lambda *args: calls.append("after"))
    records.events()(lambda *args: calls.append("event"))
    sa.event.listen(db.session, "after_commit", lambda *args: calls.append("commit"))

    messages.create({"text": "hi"})

    assert calls == [
        "all enters create",
        "service enters create",
        "create enters create",
        "before",
        "after",
        "commit",
        "event",
        "create leaves create",
        "service leaves create",
        "all leaves create",
    ]


def test_around_sees_the_result_after_the_call(app_context, messages, calls):
    @messages.around("create")
    @contextmanager
    def look(method, context):
        calls.append((context.result, current_call.data))
        yield
        calls.append((context.result["text"], current_call.method))

    messages.create({"text": "hi"})

    assert calls[1] == ("hi", "create")
    assert calls[0][1] == {"text": "hi"}


def test_around_sees_the_error_that_error_hooks_leave(app_context, messages, calls):
    @messages.around("get")
    @contextmanager
    def look(method, context):
        try:
            yield
        except Exception as error:
            calls.append(str(error))
            raise

    @messages.error("get")
    def replace(method, context):
        calls.append("error hook")
        context.error = Conflict("Not this one.")

    with pytest.raises(Conflict, match="Not this one"):
        messages.get(7)

    assert calls == ["error hook", "Not this one."]


def test_around_sees_no_error_that_a_hook_has_handled(app_context, messages, calls):
    messages.around("get")(noting(calls, "service"))

    @messages.error("get")
    def handle(method, context):
        context.error, context.result = None, {"id": 0}

    assert messages.get(7) == {"id": 0}
    assert calls == ["service enters get", "service leaves get"]


def test_around_surrounds_calls_in_calls(app_context, rooms, messages, records, calls):
    messages.before("create")(lambda *args: rooms.find())
    records.around()(noting(calls, "all"))

    messages.create({"text": "hi"})

    assert calls == [
        "all enters create",
        "all enters find",
        "all leaves find",
        "all leaves create",
    ]


def test_around_is_left_if_a_later_one_refuses(client, messages, calls):
    messages.around()(noting(calls, "first"))

    @messages.around()
    def refuse(method, context):
        raise Forbidden("No.")

    assert client.get("/messages").json["message"] == "No."
    assert calls == ["first enters find", "first leaves find"]


def test_around_that_fails_after_the_commit_undoes_nothing(client, messages):
    @messages.around("create")
    @contextmanager
    def fail(method, context):
        yield
        raise Conflict("Too late.")

    answer = client.post("/messages", json={"text": "hi"})

    assert (answer.status_code, answer.json["message"]) == (409, "Too late.")
    assert client.get("/messages").json["total"] == 1


def test_around_can_not_suppress_an_error(app_context, messages):
    messages.around("get")(lambda method, context: suppress(NotFound))

    with pytest.raises(RuntimeError, match="Connect an error hook") as raised:
        messages.get(7)

    assert isinstance(raised.value.__cause__, NotFound)


def plain_generator(method, context):
    yield


async def coroutine(method, context):
    pass


async def async_generator(method, context):
    yield


@pytest.mark.parametrize("receiver", [plain_generator, coroutine, async_generator])
def test_around_refuses_functions_without_a_context_manager(messages, receiver):
    with pytest.raises(TypeError, match=f"'{receiver.__name__}' must return a context"):
        messages.around()(receiver)

    assert not messages.around.receivers


def test_around_refuses_a_misspelt_method(records):
    with pytest.raises(ValueError, match="There is no 'crate'"):
        records.around("crate")


def test_around_of_a_factory_stays(client, messages, calls):
    messages.around()(noting(calls, "service"))
    gc.collect()

    client.get("/messages")

    assert len(calls) == 2


def test_around_of_a_test_is_connected_for_a_block(client, messages, calls):
    with messages.around.connected_to(noting(calls, "service"), "find"):
        client.get("/messages")

    client.get("/messages")

    assert calls == ["service enters find", "service leaves find"]


def test_around_surrounds_calls_over_sockets(tmp_path, calls):
    records = make_live_records(public=True)

    @records.around("find")
    @contextmanager
    def look(method, context):
        yield
        calls.append((context.params.provider, method, context.path))

    with live(records, tmp_path) as site:
        site.connect().result("find", "messages")

    assert calls == [("socketio", "find", "messages")]
