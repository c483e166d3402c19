"""The bounds on one call of a client."""

import json
from urllib.parse import quote, unquote

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords, restrict, SQLAlchemyService

from ..databases import served
from ..models import Message
from ..realtime import live, make_live_records

MANY = "The query has more than 100 conditions."
LONG = "The query has more than 1000 list items."
SCANS = "The query has more than 5 operators such as $search."
SCANNING = ("$search", "$like", "$notLike", "$ilike", "$regex", "$contains", "$overlap")
NAME = "A name has more than 1000 characters."


def conditions(count):
    return {f"field{n}": n for n in range(count)}


@pytest.fixture(scope="module")
def ask():
    """A function that returns the message of the answer to a query in JSON."""
    parser = lambda text: json.loads(unquote(text))  # noqa: E731
    records = FlaskRecords(query_parser=parser, app_errors=True)
    records.add("messages", SQLAlchemyService(Message), public=True)
    clients = {}

    def ask(query, **bounds):
        if str(bounds) not in clients:
            app = Flask("tests")
            app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
            app.config["RECORDS_BOUNDS"] = bounds
            SQLAlchemy(app)
            records.init_app(app)
            clients[str(bounds)] = app.test_client()

        answer = clients[str(bounds)].get(f"/messages?{quote(json.dumps(query))}")
        assert answer.status_code == 400
        return answer.json["message"]

    return ask


@pytest.mark.parametrize(
    "query",
    [
        conditions(100),
        {**conditions(97), "$limit": 1, "$skip": 1, "$select": ["a"], "$sort": {}},
        {**conditions(98), "$sort": {"a": 1, "b": -1}},
        {**conditions(99), "a": {"$in": list(range(1000))}},
        {**conditions(99), "a": {str(n): n for n in range(1000)}},
        {"$or": [{"a": n} for n in range(50)]},
        {"$select": ["a"] * 1000},
        {"a" * 10_000: 1},
    ],
    ids=lambda query: str(query)[:30],
)
def test_query_within_the_bounds_is_read(ask, query):
    """Its fields are not those of a message."""
    assert ask(query).endswith("is not a field.")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (conditions(101), MANY),
        ({**conditions(99), "a": {"$gt": 1, "$lt": 2}}, MANY),
        ({"$or": [{"a": n} for n in range(51)]}, MANY),
        ({"$or": [{}] * 101}, MANY),
        ({"$or": [{"$or": [{}] * 50}, {"$or": [{}] * 50}]}, MANY),
        ({"a": {f"${n}": n for n in range(101)}}, MANY),
        ({"$or": [{}] * 1001}, LONG),
        ({"a": list(range(1001))}, LONG),
        ({"a": {"$in": {str(n): n for n in range(1001)}}}, LONG),
        ({"a": [1] * 600, "b": [1] * 600}, LONG),
        ({"$select": ["a"] * 1001}, LONG),
        *[({"$or": [{"a": {name: "x"}}] * 6}, SCANS) for name in SCANNING],
    ],
    ids=lambda value: str(value)[:30],
)
def test_query_beyond_the_bounds_is_refused(ask, query, message):
    assert ask(query) == message


def test_each_application_has_its_own_bounds(ask):
    assert ask(conditions(2), conditions=1) == "The query has more than 1 conditions."
    assert ask(conditions(2)) == "'field0' is not a field."


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"condition": 1}, "RECORDS_BOUNDS has no key 'condition'. The keys are 'con"),
        ({"multi": 0}, r"RECORDS_BOUNDS\['multi'\] must be a positive integer, not 0"),
        ({"multi": True}, "must be a positive integer, not True"),
        ({"list_items": "5"}, "must be a positive integer, not '5'"),
        ([1], r"RECORDS_BOUNDS must be a mapping such as"),
    ],
)
def test_wrong_setting_is_an_error_at_start(setting, message):
    app = Flask("tests")
    app.config["RECORDS_BOUNDS"] = setting

    with pytest.raises(RuntimeError, match=message):
        FlaskRecords().init_app(app)


# Over HTTP.


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("&".join(f"$and[{n}][text][$like]=x{n}" for n in range(6)), SCANS),
        ("rank[" + "a" * 1001 + "]=1", NAME),
    ],
)
def test_query_string_beyond_the_bounds_is_a_400(app, query, message):
    answer = app.test_client().get(f"/messages?{query}")

    assert (answer.status_code, answer.json["message"]) == (400, message)


def test_as_many_terms_as_are_allowed_are_answered(db, records, messages, database_url):
    terms = [f"$or[{n}][rank]={n}" for n in range(50)]
    listed = [f"rank[$in][{n}]={n}" for n in range(900)]
    deep = "".join("[rank][$not]" if n == 0 else "[$not]" for n in range(15))

    texts = [f"$or[{n}][text][$search]=x{n}" for n in range(5)]

    with served(db, records, database_url) as app:
        for parts in (terms, listed, texts, [f"$or[0]{deep}[$gt]=1"]):
            answer = app.test_client().get("/messages?" + "&".join(parts))
            assert answer.status_code == 200


def test_bounds_hold_for_the_client_and_not_for_hooks_and_python(app, client, messages):
    @messages.before("find")
    def add(method, context):
        restrict(context.params, {"$or": [{"rank": n} for n in range(80)]})

    refused = client.get("/messages?" + "&".join(f"a{n}=1" for n in range(101)))

    assert (refused.status_code, refused.json["message"]) == (400, MANY)
    assert client.get("/messages?rank=1").status_code == 200


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("a" * 100_000, NAME),
        ("a[" + "b" * 1001 + "]=1", NAME),
        ("a[25]=1&a[" + "9" * 5000 + "]=2&a=3", NAME),
        ("a[25]=1&a[" + "9" * 990 + "]=2&a=3", "'a' is not a field"),
    ],
    ids=["a name", "a key", "a number", "a number that is a key"],
)
def test_form_with_nonsense_for_a_name_is_a_400(app, form, message):
    kind = "application/x-www-form-urlencoded"
    answer = app.test_client().post("/messages", data=form, content_type=kind)

    assert answer.status_code == 400
    assert message in answer.json["message"]


# Over a socket.


@pytest.fixture
def socket(tmp_path):
    with live(make_live_records(public=True), tmp_path) as site:
        yield site.connect()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"$or": [{}] * 150_000}, LONG),
        ({"$or": [{}] * 1000}, MANY),
        ({"rank": {"$in": list(range(1001))}}, LONG),
        ({"x" * 900_000: 1}, f"'{'x' * 100}...' is not a field."),
        ({f"field{n}": {"$gt": n} for n in range(30_000)}, MANY),
    ],
)
def test_query_beyond_the_bounds_is_refused_over_a_socket(socket, query, message):
    (error,) = socket.call("find", "messages", query)

    assert (error["code"], error["message"]) == (400, message)


@pytest.mark.parametrize(
    "id", ["x" * 900_000, 10**4000, -(10**4000), 1e308, [1] * 1000, {"a": 1}, True]
)
def test_identifier_that_makes_no_sense_is_a_short_404(socket, id):
    for message in (["get"], ["patch", {"text": "x"}], ["remove"]):
        error = socket.call(message[0], "messages", id, *message[1:])[0]

        assert error["code"] == 404
        assert len(json.dumps(error)) < 1000
