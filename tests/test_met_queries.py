"""Records that meet some of many queries."""

from __future__ import annotations

import pytest

from flask_records import FlaskRecords
from flask_records import NotFound
from flask_records import SQLAlchemyService

from .models import Message
from .sql import statements_of


@pytest.fixture(autouse=True)
def context(app):
    with app.app_context():
        yield


@pytest.fixture
def stored(messages):
    return [messages.create({"text": text, "rank": 1})["id"] for text in "abc"]


def test_each_query_is_met_by_some_records(messages, stored):
    queries = [{"text": {"$search": "A"}}, {"rank": 1}, {"rank": {"$gt": 1}}, {}]

    met = messages.meets(queries, [*stored, 99])

    assert met == [
        [True, False, False, False],
        [True, True, True, False],
        [False] * 4,
        [True, True, True, False],
    ]


def test_one_statement_asks_for_50_queries(messages, stored, db):
    queries = [{"text": {"$search": text}} for text in "abcdef" * 10]

    with statements_of(db.engine) as executed:
        met = messages.meets(queries, stored)

    expected = [[text == other for other in "abc"] for text in "abcdef" * 10]
    assert met == expected
    assert len(executed) == 2


def test_long_lists_are_asked_for_in_several_statements(messages, stored, db):
    queries = [{"rank": {"$in": list(range(number, 400))}} for number in range(3)]

    with statements_of(db.engine) as executed:
        met = messages.meets(queries, stored)

    assert met == [[True] * 3, [True] * 3, [False] * 3]
    assert len(executed) == 3


def test_identifier_that_cannot_be_is_not_found(messages):
    with pytest.raises(NotFound):
        messages.meets([{"rank": 1}], ["x"])


def test_service_with_a_get_of_its_own_is_asked_itself():
    class Own(SQLAlchemyService):
        def get(self, id, params):
            return super().get(id, params)

    own = FlaskRecords().add("own", Own(Message), public=True)

    assert own.meets([{"rank": 1}], [1]) is None
