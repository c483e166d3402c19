from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from threading import Barrier
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa
from flask_records.query.statements import MAX_WEIGHT
from flask_records.query.translator import MAX_TERMS
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import column_property
from sqlalchemy.orm import ColumnProperty
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import sessionmaker
from sqlalchemy.types import TypeDecorator

from flask_records import FlaskRecords
from flask_records import Operator
from flask_records import Params
from flask_records import restrict
from flask_records import SQLAlchemyService
from flask_records import Transaction
from flask_records.query import Fields
from flask_records.query import Kept
from flask_records.query import Query
from flask_records.query import Statements
from flask_records.query import Translator
from flask_records.query.operators import Bound
from flask_records.query.operators import operators_of
from flask_records.query.operators import syntax_of

from .conftest import served

WHITELIST = "$and $nor $not $like $notLike $ilike $search $null $between".split()
THREADS = 4
DAY = dt.date(2024, 1, 1)
NOON = dt.datetime(2024, 1, 1, 12)
UTC_NOON = NOON.replace(tzinfo=dt.UTC)
KEY, OTHER_KEY = uuid.UUID(int=7), uuid.UUID(int=8)
NEAR = Operator(lambda column, value: sa.func.abs(column - value) < 2)
ABOVE = Operator(
    lambda column, value: column.is_(None) if value is None else column > value,
    bound=Bound.ONE,
)
OPERATORS = {"$near": NEAR, "$above": ABOVE}


class Color(enum.Enum):
    red = 1
    green = 2


class Stars(TypeDecorator[int]):
    """A number that is stored as so many stars."""

    impl = sa.String(10)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else "*" * int(value)

    def process_result_value(self, value, dialect):
        return None if value is None else str(len(value))


class Cents(TypeDecorator[int]):
    """A number that is compared with the text of another as it is stored."""

    impl = sa.Integer
    cache_ok = True

    def coerce_compared_value(self, op, value):
        return self if isinstance(value, int) else sa.String()

    def process_bind_param(self, value, dialect):
        return None if value is None else value * 100

    def process_result_value(self, value, dialect):
        return None if value is None else value // 100


