"""Statements are built once for all queries of a shape, and a bounded number is kept.

The function of an operator whose value is bound is called once for each statement that
is built. So these tests give their queries a condition with such an operator, and count
its calls.
"""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, Session, sessionmaker

from flask_records import Operator, Params, SQLAlchemyService, Transaction

from ...sql import Intercepted, statements_of, unconnected

MOST_TERMS = 40
"""The number of comparisons and sort fields of a query whose statement is kept."""
MOST_STATEMENTS = 256
"""The number of statements that are kept."""
NAMES = ("id", "rank", "price", "name")
PROBE = {"big": {"$probe": 0}}

WHITELIST = "$and $nor $not $like $notLike $ilike $search $regex $null $between".split()
NEAR = Operator(lambda column, value: sa.func.abs(column - value) < 2)
ABOVE = Operator(
    lambda column, value: column.is_(None) if value is None else column > value,
    is_bound=True,
)
OPERATORS = {"$near": NEAR, "$above": ABOVE}


class Base(DeclarativeBase):
    pass


class Thing(Base):
    __tablename__ = "reuse_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None]
    rank: Mapped[int | None]
    big: Mapped[int | None] = mapped_column(sa.BigInteger)
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    document: Mapped[Any | None] = mapped_column(sa.JSON)


THINGS = [{"id": n, "name": f"name {n}", "rank": n % 4, "big": n} for n in range(1, 6)]


def service_over(engine, **options):
    """A service that has built no statement yet."""
    defaults = {"whitelist": WHITELIST, "operators": OPERATORS}
    session = {"session": sessionmaker(engine)}
    return SQLAlchemyService(Thing, **{**defaults, **session, **options})


class Builder:
    """A service of its own, and the number of statements that it has built."""

    def __init__(self, engine):
        self.builds = 0
        probe = Operator(self._compare, is_bound=True)
        self.service = service_over(engine, operators={**OPERATORS, "$probe": probe})

    def _compare(self, column, value):
        self.builds += 1
        return column > value

    def builds_of(self, query):
        """Find the records of a query, and count the statements that this builds."""
        before = self.builds

        try:
            with Transaction():
                self.service.find(Params({**query, **PROBE}))
        except Intercepted:
            pass

        return self.builds - before


@pytest.fixture(scope="module")
def engine():
    """The engine of a database with THINGS."""
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    Base.metadata.create_all(engine)

    with Session(engine) as session:
        for row in THINGS:
            session.execute(sa.insert(Thing), row)

        session.commit()

    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def no_database():
    """An engine that takes statements and runs none."""
    with unconnected("sqlite") as engine:
        yield engine


@pytest.fixture
def builder(no_database):
    return Builder(no_database)


SAME = [
    ({}, {}),
    ({"rank": 1}, {"rank": "2"}),
    ({"rank": None}, {"rank": ""}),
    ({"rank": {"$gt": 1}}, {"rank": {"$gt": 2}}),
    ({"rank": [1]}, {"rank": {"$in": [1, 2, 3]}}),
    ({"rank": [1, None]}, {"rank": [None, 2, 3]}),
    ({"rank": {"$nin": [1]}}, {"rank": {"$nin": [2, 3]}}),
    ({"name": {"$like": "a"}}, {"name": {"$like": "b"}}),
    ({"name": {"$regex": "a"}}, {"name": {"$regex": "b"}}),
    ({"rank": {"$between": [1, 2]}}, {"rank": {"$between": [0, 5]}}),
    ({"$or": [{"rank": 1}, {"id": 1}]}, {"$or": [{"rank": 2}, {"id": 3}]}),
    ({"$limit": 1, "$skip": 1}, {"$limit": "2", "$skip": "3"}),
    ({"$select": ["name"]}, {"$select": ["id", "name"]}),
]
BUILT_ANEW = [
    {"rank": {"$near": 1}},
    {"name": "a", "rank": {"$near": 1}},
    {"$or": [{"rank": 1}, {"$nor": [{"rank": {"$near": 1}}]}]},
    {"$or": [{"rank": n} for n in range(MOST_TERMS)]},
]


@pytest.mark.parametrize(("query", "same"), SAME)
def test_queries_of_the_same_shape_have_one_statement(builder, query, same):
    assert [builder.builds_of(each) for each in (query, same)] == [1, 0]


@pytest.mark.parametrize("query", BUILT_ANEW, ids=lambda query: str(query)[:60])
def test_a_statement_that_depends_on_its_values_is_built_anew(builder, query):
    assert [builder.builds_of(query) for _ in range(3)] == [1, 1, 1]


def test_a_full_cache_starts_anew(builder):
    names = ["$eq", "$ne", "$lt", "$lte", "$gt", "$gte"]
    choices = itertools.product(names, repeat=len(NAMES))
    queries = [
        {name: {operator: 1} for name, operator in zip(NAMES, choice, strict=True)}
        for choice in itertools.islice(choices, MOST_STATEMENTS + 1)
    ]

    assert {builder.builds_of(query) for query in queries} == {1}
    assert builder.builds_of(queries[-1]) == 0
    assert builder.builds_of(queries[0]) == 1


@pytest.mark.parametrize(
    "query",
    [
        {"rank": {}},
        {"rank": [{}, None]},
        {"rank": {"$nin": [{}]}},
        {"rank": {"$above": {}}},
        {"$or": [{"rank": {"$lt": {}}}, {"$nor": [{"price": {}}]}]},
        {"rank": {}, "$limit": {}, "$skip": {}},
        {"rank": {}, "$limit": 0},
        {"rank": {}, "$limit": 5, "$skip": 1000, "$sort": {"rank": -1}},
    ],
    ids=str,
)
def test_a_reused_statement_has_no_value_of_another_call(engine, query):
    """Empty mappings stand for the values."""
    service = service_over(engine, paginate={"default": 1, "max": 10_000})
    texts = []

    for value, other in ((4711, 4822), (4822, 4711)):
        with statements_of(engine) as statements, Transaction():
            service.find(Params(filled(query, value)))

        parameters = str([statement.parameters for statement in statements])
        texts.append(str(statements))
        assert str(value) in parameters
        assert str(other) not in parameters
        assert str(value) not in texts[-1]

    assert texts[0] == texts[1]


def filled(query, value):
    """Return a query with a value in place of its empty mappings."""
    if isinstance(query, dict) and query:
        return {name: filled(part, value) for name, part in query.items()}

    if isinstance(query, list):
        return [filled(part, value) for part in query]

    return value if query == {} else query
