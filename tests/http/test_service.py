import pytest

from flask_records import (
    BadRequest,
    current_call,
    MethodNotAllowed,
    Params,
    SQLAlchemyService,
)

from ..models import Message

PARAMS = Params({"a": "1"})


class Echo:
    """Answers what it was called with."""

    def find(self, *arguments):
        return ("find", *arguments)

    def get(self, *arguments):
        return ("get", *arguments)

    def update(self, *arguments):
        return ("update", *arguments)

    def remove(self, *arguments):
        return ("remove", *arguments)


class Shout:
    """Has one method."""

    find = None

    def get(self, id, params):
        return {"id": id, "text": str(id).upper()}


@pytest.fixture
def echo(records):
    return records.add("echo", Echo(), public=True)


def test_mapping_is_the_query(echo):
    assert echo.find({"a": "1"}) == ("find", PARAMS)
    assert echo.get(7, {"a": "1"}) == ("get", 7, PARAMS)
    assert echo._remove(7, {"a": "1"}) == ("remove", 7, PARAMS)
    assert echo.as_caller(Params(user={"id": 1})).find({"a": "1"})[1].query == {
        "a": "1"
    }


def test_nested_calls_have_their_own_context_and_params(client, rooms, messages):
    seen = []

    @rooms.before("create")
    def look_inside(method, context):
        seen.append((current_call.path, context.params.provider, context.params.query))

    @messages.before("create")
    def open_room(method, context):
        rooms.create({"name": "Lobby"})
        seen.append((current_call.path, context.params.provider, context.params.query))

    client.post("/messages?$select=text", json={"text": "hi"})

    assert seen == [("rooms", None, {}), ("messages", "rest", {"$select": "text"})]


def test_methods_are_those_that_the_object_has(records):
    assert records.add("shout", Shout()).methods == ("get",)


def test_object_without_methods_is_refused(records):
    class Empty:
        find = None

    with pytest.raises(TypeError, match="'empty' has none of the methods find, get, c"):
        records.add("empty", Empty())


@pytest.mark.parametrize("prefix", ["", "_"])
def test_method_that_the_object_does_not_have_is_not_allowed(records, prefix):
    shout = records.add("shout", Shout())

    with pytest.raises(MethodNotAllowed, match="^Method `create` is not supported by"):
        getattr(shout, f"{prefix}create")({})


@pytest.mark.parametrize("prefix", ["", "_"])
@pytest.mark.parametrize(("id", "data"), [(None, {}), (7, [{}]), (None, [{}])])
def test_update_of_many_is_refused(echo, prefix, id, data):
    with pytest.raises(BadRequest, match="replace multiple instances. Did you mean 'p"):
        getattr(echo, f"{prefix}update")(id, data)


def test_async_methods_are_waited_for(records, app_context):
    class Weather:
        async def get(self, id, params):
            return {"city": id}

    weather = records.add("weather", Weather(), public=True)

    assert weather.get("Bern") == {"city": "Bern"}
    assert weather._get("Bern") == {"city": "Bern"}


@pytest.mark.parametrize(
    ("method", "given", "result"),
    [
        ("_find", (), [{"id": 1, "text": "hi"}]),
        ("_get", (1,), {"id": 1, "text": "hi"}),
        ("_create", ({"text": "new"},), {"id": 2, "text": "new"}),
        ("_update", (1, {"text": "new"}), {"id": 1, "text": "new"}),
        ("_patch", (1, {"text": "new"}), {"id": 1, "text": "new"}),
        ("_remove", (1,), {"id": 1, "text": "hi"}),
    ],
)
def test_underscored_calls_skip_hooks_and_send_no_events(
    records, app_context, messages, method, given, result
):
    params = Params({"$select": ["text"]}, paginate=False)
    messages.create({"text": "hi"})
    calls = []

    for owner in (messages, records):
        for signal in (owner.before, owner.after, owner.error, owner.events):
            signal()(lambda *arguments: calls.append(arguments))

    assert getattr(messages, method)(*given, params) == result
    assert calls == []


def test_underscored_calls_that_fail_run_no_error_hooks(app_context, messages):
    messages.error()(lambda method, context: setattr(context, "error", None))

    with pytest.raises(BadRequest, match="'txt' is not a field"):
        messages._create({"txt": "hi"})


@pytest.fixture
def watched(records):
    """A service with a custom event, and the events that it has sent."""
    service = records.add(
        "watched", SQLAlchemyService(Message, events=["read"]), public=True
    )
    sent = []
    service.events()(lambda event, record, context: sent.append((event, record)))
    return service, sent


def test_custom_event_of_a_call_that_fails_is_not_sent(watched, app_context):
    service, sent = watched
    service.before("create")(lambda method, context: service.emit("read", {"id": 1}))

    with pytest.raises(BadRequest, match="is not a field"):
        service.create({"txt": "hi"})

    assert sent == []


def test_unknown_event_is_refused(watched):
    with pytest.raises(ValueError, match="'raed' is not an event of 'watched'. Name"):
        watched[0].emit("raed", {})