class Base(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Thing(Base):
    """What the table of queries is run on."""

    __tablename__ = "kept_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))
    rank: Mapped[int | None]
    big: Mapped[int | None] = mapped_column(sa.BigInteger)
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    real: Mapped[float | None] = mapped_column(sa.Double)
    done: Mapped[bool | None]
    color: Mapped[Color | None]
    word: Mapped[str | None] = mapped_column(sa.Enum("yes", "no", name="kept_word"))
    naive: Mapped[dt.datetime | None] = mapped_column(sa.DateTime)
    aware: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    day: Mapped[dt.date | None]
    clock: Mapped[dt.time | None]
    span: Mapped[dt.timedelta | None] = mapped_column(sa.Interval)
    key: Mapped[uuid.UUID | None]
    key_text: Mapped[str | None] = mapped_column(sa.Uuid(as_uuid=False))
    blob: Mapped[bytes | None] = mapped_column(sa.LargeBinary)
    document: Mapped[Any | None] = mapped_column(sa.JSON)
    stars: Mapped[int | None] = mapped_column(Stars)
    cents: Mapped[int | None] = mapped_column(Cents)
    secret: Mapped[str | None] = mapped_column(sa.String(20))

    @hybrid_property
    def is_top(self) -> bool:
        return self.rank > 2

    @hybrid_property
    def shout(self) -> str:
        return self.name.upper()

    @shout.inplace.expression
    @classmethod
    def _shout(cls) -> sa.ColumnElement[Any]:
        return sa.func.upper(cls.name)


Thing.next_rank = column_property(Thing.rank + 1)


def thing(n):
    """The values of a row. The last has none."""
    if n == 6:
        return {"id": 6}

    return {
        "id": n,
        "name": ["", "Ann", "ann", "Zoë", "50%"][n - 1],
        "rank": n % 4,
        "big": [2**63 - 1, -(2**63), 2**31, 0, 1][n - 1],
        "price": Decimal(["0.00", "1.50", "-1.50", "99999999.99", "0.10"][n - 1]),
        "real": [0.1, -1.5e300, 1.0, 2.0, 0.0][n - 1],
        "done": n % 2 == 0,
        "color": Color(1 + n % 2),
        "word": ["yes", "no"][n % 2],
        "naive": NOON + dt.timedelta(hours=n),
        "aware": UTC_NOON + dt.timedelta(hours=n),
        "day": DAY + dt.timedelta(days=n),
        "clock": dt.time(n, 30),
        "span": dt.timedelta(minutes=n),
        "key": uuid.UUID(int=n + 5),
        "key_text": str(uuid.UUID(int=n + 5)),
        "blob": bytes([n]),
        "document": [{"a": n}, n, str(n), True, None][n - 1],
        "stars": n,
        "cents": n,
        "secret": f"secret {n % 2}",
    }


FIELDS = Fields(Thing)
KNOWN = operators_of(WHITELIST, OPERATORS)
THINGS = [thing(n) for n in range(1, 7)]


def pairs(field, *values):
    """Queries that compare a field in every way with each of the values."""
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


def new_service(engine, **options):
    """A service that has kept nothing yet."""
    return SQLAlchemyService(
        Thing,
        session=sessionmaker(engine),
        whitelist=WHITELIST,
        operators=OPERATORS,
        **options,
    )


def found(service, query):
    """The identifiers that a service finds."""
    with Transaction():
        records = service.find(Params(query={**query, "$select": ["id"]}))

    return [record["id"] for record in records]


def counted(service, query):
    """How many records a service counts."""
    with Transaction():
        return service.find(Params(query={**query, "$limit": 0})).total


def found_by_values(engine, query):
    """The identifiers that a statement finds that has the values in it."""
    parsed = Query.parse(query, syntax_of(WHITELIST, KNOWN))
    statement = Translator(FIELDS, KNOWN).select(parsed, [Thing.id])

    with engine.connect() as connection:
        return list(connection.scalars(statement))


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
def shared(engine):
    """A service that has answered the queries of the tests before."""
    return new_service(engine)


@pytest.fixture(scope="module")
def counting(engine):
    """The same, with pages."""
    return new_service(engine, paginate={"default": 1})


@pytest.mark.parametrize("queries", SHAPES, ids=lambda queries: str(queries[0])[:60])
def test_a_kept_statement_answers_what_a_new_one_does(
    engine, shared, counting, queries
):
    kept = [found(shared, query) for query in [*queries, *queries]]
    counts = [counted(counting, query) for query in queries]
    fresh = [found(new_service(engine), query) for query in queries]
    by_values = [found_by_values(engine, query) for query in queries]

    assert kept == by_values + by_values
    assert counts == [len(ids) for ids in by_values]
    assert fresh == by_values


@pytest.mark.parametrize("query", [{}, {"rank": {"$gt": 0}}, {"rank": 1}])
def test_a_kept_statement_takes_the_page_of_each_call(engine, query):
    service = new_service(engine)
    ids = found_by_values(engine, query)
    pages = [(limit, skip) for limit in (1, 2, 3) for skip in (0, 1, 2, 5)]

    with Transaction():
        found = [
            service.find(Params(query={**query, "$limit": limit, "$skip": skip}))
            for limit, skip in pages
        ]

    assert [[record["id"] for record in page] for page in found] == [
        ids[skip : skip + limit] for limit, skip in pages
    ]


def test_a_kept_statement_takes_the_identifier_of_each_call(engine):
    service = new_service(engine)
    query = {"$select": ["name", "rank"]}

    with Transaction():
        names = [service.get(n, Params(query=query))["name"] for n in (1, 2, 3)]

    assert names == [row["name"] for row in THINGS[:3]]


# The databases that have arrays.


class ArrayBase(DeclarativeBase):
    pass


class Listed(ArrayBase):
    __tablename__ = "kept_array"

    id: Mapped[int] = mapped_column(primary_key=True)
    tags: Mapped[list[Any] | None] = mapped_column(postgresql.ARRAY(sa.String(20)))
    ports: Mapped[list[Any] | None] = mapped_column(sa.ARRAY(sa.Integer))


ARRAYS = [
    {"id": 1, "tags": ["a", None], "ports": [1, None]},
    {"id": 2, "tags": ["a"], "ports": [1]},
    {"id": 3, "tags": [], "ports": []},
    {"id": 4, "tags": None, "ports": None},
]


@pytest.fixture
def array_engine(server_urls):
    if "postgresql" not in server_urls:
        pytest.skip("TEST_POSTGRESQL_URL is not set")

    engine = sa.create_engine(server_urls["postgresql"])
    ArrayBase.metadata.create_all(engine)

    with engine.begin() as connection:
        connection.execute(sa.insert(Listed), ARRAYS)

    yield engine

    ArrayBase.metadata.drop_all(engine)
    engine.dispose()


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"tags": {"$eq": '["a"]'}}, [2]),
        ({"tags": {"$eq": "[]"}}, [3]),
        ({"tags": {"$eq": None}}, [4]),
        ({"tags": {"$ne": '["a"]'}}, [1, 3, 4]),
        ({"tags": {"$in": ['["a"]', "[]"]}}, [2, 3]),
        ({"tags": {"$in": ['["a"]', None]}}, [2, 4]),
        ({"tags": {"$in": ['["a", null]']}}, [1]),
        ({"tags": {"$nin": ['["a"]', None]}}, [1, 3]),
        ({"tags": {"$eq": '["a", null]'}}, [1]),
        ({"tags": {"$ne": '["a", null]'}}, [2, 3, 4]),
        ({"ports": {"$eq": "[1, null]"}}, [1]),
        ({"ports": {"$eq": "[1]"}}, [2]),
    ],
)
def test_an_array_is_compared_with_all_its_items(array_engine, query, ids):
    """Null in an array is an item of it, and not a null of the query."""
    service = SQLAlchemyService(Listed, session=sessionmaker(array_engine))

    with Transaction():
        records = service.find(Params(query=query))

    assert [record["id"] for record in records] == ids


