"""The number of records that one call of a client creates, patches or removes."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords
from flask_records import Params
from flask_records import SQLAlchemyService

from ...bounds import request
from ...bounds import worker
from ...databases import served
from ...models import Base
from ...models import Message
from ...realtime import live
from ...realtime import make_live_records

PARTS = "Send the list in parts."
NARROW = "Narrow the query, or send a $limit."


def too_many(method, limit, cure):
    return f"Can not {method} more than {limit} records in one call. {cure}"


def texts(count):
    return [{"text": str(n)} for n in range(count)]


@pytest.fixture
def multi():
    return True


@pytest.fixture
def service(multi):
    records = FlaskRecords()
    return records, records.add(
        "messages", SQLAlchemyService(Message, multi=multi), public=True
    )


@pytest.fixture
def app(service, database_url):
    """An app on each database where a call names five records at most."""
    records, messages = service
    db, bounds = SQLAlchemy(model_class=Base), {"multi": 5}

    with served(db, records, database_url, RECORDS_BOUNDS=bounds) as app:
        yield app


@pytest.fixture
def stored(app):
    """A function that returns how many messages are stored, and the sum of ranks."""
    columns = sa.func.count(), sa.func.coalesce(sa.func.sum(Message.rank), 0)

    def stored():
        engine = app.extensions["sqlalchemy"].engine

        with engine.connect() as connection:
            return tuple(connection.execute(sa.select(*columns)).one())

    with app.app_context():
        yield stored


def refusal(response):
    return response.status_code, response.json["message"]


def test_as_many_records_as_are_allowed_are_written(service, client, stored):
    service[1].create(texts(2))

    created = client.post("/messages", json=texts(5))
    patched = client.patch("/messages?id[$gt]=2", json={"rank": 1})
    removed = client.delete("/messages?rank=1")

    assert [len(one.json) for one in (created, patched, removed)] == [5, 5, 5]
    assert stored() == (2, 0)


def test_more_records_than_are_allowed_are_refused(service, client, stored):
    service[1].create(texts(6))

    created = client.post("/messages", json=texts(6))
    patched = client.patch("/messages", json={"rank": 1})
    removed = client.delete("/messages?$limit=6")

    assert refusal(created) == (400, too_many("create", 5, PARTS))
    assert refusal(patched) == (400, too_many("patch", 5, NARROW))
    assert refusal(removed) == (400, too_many("remove", 5, NARROW))
    assert stored() == (6, 0)


def test_a_limit_within_the_bound_lets_many_records_be_written_in_turns(
    service, client, stored
):
    service[1].create(texts(12))

    counts = [len(client.delete("/messages?$limit=5").json) for _ in range(3)]

    assert counts == [5, 5, 2]
    assert stored() == (0, 0)


def test_a_list_that_is_too_long_is_refused_before_any_hook(service, client):
    calls = []
    service[1].before("create")(lambda method, context: calls.append(method))

    client.post("/messages", json=texts(6))
    client.post("/messages", json=texts(5))

    assert calls == ["create"]


def test_calls_in_python_write_any_number(service, stored):
    _, messages = service

    messages.create(texts(20))
    patched = messages.patch(None, {"rank": 1})
    removed = messages.remove(None, Params({"id": {"$gt": 10}}))

    assert (len(patched), len(removed)) == (20, 10)
    assert stored() == (10, 10)


def test_a_hook_adds_to_the_records_of_a_client(service, client):
    @service[1].before("create")
    def add(method, context):
        context.data += texts(20)

    assert len(client.post("/messages", json=texts(5)).json) == 25


@pytest.mark.parametrize("multi", [{"create": 2, "patch": 7}])
def test_a_service_has_numbers_of_its_own(service, client, stored):
    service[1].create(texts(7))

    assert client.post("/messages", json=texts(2)).status_code == 201
    assert refusal(client.post("/messages", json=texts(3))) == (
        400,
        too_many("create", 2, PARTS),
    )
    assert refusal(client.patch("/messages", json={"rank": 1})) == (
        400,
        too_many("patch", 7, NARROW),
    )
    assert client.patch("/messages?id[$lt]=8", json={"rank": 1}).status_code == 200
    assert refusal(client.delete("/messages")) == (
        405,
        "Can not remove multiple entries",
    )


@pytest.mark.parametrize("multi", [True, False, [], ["create", "update"], {"patch": 1}])
def test_options_of_multi(multi):
    names = multi if multi is not True else ["create", "update", "patch", "remove"]
    service = SQLAlchemyService(Message, multi=multi)

    assert [
        name
        for name in ("find", "get", "create", "update", "patch", "remove")
        if name in service.multi
    ] == list(names or [])


@pytest.mark.parametrize(
    ("multi", "message"),
    [
        (["find"], "'multi' names 'find'. It takes some of these: multi="),
        (["get"], "'multi' names 'get'. It takes"),
        ({"delete": 1}, "'multi' names 'delete'. It takes"),
        (
            {"create": 0},
            "'multi' gives 'create' the number 0, which must be a positive",
        ),
        ({"create": True}, "'multi' gives 'create' the number True"),
        ({"create": None}, "'multi' gives 'create' the number None"),
        ({"create": "9"}, "'multi' gives 'create' the number '9'"),
    ],
)
def test_wrong_options_of_multi_are_errors(multi, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        SQLAlchemyService(Message, multi=multi)


def test_list_over_a_socket_is_bounded(tmp_path):
    with live(make_live_records(public=True), tmp_path) as site:
        client = site.connect()
        errors = [
            client.call("create", "messages", texts(1001))[0],
            client.call("create", "messages", [{}] * 250_000)[0],
        ]
        client.result("create", "messages", texts(1000))
        client.result("create", "messages", {"text": "x"})
        errors.append(client.call("remove", "messages", None)[0])

    assert [error["message"] for error in errors] == [
        too_many("create", 1000, PARTS),
        too_many("create", 1000, PARTS),
        too_many("remove", 1000, NARROW),
    ]


def test_list_of_a_megabyte_is_refused_by_gunicorn(tmp_path):
    with worker(tmp_path) as gunicorn:
        body = "[" + ",".join(['{"text":"x"}'] * 44_000) + "]"
        answer = request(gunicorn.host, "POST", "/messages", body)

    assert answer == (400, too_many("create", 1000, PARTS))


UNCONDITIONAL = [
    {},
    {"$limit": 2, "$sort": {"rank": 1}, "$select": ["text"]},
    {"$and": [], "$or": [{}, {"$and": [{}]}]},
]
CONDITIONAL = [
    {"rank": 1},
    {"id": {"$in": []}},
    {"$and": [{"$or": {"0": {"rank": 1}}}]},
]
MANY = {"patch": [None, {"rank": 2}], "remove": [None]}


@pytest.fixture
def careful():
    """Live records and a service where a rule and a hook add conditions."""
    records = make_live_records(public=True)
    service = SQLAlchemyService(Message, multi=True, multi_needs_query=True)
    messages = records.add(
        "careful", service, public=True, readable=lambda user: {"rank": 1}
    )

    @messages.before("patch", "remove")
    def add_condition(method, context):
        context.params.query["$or"] = [{"rank": 1}]

    return records


def test_writes_of_many_may_need_a_condition_of_the_client(careful, tmp_path):
    with live(careful, tmp_path) as site:
        client = site.connect()
        client.result("create", "careful", texts(3))
        refused = [
            client.call(method, "careful", *MANY[method], query)[0]
            for query in UNCONDITIONAL
            for method in MANY
        ]
        allowed = [
            client.call(method, "careful", *MANY[method], query)[0]
            for query in CONDITIONAL
            for method in MANY
        ]

        assert [(error["code"], error["message"][:58]) for error in refused] == [
            (
                400,
                f"Can not {method} multiple entries by a query without a condition"[
                    :58
                ],
            )
            for _ in UNCONDITIONAL
            for method in MANY
        ]
        assert allowed == [None] * 6
        assert len(client.result("find", "messages")) == 3


@pytest.mark.parametrize("text", ["", "?$limit=1", "?$sort[rank]=1&$skip=1"])
def test_empty_list_that_qs_drops_removes_nothing(text, db):
    records = FlaskRecords()
    service = SQLAlchemyService(Message, multi=["remove"], multi_needs_query=True)
    messages = records.add("messages", service, public=True)

    with served(db, records, "sqlite://") as app, app.app_context():
        client = app.test_client()
        messages.create({"text": "a"})
        one = client.delete(f"/messages{text}")
        patched = client.patch("/messages", json={"rank": 1})
        in_python = messages.remove(None)

    assert (one.status_code, patched.status_code) == (400, 405)
    assert [record["text"] for record in in_python] == ["a"]


@pytest.mark.parametrize("multi", [False, [], ["create"], {"create": 5}, ["update"]])
def test_condition_is_needed_by_methods_that_write_many(multi):
    with pytest.raises(ValueError, match=r"no effect .* multi=\['patch', 'remove'\]"):
        SQLAlchemyService(Message, multi=multi, multi_needs_query=True)
