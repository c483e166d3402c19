"""A write of many takes the records that a find with the same query sees."""

from contextlib import suppress

import pytest
from hypothesis import given

from flask_records import Params

from .examples import MANY
from .queries import NoText, queries, query_string


def found(world, query):
    """Return the identifiers that a query finds, with its limit but without pages."""
    skip, limit = query.get("$skip", 0), query.get("$limit")
    records = world.oracle.find(query)[skip:]
    return [record["id"] for record in records[:limit]]


def written(world, method, query):
    """Write many records, over HTTP if the query has a text, and return the answer."""
    body = {"rank": 77} if method == "patch" else None

    with suppress(NoText):
        path = f"/things?{query_string(query)}"
        answer = getattr(world.client, method)(path, json=body)
        assert answer.status_code == 200, (path, answer.json)
        return answer.json

    with world.app.app_context():
        params = Params(query)

        if method == "patch":
            return world.service.patch(None, body, params)

        return world.service.remove(None, params)


@pytest.mark.parametrize("method", ["patch", "delete"])
@MANY
@given(query=queries)
def test_any_write_of_many(world, method, query):
    world.restore()
    before, ids = world.rows(), found(world, query)

    answer = written(world, method, query)

    written_rows = {id: {**before[id], "rank": 77} for id in ids}
    left = {id: before[id] for id in before if id not in ids}
    expected = {**before, **written_rows} if method == "patch" else left
    assert [record["id"] for record in answer] == ids
    assert world.rows() == expected


@pytest.fixture(scope="module", autouse=True)
def restored(world):
    yield

    world.restore()