# Comparators of the application.


class ComparatorBase(DeclarativeBase):
    pass


class LowerProperty(ColumnProperty.Comparator[str]):
    """Compares without regard to case."""

    def __eq__(self, other):
        return sa.func.lower(self.__clause_element__()) == other.lower()


class Lower(TypeDecorator[str]):
    """Compares without regard to case."""

    impl = sa.String(20)
    cache_ok = True

    class comparator_factory(TypeDecorator.Comparator):
        def __eq__(self, other):
            return sa.func.lower(self.expr) == other.lower()


class Word(ComparatorBase):
    __tablename__ = "kept_word"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = column_property(
        sa.Column("name", sa.String(20)), comparator_factory=LowerProperty
    )
    text: Mapped[str] = mapped_column(Lower)


@pytest.mark.parametrize("field", ["name", "text"])
def test_a_comparator_of_the_application_gets_the_value(field):
    engine = sa.create_engine("sqlite://")
    ComparatorBase.metadata.create_all(engine)
    service = SQLAlchemyService(Word, session=sessionmaker(engine))
    rows = [{"name": "Ann", "text": "Ann"}, {"name": "bob", "text": "bob"}]

    with engine.begin() as connection:
        connection.execute(sa.insert(Word.__table__), rows)

    with Transaction():
        found = [service.find(Params(query={field: text})) for text in ("ANN", "Bob")]

    assert [[record["id"] for record in records] for records in found] == [[1], [2]]
    engine.dispose()


# What has one shape.


@pytest.fixture
def fields():
    return Fields(Thing, hidden=["secret"])


