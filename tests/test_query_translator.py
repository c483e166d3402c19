from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import BadRequest
from flask_records import Operator
from flask_records.query import Fields
from flask_records.query import Query
from flask_records.query import Translator
from flask_records.query.operators import operators_of
from flask_records.query.operators import syntax_of

from .models import Everything
from .models import Message

WHITELIST = ["$and", "$nor", "$not", "$between", "$like"]
NEAR = Operator(lambda column, value: sa.func.abs(column - value) < 5)


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    age: Mapped[int | None]
    password: Mapped[str | None]


class Seat(Base):
    __tablename__ = "seat"

    row: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[int] = mapped_column("number", primary_key=True)
    code: Mapped[str]


def translate(query, method, *args, fields=None, **options):
    """Call a method of a translator of people with a query."""
    operators = operators_of(WHITELIST, {"$near": NEAR})
    fields = fields or Fields(Person, hidden=["password"])
    parsed = Query.parse(query, syntax_of(WHITELIST, operators))
    return getattr(Translator(fields, operators), method)(parsed, *args, **options)


def sql(*clauses):
    """The SQL of clauses, with the values in it."""
    options = {"literal_binds": True}
    compiled = [
        clause.compile(dialect=postgresql.dialect(), compile_kwargs=options)
        for clause in clauses
    ]
    return ", ".join(" ".join(str(each).split()) for each in compiled)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({}, ""),
        ({"age": "5"}, "person.age = 5"),
        ({"age": ["5", "6"]}, "person.age IN (5, 6)"),
        ({"age": None}, "person.age IS NULL"),
        ({"age": "5", "name": "Ann"}, "person.age = 5, person.name = 'Ann'"),
        ({"age": {"$gt": "5", "$lte": "9"}}, "person.age > 5, person.age <= 9"),
        ({"age": {"$near": "5"}}, "abs(person.age - 5) < 5"),
        ({"name": "'; DROP TABLE person"}, "person.name = '''; DROP TABLE person'"),
        (
            {"$or": [{"age": "5"}, {"name": "Ann"}]},
            "person.age = 5 OR person.name = 'Ann'",
        ),
        (
            {"$or": [{"age": "5", "name": "Ann"}, {"age": {"$lt": "1", "$gt": "0"}}]},
            "person.age = 5 AND person.name = 'Ann'"
            " OR person.age < 1 AND person.age > 0",
        ),
        (
            {"age": "5", "$or": [{"id": "1"}, {"id": "2"}]},
            "person.age = 5, person.id = 1 OR person.id = 2",
        ),
        ({"$or": [{"$or": [{"age": "5"}]}]}, "person.age = 5"),
        ({"$or": []}, "false"),
        ({"$or": [{}]}, "true"),
        ({"$or": [{"age": "5"}, {}]}, "person.age = 5 OR true"),
        ({"$and": [{"age": "5"}, {"id": "1"}]}, "person.age = 5 AND person.id = 1"),
        ({"$and": []}, "true"),
        ({"$nor": []}, "NOT coalesce(false, false)"),
        (
            {"$nor": [{"age": "5"}, {"id": "1"}]},
            "NOT coalesce(person.age = 5 OR person.id = 1, false)",
        ),
        (
            {"$not": {"age": "5", "id": "1"}},
            "NOT coalesce(person.age = 5 AND person.id = 1, false)",
        ),
        (
            {"age": {"$not": {"$gt": "5"}}},
            "NOT coalesce(person.age > 5, false)",
        ),
        (
            {"age": {"$gt": "1", "$not": ["5", "6"]}},
            "person.age > 1, NOT coalesce(person.age IN (5, 6), false)",
        ),
    ],
)
def test_where(query, where):
    assert sql(*translate(query, "where")) == where


def test_hybrid_property_is_compared():
    where = translate({"is_long": "true"}, "where", fields=Fields(Message))

    assert sql(*where) == "(length(message.text) > 20) = true"


@pytest.mark.parametrize(
    "query",
    [
        {"password": "x"},
        {"password": {"$ne": "x"}},
        {"password": {"$gt": "x"}},
        {"password": {"$like": "x%"}},
        {"password": []},
        {"password": {"$in": []}},
        {"password": {"$not": {"$eq": "x"}}},
        {"$or": [{"age": "5"}, {"password": "x"}]},
        {"$nor": [{"password": "x"}]},
    ],
)
def test_hidden_field_can_not_be_compared(query):
    with pytest.raises(BadRequest, match="^'password' is not a field.$"):
        translate(query, "where")


