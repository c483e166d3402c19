"""The number of records that one call of a client creates, patches or removes."""

import io

import pytest
import sqlalchemy as sa

from flask_records import SQLAlchemyService

from ...databases import serving_models
from ...models import Message

METHODS = ["create", "patch", "remove"]
PARTS = "Send the list in parts."
NARROW = "Narrow the query, or send a $limit."

SERVICES = {
    "messages": {"multi": True},
    "none": {"multi": False},
    "creating": {"multi": ["create"]},
    "patching": {"multi": ["patch", "update"]},
    "removing": {"multi": ["remove"]},
}
"""The options of the services by their paths."""


@pytest.fixture(scope="module")
def app_of_module(module_url):
    """An app on each database where a call names five records at most."""
    services = {path: SQLAlchemyService(Message, **SERVICES[path]) for path in SERVICES}

    with serving_models(module_url, services, RECORDS_BOUNDS={"multi": 5}) as client:
        yield client.application


@pytest.fixture
def app(app_of_module):
    """The app without records."""
    with app_of_module.app_context():
        session = app_of_module.extensions["sqlalchemy"].session
        session.execute(sa.delete(Message))
        session.commit()
        yield app_of_module


@pytest.fixture
def messages(app):
    return app.extensions["records"]["messages"]


def texts(count):
    return [{"text": str(number)} for number in range(count)]


def refusal(response):
    return response.status_code, response.json["message"]


def too_many(method, limit, cure):
    return (400, f"Can not {method} more than {limit} records in one call. {cure}")


def test_as_many_records_as_are_allowed_are_written(client, messages):
    messages.create([{"text": "kept"}])

    created = client.post("/messages", json=texts(5))
    patched = client.patch("/messages?text[$ne]=kept", json={"rank": 1})
    removed = client.delete("/messages?rank=1")

    assert [len(each.json) for each in (created, patched, removed)] == [5, 5, 5]
    assert [record["text"] for record in messages.find()] == ["kept"]


def test_more_records_than_are_allowed_are_refused(client, messages):
    stored = messages.create(texts(6))

    created = client.post("/messages", json=texts(6))
    patched = client.patch("/messages", json={"rank": 1})
    removed = client.delete("/messages?$limit=6")

    assert refusal(created) == too_many("create", 5, PARTS)
    assert refusal(patched) == too_many("patch", 5, NARROW)
    assert refusal(removed) == too_many("remove", 5, NARROW)
    assert messages.find() == stored


def test_a_limit_lets_many_records_be_written_in_turns(client, messages):
    messages.create(texts(12))

    counts = [len(client.delete("/messages?$limit=5").json) for _ in range(3)]

    assert counts == [5, 5, 2]


def test_only_the_list_of_a_client_is_bounded(client, messages):
    calls = []

    def add(method, context):
        calls.append(method)
        context.data += texts(20)

    with messages.before.connected_to(add, "create"):
        refused = client.post("/messages", json=texts(6))
        created = client.post("/messages", json=texts(5))

    assert (refused.status_code, len(created.json), calls) == (400, 25, ["create"])
    assert len(messages.patch(None, {"rank": 1})) == 25


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("messages", METHODS),
        ("none", []),
        ("creating", ["create"]),
        ("patching", ["patch"]),
        ("removing", ["remove"]),
    ],
)
def test_multi_allows_the_methods_it_names(client, path, allowed):
    answers = {
        "create": client.post(f"/{path}", json=[]),
        "patch": client.patch(f"/{path}?rank=9", json={"rank": 8}),
        "remove": client.delete(f"/{path}?rank=9"),
    }

    for name, response in answers.items():
        if name in allowed:
            assert (response.status_code // 100, response.json) == (2, [])
        else:
            assert refusal(response) == (405, f"Can not {name} multiple entries")


@pytest.mark.parametrize("path", ["/messages", "/messages/?rank=1", "/none"])
def test_conditions_of_a_remove_in_a_body_are_refused(client, messages, path):
    messages.create(texts(2))

    response = client.delete(path, json={"ids": [9]})

    cure = "A DELETE of many has no body. Send its conditions in the query string."
    assert refusal(response) == (400, cure)
    assert len(messages.find()) == 2
    one = messages.find()[0]["id"]
    assert client.delete(f"/messages/{one}", json={}).json["id"] == one


@pytest.mark.parametrize(
    ("body", "is_passed_on", "status"),
    [(b"", True, 200), (b'{"ids": [9]}', True, 400), (b'{"ids": [9]}', False, 400)],
)
def test_a_remove_of_many_may_announce_a_body_and_send_none(
    client, body, is_passed_on, status
):
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked"}
    chunked |= {"wsgi.input_terminated": True} if is_passed_on else {}
    stream = {"input_stream": io.BytesIO(body), "environ_overrides": chunked}

    assert client.delete("/messages?rank=9", **stream).status_code == status


@pytest.mark.parametrize("group", ["$or", "$nor"])
def test_items_of_groups_without_numbers_are_refused(client, messages, group):
    messages.create([{"text": "a", "rank": 1}, {"text": "b", "rank": 2}])
    first, second = f"{group}[][text]=a", f"{group}[][rank]=2"

    refused = client.delete(f"/messages?{first}&{second}")

    cure = f"Give the items of '{group}' numbers, such as {group}[0][a]=1."
    assert refusal(refused) == (400, cure)
    assert len(messages.find()) == 2
    bracketed = f"[{group}][][rank]=1&[{group}][][rank]=2"
    assert refusal(client.get(f"/messages?{bracketed}")) == (400, cure)
    assert [m["rank"] for m in client.get("/messages?$or[][text]=b").json] == [2]
