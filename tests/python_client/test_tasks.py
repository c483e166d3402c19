"""Records that refer to each other, and custom methods with classes, over HTTP."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.conftest import running

from .modules import imported
from .tasks_app import create_app

NOW = dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC)
DAY = dt.date(2000, 1, 1)


@pytest.fixture(scope="module")
def client():
    app = create_app()

    with imported(app, "tasks_client") as made, running(app) as url:
        with made.Client(url) as client:
            yield client


@pytest.fixture
def owner(client):
    return client.owners.create({"name": "Ann", "bornOn": DAY})


@pytest.fixture
def task(client, owner):
    task = {"text": "a", "dueAt": NOW, "ownerId": owner["id"]}
    return client.tasks.create(task)


def test_records_that_refer_to_each_other_have_values_of_python(client, owner, task):
    query = {"id": task["id"], "$populate": "owner"}

    assert client.tasks.find(query).data == [{**task, "owner": owner}]
    populated = client.owners.get(owner["id"], {"$populate": ["tasks"]})
    assert populated == {**owner, "tasks": [task]}


def test_null_finds_what_is_null(client, owner, task):
    alone = client.tasks.create({"text": "b"})
    ids = [owner["id"], None]

    def found(query):
        return list(client.tasks.all({**query, "id": {"$gte": task["id"]}}))

    assert found({"dueAt": None}) == [alone]
    assert found({"ownerId": {"$ne": None}}) == [task]
    assert found({"ownerId": {"$in": ids}, "$sort": {"id": 1}}) == [task, alone]
    assert found({"note": {"$null": True}, "dueAt": NOW}) == [task]


def test_custom_methods_have_values_of_python(client):
    place = {"street": "a", "zip": None}
    until = NOW + dt.timedelta(hours=1)

    rung = client.bells.ring({"times": 2, "at": NOW, "place": place})

    assert rung == {"times": 2, "until": until, "places": [place]}
    assert client.bells.hum({"at": NOW}) == {"at": "2026-01-01T09:00:00+00:00"}
    assert client.bells.find() == [{"day": dt.date(2026, 1, 1), "degrees": 1.5}]
