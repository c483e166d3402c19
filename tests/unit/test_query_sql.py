"""The SQL that a query becomes."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest, Operator

from ..models import Everything, Message
from ..sql import count_of, order_of, select_of, where_of

NEAR = Operator(lambda column, value: sa.func.abs(column - value) < 5)
OPTIONS = {
    "hidden": ["password"],
    "whitelist": ["$and", "$nor", "$not", "$between", "$like"],
    "operators": {"$near": NEAR},
}
"""The options of a service of people."""


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
    code: Mapped[str] = mapped_column(unique=True)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({}, ""),
        ({"age": "5"}, "person.age = 5"),
        ({"age": ["5", "6"]}, "person.age IN (5, 6)"),
        ({"age": None}, "person.age IS NULL"),
        ({"age": "5", "name": "Ann"}, "person.age = 5 AND person.name = 'Ann'"),
        ({"age": {"$gt": "5", "$lte": "9"}}, "person.age > 5 AND person.age <= 9"),
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
            "person.age = 5 AND (person.id = 1 OR person.id = 2)",
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
            "person.age > 1 AND NOT coalesce(person.age IN (5, 6), false)",
        ),
    ],
)
def test_where(query, where):
    assert where_of(Person, query, **OPTIONS) == where


def test_hybrid_property_is_compared():
    where = where_of(Message, {"is_long": "true"})

    assert where == "(length(message.text) > 20) = true"


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
        {"$sort": {"password": "1"}},
        {"$select": ["password"]},
    ],
)
def test_hidden_field_can_not_be_compared(query):
    with pytest.raises(BadRequest, match="^'password' is not a field.$"):
        where_of(Person, query, **OPTIONS)


@pytest.mark.parametrize(
    "query",
    [
        *({"document": {name: ["1", "2"]}} for name in ("$lt", "$gte", "$between")),
        {"$sort": {"document": "1"}},
    ],
    ids=str,
)
def test_field_without_order_can_not_be_compared(query):
    with pytest.raises(BadRequest, match="^'document' has no order.$"):
        where_of(Everything, query, whitelist=["$between"])


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ({}, "person.id"),
        ({"age": "1"}, "person.age ASC, person.id"),
        ({"age": "-1"}, "person.age DESC, person.id DESC"),
        (
            {"name": "-1", "age": "1"},
            "person.name DESC, person.age ASC, person.id",
        ),
    ],
)
def test_order_ends_with_the_primary_key(sort, order):
    assert order_of(Person, {"$sort": sort}, "sqlite") == order


def test_order_ends_with_all_columns_of_the_primary_key():
    order = order_of(Seat, {"$sort": {"code": "1"}}, id="code")

    assert order == "seat.code ASC, seat.row, seat.number"


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ({"age": "1"}, "person.age ASC NULLS FIRST, person.id"),
        ({"age": "-1"}, "person.age DESC NULLS LAST, person.id DESC"),
        ({"name": "1"}, "person.name ASC, person.id"),
        ({"id": "-1"}, "person.id DESC, person.id DESC"),
    ],
)
def test_null_is_less_than_everything_else_on_postgresql(sort, order):
    assert order_of(Person, {"$sort": sort}, "postgresql") == order


def test_hybrid_property_may_be_null():
    order = order_of(Message, {"$sort": {"is_long": "1"}}, "postgresql")

    assert order == "length(message.text) > 20 ASC NULLS FIRST, message.id"


@pytest.mark.parametrize("name", ["password", "nope", "_sa_registry", "metadata"])
def test_unknown_field_can_not_be_sorted_by(name):
    with pytest.raises(BadRequest, match=f"^'{name}' is not a field.$"):
        order_of(Person, {"$sort": {name: "1"}}, **OPTIONS)


def test_select():
    page = {"$sort": {"age": "-1"}, "$limit": "5", "$skip": "10"}

    statement = select_of(Person, {"age": {"$gt": "5"}, "$select": ["age"], **page})

    assert statement == (
        "SELECT person.id, person.age FROM person WHERE person.age > 5"
        " ORDER BY person.age DESC NULLS LAST, person.id DESC LIMIT 5 OFFSET 10"
    )


def test_select_without_a_query():
    statement = select_of(Person, {}, **OPTIONS)

    assert statement == (
        "SELECT person.id, person.name, person.age FROM person ORDER BY person.id"
    )


def test_skip_without_a_limit():
    statement = select_of(Seat, {"$skip": "10"}, id="code")

    assert statement.endswith("ORDER BY seat.row, seat.number LIMIT ALL OFFSET 10")


def test_count_is_of_all_pages():
    query = {"age": "5", "$sort": {"age": "-1"}, "$skip": "10"}

    assert count_of(Person, query) == (
        "SELECT count(*) AS count_1 FROM person WHERE person.age = 5"
    )
