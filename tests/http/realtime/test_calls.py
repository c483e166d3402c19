"""Calls of connections."""

import itertools
import json
import logging

import pytest

from flask_records import SQLAlchemyService

from ...authentication import ANN
from ...models import Everything
from ...realtime import in_memory, make_live_records


@pytest.fixture
def records():
    records = make_live_records(public=True)
    service = SQLAlchemyService(Everything, multi=True, whitelist=["$not"])
    records.add("typed", service, public=True)
    return records


@pytest.fixture
def client(site):
    return site.connect()


def message(id=1, text="Hi", **values):
    return {
        "id": id,
        "text": text,
        "rank": None,
        "read": False,
        "room_id": None,
        "user_id": None,
        "is_long": False,
        **values,
    }


def test_six_methods_answer_with_records_whose_types_are_kept(client):
    answers = [
        client.call("create", "messages", {"text": "Hi", "rank": 5}, {}),
        client.call("get", "messages", 1, {}),
        client.call("patch", "messages", 1, {"read": True}, {}),
        client.call("update", "messages", 1, {"text": "Ho"}, {}),
        client.call("find", "messages", {}),
        client.call("remove", "messages", 1, {}),
    ]

    assert answers == [
        [None, message(rank=5)],
        [None, message(rank=5)],
        [None, message(rank=5, read=True)],
        [None, message(text="Ho")],
        [None, [message(text="Ho")]],
        [None, message(text="Ho")],
    ]


def test_null_id_is_for_many(client):
    client.result("create", "messages", [{"text": "A"}, {"text": "B"}])

    patched = client.result("patch", "messages", None, {"rank": 1}, {"text": "A"})
    removed = client.result("remove", "messages", None, {"rank": 1})

    assert patched == removed == [message(text="A", rank=1)]


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("find", ({}, {}), "'find' takes no arguments after: query."),
        ("get", (1, {}, {}), "'get' takes no arguments after: id, query."),
    ],
)
def test_further_argument_is_a_400(client, method, arguments, message):
    assert client.error(method, "messages", *arguments) == (400, message)


@pytest.mark.parametrize("method", ["get", "remove"])
def test_id_that_is_missing_is_not_one_for_many(client, method):
    client.result("create", "messages", [{"text": "A"}, {"text": "B"}])

    error = client.error(method, "messages")

    assert error == (400, f"id for '{method}' can not be undefined")
    assert len(client.result("find", "messages")) == 2


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (["find", "nope"], (404, "Service 'nope' not found")),
        (["find", "/nope/"], (404, "Service 'nope' not found")),
        (["get", "messages", 9], (404, "No record found for id '9'")),
        (["remove", "echo", 1], (405, "Method 'remove' not allowed on service 'echo'")),
        (["find", "secrets"], (401, "Not authenticated")),
        (
            ["create", "messages"],
            (400, "First parameter for 'create' must be an object"),
        ),
        (["create", "authentication", {"strategy": "local"}], (401, "Invalid login")),
        (["remove", "authentication", None], (401, "Not authenticated")),
    ],
)
def test_refusal(client, sent, error):
    assert client.error(*sent) == error


NONSENSE = [
    None, True, False, 0, -1, 1.5, 1e308, 2**63, 10**400, "", "x", "\x00", "\ud800",
    "x" * 100_000, "messages/1", "//", "../users", "%00", [], {}, [[]], [None], [1, {}],
    {"": ""}, {"$": 1}, {"$where": 1}, {"id": {"$in": [None, {}, [[]]]}},
    {"rank": {"$gt": {}}}, {"rank": 10**400}, {"text": ["\ud800"]}, {"text": {"a": 1}},
    {"$limit": "x"}, {"$limit": -1}, {"$limit": 10**400}, {"$skip": []}, {"$sort": 1},
    {"$sort": {"rank": {}}}, {"$select": 1}, {"$select": [[]]}, {"$or": {}},
    {"$or": [None]}, {"$populate": {}}, {"__proto__": 1}, {"_placeholder": True},
]  # fmt: skip


