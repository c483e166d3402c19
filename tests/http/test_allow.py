"""Rules for who may call a method, and on which records."""

from contextlib import ExitStack

import pytest
from flask import Flask

from flask_records import FlaskRecords, FromUser, SQLAlchemyService

from .. import realtime
from ..authentication import add_users, SECRET
from ..databases import served
from ..models import Message
from ..realtime import BOB, in_memory, make_live_records

AGENT = {"id": 9, "role": "agent"}
ANN = {"id": 1, "role": "customer"}

OWN = {"rank": FromUser("id")}


def is_agent(user):
    return user is not None and user["role"] == "agent"


OPTIONS = {"public": True, "strategies": ["header"]}


@pytest.fixture
def open_site(records, db):
    """A function that opens a site of messages with rules, of which Ann has one."""
    stack = ExitStack()

    def open(allow, **options):
        service = SQLAlchemyService(Message, multi=True, **options)
        messages = records.add("messages", service, allow=allow, **OPTIONS)
        add_users(records, AGENT, ANN)
        app = stack.enter_context(served(db, records, "sqlite://", SECRET_KEY=SECRET))
        stack.enter_context(app.app_context())
        messages.create([{"text": "A", "rank": 1}, {"text": "B", "rank": 2}])
        return app.test_client(), messages

    with stack:
        yield open


def call(client, user, verb, path="/messages", **options):
    headers = {"X-User": str(user["id"])} if user else {}
    return client.open(path, method=verb, headers=headers, **options)


@pytest.mark.parametrize("answer", [False, None])
@pytest.mark.parametrize(
    ("method", "verb", "path", "data"),
    [
        ("find", "GET", "", None),
        ("get", "GET", "/1", None),
        ("create", "POST", "", {"text": "C"}),
        ("update", "PUT", "/1", {"text": "C"}),
        ("patch", "PATCH", "/1", {"text": "C"}),
        ("remove", "DELETE", "/1", None),
    ],
)
def test_method_is_for_those_whom_its_rule_allows(
    open_site, method, verb, path, data, answer
):
    rule = {method: lambda user: True if is_agent(user) else answer}
    client, messages = open_site(rule)
    before = messages.find()

    refused = call(client, ANN, verb, f"/messages{path}", json=data)
    anonymous = call(client, None, verb, f"/messages{path}", json=data)
    after = messages.find()
    answered = call(client, AGENT, verb, f"/messages{path}", json=data)

    assert (refused.status_code, anonymous.status_code) == (403, 403)
    assert refused.json["message"] == f"You may not call '{method}' of 'messages'."
    assert after == before
    assert answered.status_code < 300


@pytest.mark.parametrize("rule", [OWN, lambda user: {"rank": user["id"]}])
def test_query_tells_the_records_that_a_method_reaches(open_site, rule):
    client, messages = open_site(dict.fromkeys(["find", "patch", "remove"], rule))

    found = call(client, ANN, "GET")
    patched = [
        call(client, ANN, "PATCH", f"/messages/{id}", json={"text": "C"}).status_code
        for id in (1, 2)
    ]
    read = call(client, ANN, "GET", "/messages/2")
    removed = call(client, ANN, "DELETE", "/messages?$sort[id]=1")

    assert [each["id"] for each in found.json] == [1]
    assert patched == [200, 404]
    assert read.status_code == 200
    assert [each["id"] for each in removed.json] == [1]


@pytest.mark.parametrize("hidden", [(), ("rank",)])
@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"text": "C", "rank": 1}, 201),
        ({"text": "C", "rank": 2}, 403),
        ([{"text": "C", "rank": 1}, {"text": "D"}], 403),
        ([{"text": "C", "rank": 1}] * 2, 201),
    ],
)
def test_records_meet_the_query_of_create_or_are_not_written(
    open_site, data, status, hidden
):
    client, messages = open_site({"create": OWN}, hidden=hidden)

    answer = call(client, ANN, "POST", json=data)

    written = len(data) if isinstance(data, list) else 1
    assert answer.status_code == status
    assert len(messages.find()) == 2 + (written if status == 201 else 0)


@pytest.mark.parametrize("method", ["find", "create"])
def test_misspelt_field_in_the_answer_of_a_rule_is_an_error_of_the_server(
    open_site, caplog, method
):
    client, _ = open_site({method: lambda user: {"rnk": 1}})
    verb = {"find": "GET", "create": "POST"}[method]

    answer = call(client, ANN, verb, json={"text": "C"})

    assert answer.status_code == 500
    assert "rnk" not in answer.text
    assert "'rnk' is not a field" in caplog.text


