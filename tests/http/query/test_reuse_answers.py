"""A statement that is reused answers what one does that is built for the call."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
import sqlalchemy as sa

from flask_records import Operator
from flask_records import Params
from flask_records import Transaction

from .things import Base
from .things import Color
from .things import DAY
from .things import KEY
from .things import NOON
from .things import OPERATORS
from .things import OTHER_KEY
from .things import service_over
from .things import Thing
from .things import THINGS
from .things import UTC_NOON


def pairs(field, *values):
    """Return queries that compare a field in all ways with each of the values."""
    operators = ("$eq", "$ne", "$lt", "$lte", "$gt", "$gte")
    return [[{field: {name: value}} for value in values] for name in operators]


RANKS_AND_NAMES = [(1, "x"), (9, "Ann"), (None, "")]
RANKS_AND_FLAGS = [(1, False), (2, True), (None, None)]
SHAPES = [
    # Every operator, without and with null.
    *pairs("rank", 1, "2", 3, None, "", -(2**31)),
    *pairs("name", "Ann", "ann", "", "null", None, "'; --", "Zoë"),
    [{"rank": 1}, {"rank": "2"}, {"rank": None}],
    [{"rank": {"$in": values}} for values in ([1], ["1", 2, "3"], [], [None], [9])],
    [{"rank": {"$in": values}} for values in ([1, None], [None, 2, 3], [None], [])],
    [{"rank": {"$nin": values}} for values in ([1], ["1", 2, "3"], [], [None], [9])],
    [{"rank": {"$nin": values}} for values in ([1, None], [None, 2, 3], [None], [])],
    [{"rank": values} for values in ([1, 2], [3], [], [None], {"0": "1", "1": "2"})],
    [{"name": {"$in": values}} for values in (["Ann", ""], ["ann", None], ["null"])],
    [{"rank": {"$null": value}} for value in (True, "false", "true")],
    [{"rank": {"$between": values}} for values in ([1, 2], ["2", 3], [3, 1])],
    [{"name": {"$like": value}} for value in ("A%", "%n", "50\\%", "%")],
    [{"name": {"$notLike": value}} for value in ("A%", "%n", "50\\%", "%")],
    [{"name": {"$ilike": value}} for value in ("A%", "z%")],
    [{"name": {"$search": value}} for value in ("N", "%", "ë")],
    [{"rank": {"$near": value}} for value in (1, "3")],
    [{"rank": {"$above": value}} for value in (1, "2", None, 0)],
    # Every type.
    *pairs("big", 2**63 - 1, -(2**63), 2**31, 1, "0", None),
    *pairs("price", "1.5", Decimal("-1.50"), 0, "99999999.99", 0.1, None),
    *pairs("real", 0.1, "-1.5e300", 1, Decimal(2), None),
    *pairs("naive", NOON, "2024-01-01T14:00:00Z", NOON.isoformat(), None),
    *pairs("aware", UTC_NOON, "2024-01-01T15:00:00+01:00", 1704117600000, None),
    *pairs("day", DAY, "2024-01-03", None),
    *pairs("clock", dt.time(2, 30), "03:30", None),
    *pairs("span", dt.timedelta(minutes=2), 180, None),
    *pairs("stars", 2, "3", None),
    *pairs("cents", 2, "3", 0, None),
    *pairs("next_rank", 2, "3", None),
    *pairs("shout", "ANN", "ZOË", "x"),
    *pairs("key", KEY, str(OTHER_KEY), None)[:2],
    *pairs("key_text", KEY, str(OTHER_KEY), None)[:2],
    *pairs("color", "red", Color.green, None)[:2],
    *pairs("word", "yes", "no", None)[:2],
    *pairs("blob", b"\x01", "Ag==", None)[:2],
    *pairs("done", True, "false", False, None)[:2],
    *pairs("is_top", True, "false", None)[:2],
    *pairs("document", {"a": 1}, 2, "2", '{"a": 1}', True, None)[:2],
    [{"done": {"$in": values}} for values in ([True], ["false", None], [True, False])],
    [{"color": {"$in": values}} for values in (["red"], [Color.green, "red"], [None])],
    [{"color": {"$nin": values}} for values in (["red"], [None, "green"], [])],
    [{"key": {"$in": values}} for values in ([KEY], [str(OTHER_KEY), KEY], [None])],
    [{"aware": {"$in": values}} for values in ([UTC_NOON], ["2024-01-01T13:00:00Z"])],
    [{"price": {"$in": values}} for values in (["1.5"], [0, "0.1"], [None, 0])],
    [{"big": {"$nin": values}} for values in ([2**31], [2**63 - 1, 1], [None])],
    [{"blob": {"$in": values}} for values in ([b"\x01", b"\x02"], ["Aw=="])],
    [{"stars": {"$in": values}} for values in ([1, 2], ["3"], [None, 4])],
    [{"cents": {"$in": values}} for values in ([1, 2], ["3"], [None, 4])],
    [{"document": {"$in": values}} for values in ([{"a": 1}, 2], [None], ["3"])],
    # Groups.
    [{"$or": [{"rank": a}, {"name": b}]} for a, b in RANKS_AND_NAMES],
    [{"$or": [{"rank": a}, {"rank": b}]} for a, b in ((1, 2), (2, None), (None, None))],
    [{"$or": []}, {"$or": [{}]}, {"$or": [{}, {"rank": 1}]}],
    [{"$and": [{"rank": {"$gt": a}}, {"id": {"$lt": a}}]} for a in (0, 1, 2)],
    [{"$nor": [{"rank": a}, {"name": b}]} for a, b in RANKS_AND_NAMES],
    [{"$not": {"rank": a, "done": b}} for a, b in RANKS_AND_FLAGS],
    [{"rank": {"$not": {"$gt": value}}} for value in (1, 2, None)],
    [{"rank": {"$not": values}} for values in ([1, 2], [None], [])],
    [
        {"rank": {"$gte": a, "$ne": b}, "$or": [{"$nor": [{"id": c}]}, {"price": d}]}
        for a, b, c, d in ((0, 2, 1, "1.5"), (1, None, [3, 4], 0), (2, 3, [], None))
    ],
    [
        {"$or": [{"id": n, "rank": {"$in": [n % 4, 9]}} for n in numbers]}
        for numbers in (range(1, 13), range(4, 16), range(12))
    ],
]  # fmt: skip
"""Queries of the same shape, or nearly, in each row."""


# Its condition is built for each call, and with it the statement and all its values.
LITERAL = {"$literal": Operator(lambda column, value: sa.true())}


def ids_of(service, query):
    """Return the identifiers that a service finds."""
    with Transaction():
        records = service.find(Params({**query, "$select": ["id"]}))

    return [record["id"] for record in records]


def total_of(service, query):
    """Return how many records a service counts."""
    with Transaction():
        return service.find(Params({**query, "$limit": 0})).total


@pytest.fixture(scope="module")
def engine(module_url):
    """The engine of each database, with THINGS, which no test changes."""
    engine = sa.create_engine(module_url, poolclass=sa.pool.StaticPool)
    Base.metadata.create_all(engine)

    with engine.begin() as connection:
        for row in THINGS:
            connection.execute(sa.insert(Thing.__table__), row)

    yield engine

    Base.metadata.drop_all(engine)
    engine.dispose()


@pytest.fixture(scope="module")
def reusing(engine):
    """A service that has answered the queries of the tests before."""
    return service_over(engine)


@pytest.fixture(scope="module")
def counting(engine):
    """The same, with pages."""
    return service_over(engine, paginate={"default": 1})


@pytest.fixture(scope="module")
def building(engine):
    """A service that builds a statement with all values for each call."""
    service = service_over(engine, operators=OPERATORS | LITERAL)
    return lambda query: ids_of(service, {**query, "id": {"$literal": 0}})


@pytest.mark.parametrize("queries", SHAPES, ids=lambda queries: str(queries[0])[:60])
def test_a_reused_statement_answers_what_a_new_one_does(
    engine, reusing, counting, building, queries
):
    reused = [ids_of(reusing, query) for query in [*queries, *queries]]
    totals = [total_of(counting, query) for query in queries]
    first = [ids_of(service_over(engine), query) for query in queries]
    built = [building(query) for query in queries]

    assert reused == built + built
    assert totals == [len(ids) for ids in built]
    assert first == built


@pytest.mark.parametrize("query", [{}, {"rank": {"$gt": 0}}, {"rank": 1}])
def test_a_reused_statement_takes_the_page_of_each_call(reusing, building, query):
    pages = [(limit, skip) for limit in (1, 2, 3) for skip in (0, 1, 2, 5)]

    found = [
        ids_of(reusing, {**query, "$limit": limit, "$skip": skip})
        for limit, skip in pages
    ]

    ids = building(query)
    assert found == [ids[skip : skip + limit] for limit, skip in pages]


def test_a_reused_statement_takes_the_identifier_of_each_call(reusing):
    query = {"$select": ["name", "rank"]}

    with Transaction():
        names = [reusing.get(n, Params(query))["name"] for n in (1, 2, 3)]

    assert names == [row["name"] for row in THINGS[:3]]