@pytest.fixture
def build(fields):
    """A function that returns the statement of a query, from one table of them."""
    translator = Translator(fields, KNOWN)
    statements = Statements(fields, translator)

    def build(query, method="records", **options):
        parsed = Query.parse(query, syntax_of(WHITELIST, KNOWN))
        reading = translator.read(parsed)

        if method == "count":
            return statements.count(reading)

        selected = fields.selected(parsed.select)
        columns = [field.selected for field in selected]

        if method == "deep":
            return statements.deep(reading, columns, selected)

        options.setdefault("limited", parsed.limit is not None)
        options.setdefault("skipping", bool(parsed.skip))
        return statements.records(reading, columns, selected, **options)

    return build


SAME = [
    ({}, {}),
    ({"rank": 1}, {"rank": "2"}),
    ({"rank": 1}, {"rank": {"$eq": 2}}),
    ({"rank": None}, {"rank": ""}),
    ({"rank": {"$gt": 1}}, {"rank": {"$gt": 2}}),
    ({"rank": {"$above": 1}}, {"rank": {"$above": 2}}),
    ({"rank": [1]}, {"rank": {"$in": [1, 2, 3]}}),
    ({"rank": [1]}, {"rank": []}),
    ({"rank": [1, None]}, {"rank": [None, 2, 3]}),
    ({"rank": {"$nin": [1]}}, {"rank": {"$nin": [2, 3]}}),
    ({"stars": 1}, {"stars": 2}),
    ({"$or": [{"rank": 1}, {"id": 1}]}, {"$or": [{"rank": 2}, {"id": 3}]}),
    ({"$not": {"rank": 1}}, {"$not": {"rank": 2}}),
    ({"rank": {"$not": {"$lt": 1}}}, {"rank": {"$not": {"$lt": 2}}}),
    ({"$sort": {"rank": 1}}, {"$sort": {"rank": "1"}}),
    ({"$limit": 1, "$skip": 1}, {"$limit": "2", "$skip": "3"}),
    ({"$select": ["name"]}, {"$select": ["id", "name"]}),
]
OTHER = [
    ({"rank": 1}, {}),
    ({"rank": 1}, {"id": 1}),
    ({"rank": 1}, {"rank": None}),
    ({"rank": 1}, {"rank": [1]}),
    ({"rank": 1}, {"rank": {"$ne": 1}}),
    ({"rank": {"$gt": 1}}, {"rank": {"$gte": 1}}),
    ({"rank": {"$gt": 1}}, {"rank": {"$gt": None}}),
    ({"rank": {"$gt": 1}}, {"rank": {"$above": 1}}),
    ({"rank": [1]}, {"rank": [1, None]}),
    ({"rank": [1]}, {"rank": {"$nin": [1]}}),
    ({"rank": [1]}, {"rank": {"$not": [1]}}),
    ({"rank": 1, "id": 1}, {"id": 1, "rank": 1}),
    ({"$or": [{"rank": 1}]}, {"$and": [{"rank": 1}]}),
    ({"$or": [{"rank": 1}]}, {"$nor": [{"rank": 1}]}),
    ({"$or": [{"rank": 1}]}, {"$or": [{"rank": 1}, {"rank": 2}]}),
    ({"$or": [{"rank": 1, "id": 2}]}, {"$or": [{"rank": 1}, {"id": 2}]}),
    ({"$or": []}, {"$nor": []}),
    ({"$sort": {"rank": 1}}, {}),
    ({"$sort": {"rank": 1}}, {"$sort": {"rank": -1}}),
    ({"$sort": {"rank": 1}}, {"$sort": {"price": 1}}),
    ({"$sort": {"rank": 1, "id": 1}}, {"$sort": {"id": 1, "rank": 1}}),
    ({"$select": ["name"]}, {}),
    ({"$select": ["name"]}, {"$select": ["rank"]}),
    ({"$select": ["name", "rank"]}, {"$select": ["rank", "name"]}),
    ({"$limit": 1}, {}),
    ({"$skip": 1}, {}),
    ({"$skip": 1}, {"$limit": 1, "$skip": 1}),
]
NOT_KEPT = [
    {"name": {"$like": "a"}},
    {"name": {"$notLike": "a"}},
    {"name": {"$ilike": "a"}},
    {"name": {"$search": "a"}},
    {"rank": {"$between": [1, 2]}},
    {"rank": {"$null": True}},
    {"rank": {"$near": 1}},
    {"document": {"$eq": 1}},
    {"document": None},
    {"document": [1]},
    {"cents": 1},
    {"rank": 1, "name": {"$like": "a"}},
    {"$or": [{"rank": 1}, {"$nor": [{"name": {"$like": "a"}}]}]},
    {"$or": [{"rank": n} for n in range(MAX_TERMS)]},
    {"$or": [{}] * MAX_TERMS},
    {"$or": [{"$or": [{}] * 20}, {"$or": [{}] * 20}]},
]