@pytest.mark.parametrize("option", ["readable", "allow"])
def test_misspelt_field_in_a_query_is_refused_at_the_start(db, option):
    records = FlaskRecords()
    rule = {"rnk": FromUser("id")}
    options = {option: {"find": rule} if option == "allow" else rule}
    records.add("messages", SQLAlchemyService(Message), public=True, **options)

    with pytest.raises(ValueError, match="fit 'Message': 'rnk' is not a field."):
        with served(db, records, "sqlite://"):
            pass


class Tickets:
    """A service of plain objects with a custom method."""

    def __init__(self):
        self.closed = []

    def find(self, params):
        return [params.query]

    def create(self, data, params):
        return {"id": 1, **data}

    def get(self, id, params):
        raise AssertionError("The record tells enough.")

    def close(self, data, params):
        self.closed.append(data)
        return {"closed": True}


@pytest.fixture
def tickets():
    """A function that adds a service of objects, and returns it with a client."""

    def add(allow):
        records = FlaskRecords()
        methods = ["find", "create", "close"]
        target = Tickets()
        add_users(records, AGENT, ANN)
        records.add("tickets", target, methods=methods, allow=allow, **OPTIONS)
        app = Flask("tests")
        app.config["SECRET_KEY"] = SECRET
        records.init_app(app)
        return app.test_client(), target

    return add


def test_rules_hold_for_objects_and_custom_methods(tickets):
    client, target = tickets({"find": OWN, "close": is_agent, "create": is_agent})

    found = call(client, ANN, "GET", "/tickets?text=a")
    closed = [
        client.post(
            "/tickets",
            json={"id": 1},
            headers={"X-User": str(user["id"]), "X-Service-Method": "close"},
        ).status_code
        for user in (ANN, AGENT)
    ]

    assert found.json == [{"text": "a", "rank": 1}]
    assert (closed, target.closed) == ([403, 200], [{"id": 1}])


@pytest.mark.parametrize(
    ("allow", "error"),
    [
        ({"craete": is_agent}, ValueError),
        ({"close": OWN}, TypeError),
        ({"find": {}}, TypeError),
        ({"find": {"$or": [{"rank": 1}, {}]}}, TypeError),
        ({"find": {"$and": []}}, TypeError),
        ({"find": 5}, TypeError),
    ],
)
def test_rules_that_can_not_hold_are_refused(tickets, allow, error):
    with pytest.raises(error, match="'allow'"):
        tickets(allow)


def is_bob(user):
    return user["email"] == BOB["email"]


@pytest.mark.parametrize(
    ("allow", "texts"),
    [
        ({"find": is_bob, "get": is_bob}, []),
        ({"find": {"user_id": FromUser("id")}, "get": is_bob}, ["A"]),
        ({"find": is_bob}, ["A", "B"]),
    ],
)
def test_events_are_for_those_who_may_find_or_get_the_record(tmp_path, allow, texts):
    records = make_live_records()
    notes = records.add("notes", SQLAlchemyService(Message, multi=True), allow=allow)

    with in_memory(records, tmp_path) as site, site.app.app_context():
        ann = site.connect(realtime.ANN)
        notes.create([{"text": "A", "user_id": 1}, {"text": "B", "user_id": 2}])

        assert [record["text"] for _, record in ann.events()] == texts


class Board:
    """A service of plain objects that looks at no query."""

    def find(self, params):
        return [{"id": 1, "text": "A"}]

    def get(self, id, params):
        return {"id": 1, "text": "A"}

    def create(self, data, params):
        return {"id": 1, **data}

    def remove(self, id, params):
        raise AssertionError("Nobody may reach the record.")


@pytest.mark.parametrize(
    "options",
    [
        {"readable": is_bob},
        {"allow": dict.fromkeys(["find", "get", "remove"], is_bob)},
        {
            "allow": dict.fromkeys(["find", "get", "remove"], is_bob),
            "readable": {"text": "A"},
        },
    ],
)
def test_object_shows_nothing_to_whom_a_rule_shows_no_record(tmp_path, options):
    records = make_live_records()
    board = records.add("board", Board(), **options)

    with in_memory(records, tmp_path) as site, site.app.app_context():
        site.register(BOB)
        ann, bob = site.connect(realtime.ANN), site.connect(BOB)
        board.create({"text": "A"})

        assert [record["text"] for _, record in ann.events()] == []
        assert [record["text"] for _, record in bob.events()] == ["A"]

        calls = [("find", {}), ("get", "1", {}), ("remove", "1", {})]
        refused = [ann.call(name, "board", *rest)[0]["code"] for name, *rest in calls]
        assert refused == [403, 403, 403]
        assert bob.call("get", "board", "1", {})[1]["text"] == "A"
