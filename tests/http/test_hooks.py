import pytest
import sqlalchemy as sa

from flask_records import (
    Conflict,
    Converter,
    Forbidden,
    NO_RESULT,
    Params,
    SQLAlchemyService,
)

from ..databases import served
from ..models import Message

AROUND = [
    *("all.before(any)", "all.before(create)"),
    *("service.before(any)", "service.before(create)"),
    "METHOD",
    *("service.after(any)", "service.after(create)"),
]
"""The run of a call until its last hook."""


@pytest.fixture
def traced(records, db):
    """A service, and what happens around its calls, in order."""
    calls = []

    class Traced(SQLAlchemyService):
        def create(self, data, params):
            calls.append("METHOD")
            return super().create(data, params)

    service = records.add("traced", Traced(Message), public=True)

    def note(name):
        return lambda *arguments: calls.append(name)

    # The places in the code are in another order than those of the run.
    service.events("created")(note("service.events(created)"))
    records.events()(note("all.events"))

    for name in ("after", "error", "before"):
        getattr(service, name)("create")(note(f"service.{name}(create)"))
        getattr(service, name)()(note(f"service.{name}(any)"))
        getattr(records, name)("create")(note(f"all.{name}(create)"))
        getattr(records, name)()(note(f"all.{name}(any)"))
        getattr(service, name)("find")(note("never"))

    sa.event.listen(db.session, "after_commit", note("commit"))
    sa.event.listen(db.session, "after_rollback", note("rollback"))
    return service, calls


def test_order_of_a_call(app_context, traced):
    service, calls = traced

    service.create({"text": "hi"})

    assert calls == [
        *AROUND,
        "all.after(any)",
        "all.after(create)",
        "commit",
        "service.events(created)",
        "all.events",
    ]


def test_order_of_a_call_that_fails(app_context, traced):
    service, calls = traced

    @service.after("create")
    def refuse(method, context):
        raise Forbidden("No.")

    with pytest.raises(Forbidden, match="^No.$"):
        service.create({"text": "hi"})

    assert calls == [
        *AROUND,
        "rollback",
        "service.error(any)",
        "service.error(create)",
        "all.error(any)",
        "all.error(create)",
    ]


def test_hook_gets_the_method_and_the_context(app_context, messages):
    seen = []

    @messages.before()
    def look(method, context):
        seen.append((method, context.method, context.path, context.service))
        seen.append((context.id, context.data, context.params, context.result))

    params = Params({"rank": 1})
    messages.patch(None, {"text": "hi"}, params)

    assert seen[0] == ("patch", "patch", "messages", messages)
    assert seen[1] == (None, {"text": "hi"}, params, NO_RESULT)


def test_hook_sees_text_and_adds_typed_values_to_the_query(client, messages):
    client.post("/messages", json=[{"text": "a", "rank": 1}, {"text": "b", "rank": 2}])
    seen = []

    @messages.before("find")
    def narrow(method, context):
        seen.append(dict(context.params.query))
        context.params.query["rank"] = {"$in": [1, 3]}

    response = client.get("/messages?read=false")

    assert seen == [{"read": "false"}]
    assert [record["text"] for record in response.json["data"]] == ["a"]


def test_result_of_a_before_hook_skips_the_method_alone(app_context, traced):
    service, calls = traced
    service.before("create")(
        lambda method, context: setattr(context, "result", {"id": 0})
    )

    assert service.create({"not": "valid"}) == {"id": 0}
    assert "METHOD" not in calls
    assert "service.after(create)" in calls


@pytest.mark.parametrize("result", [None, False, 0, ""])
def test_result_of_nothing_skips_the_method_and_has_no_content(
    client, messages, result
):
    messages.before("create")(
        lambda method, context: setattr(context, "result", result)
    )

    response = client.post("/messages", json={"text": "hi"})

    assert (response.status_code, response.data) == (204, b"")
    assert client.get("/messages").json["total"] == 0


def test_dispatch_is_what_the_client_sees_and_not_the_application(
    app, client, messages
):
    @messages.after("create")
    def shorten(method, context):
        context.dispatch = {"id": context.result["id"]}

    seen = client.post("/messages", json={"text": "hi"}).json

    with app.app_context():
        result = messages.create({"text": "hi"})

    assert seen == {"id": 1}
    assert result["text"] == "hi"