@pytest.mark.parametrize(("query", "same"), SAME)
def test_queries_of_the_same_shape_have_one_statement(build, query, same):
    assert build(query) is build(same)


@pytest.mark.parametrize(("query", "other"), OTHER)
def test_queries_of_another_shape_have_another_statement(build, query, other):
    assert build(query) is not build(other)
    assert build(query) is build(query)


@pytest.mark.parametrize(
    "options", [{"one": True}, {"limited": True}, {"skipping": True}, {"nulls": True}]
)
def test_what_is_read_of_a_query_is_a_part_of_its_shape(build, options):
    query = {"rank": 1, "$sort": {"rank": 1}}

    assert build(query, **options) is not build(query)
    assert build(query, **options) is build(query, **options)


def test_a_page_its_count_and_a_deep_page_have_their_own_statements(build):
    query = {"rank": 1, "$sort": {"rank": 1}, "$limit": 1, "$skip": 1}
    methods = ("records", "count", "deep")

    first = [build(query, method) for method in methods]
    second = [build(query, method) for method in methods]

    assert len(set(map(id, first))) == 3
    assert list(map(id, first)) == list(map(id, second))


@pytest.mark.parametrize("query", NOT_KEPT, ids=lambda query: str(query)[:60])
def test_a_statement_that_depends_on_its_values_is_not_kept(build, query):
    assert build(query) is not build(query)


def test_a_query_of_as_many_terms_as_are_allowed_is_kept(build):
    query = {"$or": [{"rank": n} for n in range(MAX_TERMS - 1)]}

    assert build(query) is build(query)


def test_a_long_list_is_one_value(build):
    assert build({"rank": list(range(1000))}) is build({"rank": [1]})


@pytest.mark.parametrize("method", ["records", "count", "deep"])
@pytest.mark.parametrize(
    "query",
    [
        {"rank": 4711},
        {"rank": [4711, None]},
        {"rank": {"$nin": [4711]}},
        {"rank": {"$above": 4711}},
        {"$or": [{"rank": {"$lt": 4711}}, {"$nor": [{"price": 4711}]}]},
        {"rank": 4711, "$limit": 4711, "$skip": 4711},
    ],
)
def test_no_value_stays_in_a_kept_statement(build, method, query):
    compiled = build(query, method).compile()
    parameters = [name for name in compiled.params if name.startswith("records_")]

    assert parameters
    assert {compiled.params[name] for name in parameters} == {None}
    assert "4711" not in f"{compiled} {compiled.params}"


# What is kept for whom.