@pytest.mark.parametrize(
    "method", ["find", "get", "create", "update", "patch", "remove"]
)
def test_nonsense_is_the_fault_of_the_client(records, tmp_path, method, caplog):
    with in_memory(records, tmp_path) as site:
        client = site.connect()
        client.result("create", "messages", {"text": "Hi"})
        found = {}

        for value, place in itertools.product(NONSENSE, range(4)):
            arguments = ["messages", 1, {"text": "Ho"}, {}][: place + 1]
            arguments[place] = value
            error, *rest = client.call(method, *arguments)

            if error is not None and not 400 <= error["code"] < 500:
                found[repr(value), place] = error

    assert found == {}
    assert caplog.record_tuples == []


def test_custom_method_gets_its_data_and_the_query(records, tmp_path):
    class Archive:
        def find(self, params):
            return []

        def restore(self, data, params):
            return [data, params.query, params.provider, params.route]

    records.add("a/<name>/b", Archive(), public=True, methods=["find", "restore"])

    with in_memory(records, tmp_path) as site:
        client = site.connect(ANN)
        answer = client.call("restore", "a/x/b", {"n": 1.5}, {"q": [None, 2]})
        error = client.error("restore", "messages", {})
        without = [client.call("restore", "a/x/b", *each) for each in ((), (None, {}))]

    assert without == [[None, [{}, {}, "socketio", {"name": "x"}]]] * 2
    assert answer == [None, [{"n": 1.5}, {"q": [None, 2]}, "socketio", {"name": "x"}]]
    assert error == (405, "Method 'restore' not allowed on service 'messages'")


@pytest.mark.parametrize(
    ("debug", "text"), [(False, "Internal server error"), (True, "/etc/passwd")]
)
def test_error_tells_nothing_of_the_server(records, tmp_path, debug, text, caplog):
    @records["messages"].before("find")
    def fail(method, context):
        raise RuntimeError("/etc/passwd")

    with in_memory(records, tmp_path, DEBUG=debug) as site:
        answer = site.connect().call("find", "messages")

    assert [answer[0]["code"], answer[0]["message"]] == [500, text]
    assert ("/etc/passwd" in json.dumps(answer)) is debug
    assert [r.levelno for r in caplog.records] == [logging.ERROR]


def test_answer_is_that_of_http(records, tmp_path):
    """Types that JSON does not have included, such as bytes."""
    records.add("everything", SQLAlchemyService(Everything), public=True)
    body = {
        "blob": "AAEC", "price": "1.50", "aware": "2024-01-02T03:04:05Z", "real": 1.5,
        "day": "2024-01-02", "clock": "01:02:03", "span": 90.5, "color": "red",
        "big": 2**60, "document": {"a": [1, None]}, "text": "\u2028ü",
    }  # fmt: skip

    with in_memory(records, tmp_path) as site:
        client = site.connect()
        created = client.result("create", "everything", body)
        answer = site.http.get(f"/everything/{created['id']}").json

    assert created == answer


def test_query_that_nests_deep_is_refused(site):
    client = site.connect()
    query, document = {"id": 1}, "a"

    for _ in range(90):
        query, document = {"$or": [query]}, [document]

    errors = [
        client.call("find", "messages", each)[0]
        for each in (query, {"text": {"$eq": document}})
    ]

    assert [error["code"] for error in errors] == [400, 400]


def test_nothing_is_stored_whose_answer_can_not_be_encoded(site, client):
    messages = site.records["messages"]
    listener = site.connect(ANN)

    @messages.after("create")
    def add(method, context):
        context.result["extra"] = object()

    code, message = client.error("create", "messages", {"text": "Hi"}, {})

    assert code == 500
    assert client.result("find", "messages", {}) == []
    assert listener.names() == []
