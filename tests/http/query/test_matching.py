"""A record in memory is compared with a query, unless only the database can tell.

It never differs from the database, as tests/http/differential shows.
"""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from flask_records import BadRequest, SQLAlchemyService

from ...models import Color, Everything

RECORD = {
    "integer": 1,
    "big": 2**53 + 1,
    "text": "a",
    "boolean": True,
    "real": 0.1,
    "price": Decimal("0.10"),
    "naive": dt.datetime(2024, 1, 2, 3, 4, 5),
    "day": dt.date(2024, 1, 2),
    "clock": dt.time(3, 4, 5),
    "span": dt.timedelta(seconds=90.5),
    "unique_id": uuid.UUID(int=1),
    "color": Color.red,
    "document": {"a": [None]},
}
LEFT_TO_THE_DATABASE = {"text", "document", "real", "price", "span"}
WHITELIST = ["$and", "$nor", "$not", "$like", "$search", "$null", "$between"]


@pytest.fixture(scope="module")
def target():
    """A service that compares records, whose database is never asked."""
    sessions = orm.sessionmaker(sa.create_engine("sqlite://"))
    return SQLAlchemyService(Everything, session=sessions, whitelist=WHITELIST)


@pytest.mark.parametrize("name", sorted(RECORD.keys() - LEFT_TO_THE_DATABASE))
def test_equality_is_told_without_the_database(target, name):
    test = target.matching([RECORD]).test

    assert test({name: RECORD[name]})(0) is True
    assert test({name: {"$nin": [RECORD[name], None]}})(0) is False
    assert test({name: None})(0) is False


@pytest.mark.parametrize(
    ("query", "is_match"),
    [
        ({"text": ["b", "a"]}, True),
        ({"text": {"$nin": ["b", "a"]}}, False),
        ({"text": "b", "integer": 2}, False),
        ({"text": {"$search": "a"}, "integer": 2}, False),
        ({"$or": [{"text": {"$search": "b"}}, {"integer": 1}]}, True),
        ({"$or": [{"text": "A"}, {"integer": 2}]}, None),
        ({"$or": [{"text": "b"}, {"integer": 2}]}, False),
        ({"text": ["b", "c"]}, False),
        ({"text": ["b", "ä"]}, None),
        # The record does not tell the field.
        ({"small": 1}, None),
        ({"small": 1, "integer": 1}, None),
        ({"small": {"$ne": 1}}, None),
        ({"$nor": [{"small": 1}]}, None),
    ],
    ids=str,
)
def test_part_that_decides_is_enough(target, query, is_match):
    assert target.matching([{"text": "a", "integer": 1}]).test(query)(0) is is_match


@pytest.mark.parametrize(
    "query", [{"nope": 1}, {"integer": "x"}, {"integer": {"$x": 1}}, {"$x": 1}], ids=str
)
def test_query_that_is_not_understood_is_refused(target, query):
    with pytest.raises(BadRequest):
        target.matching([RECORD]).test(query)