class NoteBase(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Note(NoteBase):
    __tablename__ = "kept_note"

    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[int]
    text: Mapped[str] = mapped_column(sa.String(20))
    secret: Mapped[str] = mapped_column(sa.String(20))


NOTES = [
    {"id": n, "owner": n % THREADS, "text": f"text {n}", "secret": f"secret {n % 3}"}
    for n in range(1, 13)
]


@pytest.fixture
def notes_app(tmp_path):
    """An app of notes with a hidden field, without a hook."""
    db, records = SQLAlchemy(model_class=NoteBase), FlaskRecords()
    service = SQLAlchemyService(Note, hidden=["secret"], paginate={"default": 2})
    notes = records.add("notes", service, public=True)

    with served(db, records, f"sqlite:///{tmp_path / 'test.db'}") as app:
        with app.app_context(), Transaction():
            for note in NOTES:
                notes.create(dict(note))

        yield app


TRUSTED = [
    {"secret": "secret 1"},
    {"secret": ["secret 1", "secret 2"]},
    {"secret": {"$gt": "secret 0"}},
    {"secret": {"$ne": None}},
    {"$or": [{"secret": "secret 1"}, {"owner": 1}]},
    {"$sort": {"secret": -1}},
    {"owner": 1, "$sort": {"secret": 1, "id": -1}},
]
URLS = [
    *("secret=secret 1", "secret[]=secret 1&secret[]=secret 2"),
    *("secret[$gt]=secret 0", "secret[$ne]=", "owner=1&$sort[secret]=1&$sort[id]=-1"),
    *("$or[0][secret]=secret 1&$or[1][owner]=1", "$sort[secret]=-1", "$select=secret"),
]


@pytest.mark.parametrize("trusted", TRUSTED)
def test_a_hidden_field_stays_refused_after_a_condition_of_the_application(
    notes_app, trusted
):
    client = notes_app.test_client()

    @notes_app.extensions["records"]["notes"].before()
    def condition(method, context):
        if "X-Restrict" in context.params.headers:
            restrict(context.params, trusted)

    for path in ("/notes", "/notes/1"):
        allowed = client.get(path, headers={"X-Restrict": "1"})
        refused = [client.get(f"{path}?{url}") for url in URLS]

        assert allowed.status_code in (200, 404)
        assert b"secret" not in allowed.data
        assert {response.status_code for response in refused} == {400}
        assert {response.json["message"] for response in refused} == {
            "'secret' is not a field."
        }


def test_a_hidden_field_stays_refused_after_a_call_of_the_application(notes_app):
    client = notes_app.test_client()
    notes = notes_app.extensions["records"]["notes"]

    with notes_app.app_context():
        found = notes.find(Params(query={"secret": "secret 1"}))

    assert found.data[0]["secret"] == "secret 1"
    assert {client.get(f"/notes?{url}").status_code for url in URLS} == {400}


def test_a_hidden_field_is_not_in_a_record_after_a_call_of_the_application(notes_app):
    notes = notes_app.extensions["records"]["notes"]

    with notes_app.app_context():
        inside = notes.get(1)

    outside = notes_app.test_client().get("/notes/1").json

    assert inside == NOTES[0]
    assert outside == {name: inside[name] for name in ("id", "owner", "text")}


def owned_ids(client, owner, url=""):
    headers = {"X-Owner": str(owner)}
    data = client.get(f"/notes?$limit=20&{url}", headers=headers).json["data"]
    return [note["id"] for note in data]


@pytest.fixture
def owners_app(notes_app):
    """The same, where each user reaches his own notes."""

    @notes_app.extensions["records"]["notes"].before()
    def own(method, context):
        owner = int(context.params.headers["X-Owner"])
        restrict(context.params, {"owner": owner})

    return notes_app


@pytest.mark.parametrize("url", ["", "id[$gt]=0", "owner[$gte]=0", "$sort[text]=1"])
def test_each_user_gets_his_own_by_the_same_statement(owners_app, url):
    client = owners_app.test_client()
    own = {
        owner: {note["id"] for note in NOTES if note["owner"] == owner}
        for owner in range(THREADS)
    }

    for owner in (*own, *own):
        assert set(owned_ids(client, owner, url)) == own[owner]


def test_users_at_the_same_time_get_their_own(owners_app):
    start, found = Barrier(THREADS), {}

    def read(owner):
        client = owners_app.test_client()
        start.wait(10)
        found[owner] = [owned_ids(client, owner) for _ in range(20)]

    threads = [Thread(target=read, args=[owner]) for owner in range(THREADS)]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join(30)

    assert found == {
        owner: [[note["id"] for note in NOTES if note["owner"] == owner]] * 20
        for owner in range(THREADS)
    }


# What keeps them.


def test_kept_makes_a_value_once_for_each_key():
    kept, made = Kept(), []

    def make(key):
        made.append(key)
        return [key]

    first = [kept.get(key, lambda key=key: make(key)) for key in "ab"]
    second = [kept.get(key, lambda key=key: make(key)) for key in "ab"]

    assert made == ["a", "b"]
    assert [id(value) for value in first] == [id(value) for value in second]


@pytest.mark.parametrize("size", [1, 2, 10])
def test_kept_keeps_at_most_its_size(size):
    kept = Kept(size)
    sizes = []

    for key in range(25):
        assert kept.get(key, lambda key=key: f"value {key}") == f"value {key}"
        sizes.append(len(kept))

    assert sizes == [min(n, size) for n in range(1, 26)]


def test_kept_forgets_the_oldest_first():
    kept, made = Kept(2), []

    def make(key):
        made.append(key)
        return key

    for key in "abcbca":
        kept.get(key, lambda key=key: make(key))

    assert made == ["a", "b", "c", "a"]


def test_kept_keeps_nothing_of_what_fails():
    kept = Kept()

    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 / 0)

    assert kept.get("a", lambda: "made") == "made"


