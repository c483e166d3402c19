from __future__ import annotations

from contextlib import contextmanager, suppress

import pytest
import sqlalchemy as sa

from flask_records import Conflict, Forbidden, NotFound


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


def test_around_is_left_if_a_later_one_refuses(client, messages, calls):
    messages.around()(noting(calls, "first"))

    @messages.around()
    def refuse(method, context):
        raise Forbidden("No.")

    assert client.get("/messages").json["message"] == "No."
    assert calls == ["first enters find", "first leaves find"]


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
