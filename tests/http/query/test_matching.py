"""A record in memory matches a query just where the database finds it.

Queries of all kinds and values of all types are compared in tests/http/differential.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from types import MappingProxyType

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy

from flask_records import BadRequest
from flask_records import FlaskRecords
from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records.http.formatter import dumps

from ...databases import served
from ...models import Base
from ...models import Color
from ...models import Everything

UTC = dt.UTC
MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5)

VALUES = {
    "integer": [0, 1, -1, 2],
    "small": [0, 1, 7],
    "big": [0, 2**53 + 1],
    "text": ["", "a", "A", "b", "null", "1", "ä"],
    "boolean": [True, False],
    "real": [0.0, 0.1, 1e300],
    "price": [Decimal(0), Decimal("0.10")],
    "naive": [MOMENT, MOMENT + dt.timedelta(days=1)],
    "day": [dt.date(2024, 1, 2), dt.date(2024, 1, 3)],
    "clock": [dt.time(0), dt.time(3, 4, 5)],
    "span": [dt.timedelta(0), dt.timedelta(seconds=90.5)],
    "unique_id": [uuid.UUID(int=1), uuid.UUID(int=2)],
    "color": [Color.red, Color.green],
    "document": [1, True, "1", "null", [], {"a": [None]}],
}
"""The values of each field, besides null."""

VAGUE = ("text", "document")
"""The fields whose values may be equal in a database though they differ here."""

WHITELIST = ["$and", "$nor", "$not", "$like", "$search", "$null", "$between"]


@pytest.fixture(scope="module")
def service(module_url):
    """A service with a record for each value of each field."""
    records = FlaskRecords()
    options = {"multi": True, "whitelist": WHITELIST}
    service = records.add(
        "everything", SQLAlchemyService(Everything, **options), public=True
    )

    with served(SQLAlchemy(model_class=Base), records, module_url) as app:
        with app.app_context():
            bodies = [{name: v} for name, vs in VALUES.items() for v in vs]
            rows = max(map(len, VALUES.values()))
            bodies += [
                {name: vs[row % len(vs)] for name, vs in VALUES.items()}
                for row in range(rows)
            ]
            service.create([{}, *bodies])
            yield service


@pytest.fixture(scope="module")
def stored(service):
    """Each record, typed and as it is in JSON."""
    return [(record, json.loads(dumps(record))) for record in service._find()]


def wrong(service, stored, query):
    """The records that the database and the matching differ about."""
    asked = Params(query={"$select": ["id"], **query})
    found = {record["id"] for record in service._find(asked)}
    differences = []

    for typed, plain in stored:
        for form in (typed, plain):
            is_match = matches(service, form, query)

            if is_match not in (None, typed["id"] in found):
                differences.append((form, is_match))

    return differences


def matches(service, record, query):
    return service.target.matching([record]).test(query)(0)


def told(service, stored, query):
    """Return whether the matching could tell about every record."""
    return all(
        matches(service, form, query) is not None for forms in stored for form in forms
    )


@pytest.mark.parametrize("name", [name for name in VALUES if name not in VAGUE])
def test_equality_is_told_without_the_database(service, stored, name):
    value = VALUES[name][0]

    assert told(service, stored, {name: value})
    assert told(service, stored, {name: {"$nin": [value, None]}})


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"integer": []},
        {"integer": {"$nin": []}},
        {"integer": [1, None]},
        {"integer": {"$nin": [1, None]}},
        {"integer": {"$gt": 0, "$lt": 2}},
        {"integer": "1", "boolean": "true"},
        {"integer": ""},
        {"integer": "null"},
        {"text": ""},
        {"text": "null"},
        {"text": 1},
        {"integer": {"$not": {"$gt": 0}}},
        {"integer": {"$not": {"$in": [1, None]}}},
        {"$or": []},
        {"$and": []},
        {"$nor": []},
        {"$not": {}},
        {"$nor": [{}]},
        {"$nor": [{"integer": {"$gt": 0}}, {"small": {"$ne": 7}}]},
        {"$and": [{"$or": [{"integer": 1}]}, {"$not": {"boolean": None}}]},
        {"$not": {"integer": {"$gte": 0}, "small": {"$lt": 7}}},
        {"integer": {"$not": {"$not": {"$gt": 0}}}},
        {"text": {"$like": "a%"}},
        {"$or": [{"text": {"$search": "a"}}, {"integer": 1}]},
        {"$not": {"text": {"$search": "a"}}},
        {"integer": {"$null": "true"}},
        {"$limit": 1000, "$sort": {"integer": 1}, "$select": ["text"], "integer": 1},
        {"integer": {"$between": [0, 1]}},
    ],
    ids=str,
)
def test_query(service, stored, query):
    assert wrong(service, stored, query) == []


@pytest.mark.parametrize(
    "queries",
    [
        [{"integer": value} for value in (1, "1", 1.0, True, None, "", 2)],
        [{"integer": [value]} for value in (1, True, "1", None, 2)],
        [{"text": value} for value in (1, True, 1.0, "1", Decimal(1), Decimal("1.0"))],
        [{"integer": {"$gt": value}} for value in (0, "0", 1, None)],
        [{"integer": []}, {"integer": [0, 1]}, {"integer": {"0": 0}}, {"integer": {}}],
        [{"integer": {"$not": value}} for value in (1, [1], {"$gt": 1}, {"$lt": 1})],
        [{"$or": [{"integer": n} for n in range(size)]} for size in range(4)],
        [{"$limit": limit, "integer": 1} for limit in (1, "x", 1)],
        [{"document": {"$eq": value}} for value in ({"a": [None]}, [1], 1, True)],
        [MappingProxyType({"integer": MappingProxyType({"$gt": n})}) for n in (0, 1)],
    ],
    ids=lambda queries: str(queries[0]),
)
def test_queries_of_one_shape_keep_their_values(service, stored, queries):
    target = service.target
    records = [record for forms in stored for record in forms]
    together = target.matching(records)

    for query in queries:
        alone = answers(target, records, query)
        assert answers(target, records, query, together) == alone


def answers(target, records, query, matching=None):
    """The answer for each record, or the error that there is instead."""
    try:
        test = (matching or target.matching(records)).test(query)
        return [test(index) for index in range(len(records))]
    except (BadRequest, AttributeError) as error:
        return type(error)


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
        ({"small": 1, "integer": 1}, None),
    ],
    ids=str,
)
def test_part_that_decides_is_enough(service, query, is_match):
    record = {"text": "a", "integer": 1}

    assert matches(service, record, query) is is_match


def test_field_that_is_not_in_the_record_is_not_told(service):

    assert matches(service, {"text": "a"}, {"integer": 1}) is None
    assert matches(service, {"text": "a"}, {"integer": {"$ne": 1}}) is None
    assert matches(service, {}, {"$nor": [{"integer": 1}]}) is None
    assert matches(service, {"text": "a"}, {"text": "b", "integer": 1}) is not True


@pytest.mark.parametrize(
    "query", [{"nope": 1}, {"integer": "x"}, {"integer": {"$x": 1}}, {"$x": 1}], ids=str
)
def test_query_that_is_not_understood_is_refused(service, stored, query):
    with pytest.raises(BadRequest):
        matches(service, stored[0][0], query)


def test_text_is_compared_as_the_database_does_in_a_collation_without_case(module_url):
    """Or only the database can tell."""
    engine = sa.create_engine(module_url)
    collation = {"mysql": "utf8mb4_general_ci", "mariadb": "utf8mb4_general_ci"}
    name = collation.get(engine.dialect.name, "NOCASE")

    if engine.dialect.name == "postgresql":
        pytest.skip("it has no such collation at hand")

    class Other(sa.orm.DeclarativeBase):
        pass

    class Word(Other):
        __tablename__ = "loose_word"
        id: sa.orm.Mapped[int] = sa.orm.mapped_column(primary_key=True)
        text: sa.orm.Mapped[str] = sa.orm.mapped_column(sa.String(20, name))

    records = FlaskRecords()
    added = records.add("words", SQLAlchemyService(Word, multi=True), public=True)

    with served(SQLAlchemy(model_class=Other), records, module_url) as app:
        with app.app_context():
            added.create([{"text": "Bob"}, {"text": "bob"}, {"text": "bob "}])
            forms = [(record, record) for record in added._find()]

            assert wrong(added, forms, {"text": "bob"}) == []
            assert wrong(added, forms, {"text": {"$ne": "bob"}}) == []
            assert wrong(added, forms, {"text": {"$nin": ["bob"]}}) == []

    engine.dispose()
