"""A record in memory is compared with a query, unless only the database can tell.

It never differs from the database, as tests/http/differential shows.
"""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import orm

from flask_records import BadRequest, FlaskRecords, Params, SQLAlchemyService

from ...databases import served
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


def test_text_is_left_to_a_database_that_ignores_case(module_url):
    name = sa.make_url(module_url).get_backend_name()

    if name == "postgresql":
        pytest.skip("it has no such collation at hand")

    class Base(orm.DeclarativeBase):
        pass

    class Word(Base):
        __tablename__ = "loose_word"
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        text: orm.Mapped[str] = orm.mapped_column(
            sa.String(20, "NOCASE" if name == "sqlite" else "utf8mb4_general_ci")
        )

    records = FlaskRecords()
    words = records.add("words", SQLAlchemyService(Word, multi=True), public=True)

    with served(SQLAlchemy(model_class=Base), records, module_url) as app:
        with app.app_context():
            created = words.create([{"text": "Bob"}, {"text": "bob"}])
            found = words.find(Params({"text": "bob"}))
            test = words.target.matching(created).test({"text": {"$ne": "bob"}})

            assert found == created
            assert [test(0), test(1)] == [None, False]
