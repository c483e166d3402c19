"""The order of records, and the parts of a statement."""

from __future__ import annotations

import pytest
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest

from ..models import Everything, Message
from ..sql import count_of, order_of, select_of, where_of


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


def test_hybrid_property_is_compared():
    where = where_of(Message, {"is_long": "true"})

    assert where == "(length(message.text) > 20) = true"


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


def test_select():
    page = {"$sort": {"age": "-1"}, "$limit": "5", "$skip": "10"}

    statement = select_of(Person, {"age": {"$gt": "5"}, "$select": ["age"], **page})

    assert statement == (
        "SELECT person.id, person.age FROM person WHERE person.age > 5"
        " ORDER BY person.age DESC NULLS LAST, person.id DESC LIMIT 5 OFFSET 10"
    )


def test_skip_without_a_limit():
    statement = select_of(Seat, {"$skip": "10"}, id="code")

    assert statement.endswith("ORDER BY seat.row, seat.number LIMIT ALL OFFSET 10")


def test_count_is_of_all_pages():
    query = {"age": "5", "$sort": {"age": "-1"}, "$skip": "10"}

    assert count_of(Person, query) == (
        "SELECT count(*) AS count_1 FROM person WHERE person.age = 5"
    )