def test_error_hook_replaces_the_error(client, messages):
    @messages.error("get")
    def replace(method, context):
        context.error = Conflict("Somebody has it.")

    response = client.get("/messages/7")

    assert response.status_code == 409
    assert response.json["message"] == "Somebody has it."


def test_error_hook_mends_the_call_with_a_result(client, messages):
    @messages.error("get")
    def mend(method, context):
        context.error = None
        context.result = {"id": context.id, "text": "unknown"}

    response = client.get("/messages/7")

    assert (response.status_code, response.json) == (
        200,
        {"id": "7", "text": "unknown"},
    )


def test_error_hook_that_clears_the_error_alone_does_not_answer_what_was_undone(
    client, messages
):
    """A client must not be told of a record that is not there."""

    @messages.after("create")
    def refuse(method, context):
        raise Forbidden("No.")

    messages.error("create")(lambda method, context: setattr(context, "error", None))

    response = client.post("/messages", json={"text": "hi"})

    assert (response.status_code, response.data) == (204, b"")


def test_async_hooks_run_at_their_place(client, records, messages):
    calls = []

    @messages.before("find")
    async def second(method, context):
        calls.append("async service")
        context.params.query["rank"] = "1"

    messages.before("find")(
        lambda method, context: calls.append(context.params.query["rank"])
    )

    @records.before()
    async def first(method, context):
        calls.append("async all")

    client.get("/messages")

    assert calls == ["async all", "async service", "1"]


def test_hook_that_is_added_after_a_call_runs_from_the_next_one_on(records):
    calls = []

    class Notes:
        def find(self, params):
            return [{"id": 1}]

    service = records.add("notes", Notes())

    service.find()
    service.before("find")(lambda *args: calls.append("service"))
    records.before()(lambda *args: calls.append("all"))
    service.find()
    service.before("find")(lambda *args: calls.append("late"))
    service.find()

    assert calls == ["all", "service", "all", "service", "late"]


@pytest.mark.parametrize(
    ("method", "url", "data"),
    [
        ("POST", "/messages", {"text": "new"}),
        ("POST", "/messages", [{"text": "new"}, {"text": "newer"}]),
        ("PATCH", "/messages/1", {"text": "new"}),
        ("PUT", "/messages/1", {"text": "new"}),
        ("DELETE", "/messages/1", None),
    ],
)
@pytest.mark.parametrize("tag", [None, "*"])
def test_nothing_is_stored_whose_answer_can_not_be_encoded(
    client, messages, sent, method, url, data, tag
):
    client.post("/messages", json={"text": "old"})
    before = client.get("/messages").json
    sent.clear()

    @messages.after("create", "update", "patch", "remove")
    def add(method, context):
        for record in context.records:
            record["extra"] = object()

    headers = {"If-Match": tag} if tag and method != "POST" else {}
    response = client.open(url, method=method, json=data, headers=headers)

    assert response.status_code == 500
    assert client.get("/messages").json == before
    assert sent == []


def test_an_error_hook_answers_for_what_can_not_be_encoded(client, messages, sent):
    @messages.after("create")
    def add(method, context):
        context.dispatch = {"extra": object()}

    @messages.error("create")
    def answer(method, context):
        context.error, context.result = None, {"text": "kept for later"}

    response = client.post("/messages", json={"text": "new"})

    assert response.json == {"text": "kept for later"}
    assert client.get("/messages").json["total"] == 0
    assert sent == []


def format_broken(context):
    return 1 / 0


BROKEN = Converter(show=lambda text: object())


@pytest.mark.parametrize(
    ("converters", "formatter", "has_hook"),
    [(None, format_broken, True), ({"text": BROKEN}, None, False)],
)
def test_nothing_is_stored_whose_form_fails(
    records, db, sent, converters, formatter, has_hook
):
    service = SQLAlchemyService(Message, converters=converters)
    notes = records.add("notes", service, public=True, formatter=formatter)

    if has_hook:
        notes.after("create")(lambda method, context: None)

    with served(db, records, "sqlite://") as app:
        assert app.test_client().post("/notes", json={"text": "hi"}).status_code == 500

        with app.app_context():
            assert notes.find() == []

    assert sent == []