@pytest.mark.parametrize("operator", ["$lt", "$lte", "$gt", "$gte", "$between"])
def test_field_without_order_can_not_be_compared(operator):
    query = {"document": {operator: ["1", "2"]}}

    with pytest.raises(BadRequest, match="^'document' has no order.$"):
        translate(query, "where", fields=Fields(Everything))


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ({}, "person.id"),
        ({"age": "1"}, "person.age ASC, person.id"),
        ({"age": "-1"}, "person.age DESC, person.id"),
        (
            {"name": "-1", "age": "1"},
            "person.name DESC, person.age ASC, person.id",
        ),
    ],
)
def test_order_ends_with_the_primary_key(sort, order):
    assert sql(*translate({"$sort": sort}, "order_by")) == order


def test_order_ends_with_all_columns_of_the_primary_key():
    fields = Fields(Seat, "code")

    order = translate({"$sort": {"code": "1"}}, "order_by", fields=fields)

    assert sql(*order) == "seat.code ASC, seat.row, seat.number"


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ({"age": "1"}, "person.age ASC NULLS FIRST, person.id"),
        ({"age": "-1"}, "person.age DESC NULLS LAST, person.id"),
        ({"name": "1"}, "person.name ASC, person.id"),
        ({"id": "-1"}, "person.id DESC, person.id"),
    ],
)
def test_null_is_less_than_everything_else(sort, order):
    assert sql(*translate({"$sort": sort}, "order_by", nulls=True)) == order


def test_hybrid_property_may_be_null():
    query = {"$sort": {"is_long": "1"}}

    order = translate(query, "order_by", fields=Fields(Message), nulls=True)

    assert sql(*order) == "length(message.text) > 20 ASC NULLS FIRST, message.id"


@pytest.mark.parametrize("name", ["password", "nope", "_sa_registry", "metadata"])
def test_unknown_field_can_not_be_sorted_by(name):
    with pytest.raises(BadRequest, match=f"^'{name}' is not a field.$"):
        translate({"$sort": {name: "1"}}, "order_by")


def test_field_without_order_can_not_be_sorted_by():
    with pytest.raises(BadRequest, match="^'document' has no order.$"):
        translate({"$sort": {"document": "1"}}, "order_by", fields=Fields(Everything))


def test_select():
    query = {"age": {"$gt": "5"}, "$sort": {"age": "-1"}, "$limit": "5", "$skip": "10"}

    statement = translate(query, "select", [Person.id, Person.age], nulls=True)

    assert sql(statement) == (
        "SELECT person.id, person.age FROM person WHERE person.age > 5"
        " ORDER BY person.age DESC NULLS LAST, person.id LIMIT ALL OFFSET 10"
    )


def test_select_without_a_query():
    statement = translate({}, "select", [Person.name])

    assert sql(statement) == "SELECT person.name FROM person ORDER BY person.id"


def test_count_is_of_all_pages():
    query = {"age": "5", "$sort": {"age": "-1"}, "$limit": "5", "$skip": "10"}

    assert sql(translate(query, "count")) == (
        "SELECT count(*) AS count_1 FROM person WHERE person.age = 5"
    )


@pytest.mark.parametrize("name", ["nope", "id.name", "", "__class__", "metadata"])
def test_unknown_field_is_refused_by_every_statement(name):
    with pytest.raises(BadRequest, match=f"^'{name}' is not a field.$"):
        translate({name: "1"}, "select", [Person.id])

    with pytest.raises(BadRequest, match=f"^'{name}' is not a field.$"):
        translate({name: "1"}, "count")


def test_groups_are_run():
    """An empty group and one whose condition is null match what they should."""
    engine = sa.create_engine("sqlite://")
    Base.metadata.create_all(engine)
    queries = {
        "$or": {"$or": []},
        "$and": {"$and": []},
        "$nor": {"$nor": []},
        "$not": {"$not": {}},
        "$not of null": {"age": {"$not": {"$gt": "5"}}},
    }

    with engine.begin() as connection:
        connection.execute(sa.insert(Person), {"name": "Ann"})
        counts = {
            name: connection.execute(translate(query, "count")).scalar_one()
            for name, query in queries.items()
        }

    engine.dispose()
    assert counts == {"$or": 0, "$and": 1, "$nor": 1, "$not": 0, "$not of null": 1}
