"""Comparisons of arrays, and by comparators of the application."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import column_property
from sqlalchemy.orm import ColumnProperty
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import sessionmaker
from sqlalchemy.types import TypeDecorator

from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records import Transaction

from ...databases import url_of


class ArrayBase(DeclarativeBase):
    pass


class Listed(ArrayBase):
    __tablename__ = "compared_array"

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
    engine = sa.create_engine(url_of("postgresql", server_urls))
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
    __tablename__ = "compared_word"

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