def test_kept_is_safe_with_threads():
    size, start = 8, Barrier(THREADS)
    kept, wrong, finished = Kept(size), [], []

    def work(step):
        start.wait(10)

        for n in range(2000):
            key = n * step % 40
            value = kept.get(key, lambda key=key: [key])

            if value != [key] or len(kept) > size:
                wrong.append((key, value, len(kept)))

        finished.append(step)

    threads = [Thread(target=work, args=[step]) for step in (1, 3, 7, 11)]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join(30)

    assert sorted(finished) == [1, 3, 7, 11]
    assert wrong == []
    assert len(kept) <= size


def test_a_service_keeps_a_bounded_number_of_statements(build):
    first = build({"rank": 1})

    for n in range(1, 300):
        build({"$or": [{"rank": 1}] * (n % 30), "$and": [{"id": 1}] * (n // 30)})

    assert build({"rank": 1}) is not first


def test_kept_weighs_no_more_than_it_may():
    kept, weights = Kept(size=100, weight=10), [3, 3, 3, 3, 10, 1]

    for key, weight in enumerate(weights):
        kept.get(key, lambda key=key: f"value {key}", weight)

    assert list(kept._values) == [5]


def test_a_heavier_value_takes_the_place_of_several():
    kept = Kept(size=100, weight=10)

    for key, weight in zip("abcd", (4, 4, 2, 6), strict=True):
        kept.get(key, lambda key=key: key, weight)

    assert list(kept._values) == ["c", "d"]


def test_a_value_that_weighs_too_much_is_kept_alone():
    kept = Kept(size=100, weight=10)

    for key, weight in zip("ab", (4, 400), strict=True):
        kept.get(key, lambda key=key: key, weight)

    assert list(kept._values) == ["b"]


def test_what_a_service_keeps_is_bounded_by_its_weight(fields):
    translator = Translator(fields, KNOWN)
    kept = Kept()

    for number in range(2000):
        ways = [{"rank": {"$gt": 1}}, {"rank": {"$lt": 1}}]
        terms = [ways[number >> place & 1] for place in range(MAX_TERMS - 1)]
        parsed = Query.parse({"$or": terms}, syntax_of(WHITELIST, KNOWN))
        kept.get_for(translator.read(parsed), (), object)

    assert len(kept) == MAX_WEIGHT // MAX_TERMS
