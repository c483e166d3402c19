"""The statements that calls run."""

import pytest
import sqlalchemy as sa

from flask_records import SQLAlchemyService

from ...databases import serving_models
from ...models import Base, membership, Message, Room, User
from ...sql import statements_of

ANN = {"id": 1, "email": "ann@example.com"}
MESSAGES = [
    {"id": n, "text": f"Text {n}", "rank": n, "room_id": 1 + n % 2, "user_id": 1}
    for n in range(1, 6)
]
ALONE = {"id": 6, "text": "Text 6", "rank": None, "room_id": None, "user_id": None}
NEW = {"id": 9, "text": "New", "user_id": 1, "room_id": 1}


@pytest.fixture(scope="module")
def app_of_module(module_url):
    options = {"multi": True, "whitelist": ["$populate"], "client_ids": True}
    services = {
        model.__name__.lower(): SQLAlchemyService(
            model, paginate={"default": 6}, **options
        )
        for model in (User, Room, Message)
    }
    uncounted = {"default": 2, "total": False}
    services["uncounted"] = SQLAlchemyService(Message, paginate=uncounted)

    with serving_models(module_url, services) as client:
        yield client.application


@pytest.fixture
def app(app_of_module):
    """An app of each database, with a user, two rooms and six messages."""
    rows = {
        User: [ANN],
        Room: [{"id": 1, "name": "Red"}, {"id": 2, "name": "Blue"}],
        Message: [*MESSAGES, ALONE],
        membership: [{"user_id": 1, "room_id": 1}, {"user_id": 1, "room_id": 2}],
    }

    with app_of_module.app_context():
        with app_of_module.extensions["sqlalchemy"].engine.begin() as connection:
            for table in reversed(Base.metadata.sorted_tables):
                connection.execute(table.delete())

            for table, values in rows.items():
                connection.execute(sa.insert(table), values)

    return app_of_module


@pytest.fixture
def engine(app, app_context):
    return app.extensions["sqlalchemy"].engine


def kinds(statements):
    """The first word of each statement, and COUNT for those that count."""
    words = [
        "COUNT" if "SELECT count(" in each else each.split()[0] for each in statements
    ]
    return " ".join(word for word in words if word not in ("BEGIN", "PRAGMA"))


READS = [
    ("/message", "SELECT COUNT"),
    ("/message?$limit=7", "SELECT"),
    ("/message?$skip=9", "SELECT COUNT"),
    ("/message?$limit=0", "COUNT"),
    ("/uncounted", "SELECT"),
    ("/uncounted?$skip=9", "SELECT"),
    ("/uncounted?$limit=0", "COUNT"),
    ("/message?rank[$gt]=3&$sort[rank]=-1&$select=text", "SELECT"),
    ("/message/1", "SELECT"),
    ("/message/99", "SELECT"),
    ("/message/x", ""),
    ("/message?nope=1", ""),
    ("/message/1?$populate=user", "SELECT SELECT"),
    ("/message?$limit=7&$populate[]=user&$populate[]=room", "SELECT SELECT SELECT"),
    ("/user?$populate=rooms", "SELECT SELECT SELECT"),
]


@pytest.mark.parametrize(("url", "expected"), READS)
def test_statements_of_reads(engine, client, url, expected):
    with statements_of(engine) as statements:
        client.get(url)

    assert kinds(statements) == expected


def test_pages_without_a_total_count_where_they_are_asked_to(client):
    page = client.get("/uncounted?$select=id").json
    counted = client.get("/uncounted?$limit=0").json

    assert page == {"limit": 2, "skip": 0, "data": [{"id": 1}, {"id": 2}]}
    assert counted == {"total": 6, "limit": 0, "skip": 0, "data": []}


WRITES = [
    ("POST", "", NEW, "INSERT SELECT"),
    ("POST", "", [NEW | {"id": n} for n in range(7, 9)], "INSERT SELECT"),
    ("POST", "", {"rank": "x"}, ""),
    ("POST", "?$populate=user", NEW, "INSERT SELECT SELECT"),
    ("PUT", "/1", NEW, "SELECT UPDATE SELECT"),
    ("PATCH", "/1", {"text": "b"}, "SELECT UPDATE SELECT"),
    ("PATCH", "/1", {}, "SELECT SELECT"),
    ("PATCH", "/99", {"text": "b"}, "SELECT"),
    ("PATCH", "", {"text": "b"}, "SELECT UPDATE SELECT"),
    ("PATCH", "?$limit=0", {"text": "b"}, ""),
    ("DELETE", "/1", None, "SELECT SELECT DELETE"),
    ("DELETE", "", None, "SELECT SELECT DELETE"),
]


@pytest.mark.parametrize(("verb", "path", "body", "expected"), WRITES)
def test_statements_of_writes(engine, client, verb, path, body, expected):
    with statements_of(engine) as statements:
        client.open(f"/message{path}", method=verb, json=body)

    assert kinds(statements) == expected


def test_reads_make_no_instances_of_the_model(app, client):
    loaded = []

    def remember(target, context):
        loaded.append(target)

    sa.event.listen(Base, "load", remember, propagate=True)
    client.get("/message?$limit=7&$populate[]=user&$populate[]=room&rank[$gt]=1")
    client.get("/user/1?$populate[]=rooms&$populate[]=messages")
    assert loaded == []

    client.patch("/user/1", json={"age": 1})
    assert len(loaded) == 1

    sa.event.remove(Base, "load", remember)


def test_a_read_selects_the_fields_that_are_asked_for_only(engine, client):
    with statements_of(engine) as statements:
        client.get("/message/1?$select=text")

    columns = statements[0].partition("FROM")[0]
    assert "text" in columns
    assert "rank" not in columns
