"""A page after many records, on SQLite, is the same as any other."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import (
    column_property,
    DeclarativeBase,
    Mapped,
    mapped_column,
    relationship,
)

from flask_records import FlaskRecords, Params, SQLAlchemyService

from ...databases import served

SIZE = 1300
MAX = 2**63 - 1
START = dt.datetime(2024, 1, 1)


class Base(DeclarativeBase):
    pass


class Group(Base):
    __tablename__ = "deep_group"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class Item(Base):
    __tablename__ = "deep_item"
    __table_args__ = (sa.Index("deep_item_tied", "tied"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[int] = mapped_column(unique=True)
    text: Mapped[str] = mapped_column(sa.String(20))
    tied: Mapped[int]
    same: Mapped[int]
    few: Mapped[int | None]
    price: Mapped[Decimal] = mapped_column(sa.Numeric(10, 2))
    at: Mapped[dt.datetime]
    day: Mapped[dt.date]
    flag: Mapped[bool]
    some: Mapped[int | None]
    other: Mapped[float | None] = mapped_column(sa.Double)
    group_id: Mapped[int | None] = mapped_column(sa.ForeignKey("deep_group.id"))

    group: Mapped[Group | None] = relationship()

    @hybrid_property
    def negative(self) -> int:
        return -self.id


Item.group_name = column_property(
    sa.select(Group.name).where(Group.id == Item.group_id).scalar_subquery()
)


class Place(Base):
    """A model with a primary key of two columns."""

    __tablename__ = "deep_place"

    row: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[int] = mapped_column(unique=True)


class Animal(Base):
    __tablename__ = "deep_animal"
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "animal"}

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(20))
    age: Mapped[int]


class Dog(Animal):
    """A model with a table besides that of its base."""

    __tablename__ = "deep_dog"
    __mapper_args__ = {"polymorphic_identity": "dog"}

    id: Mapped[int] = mapped_column(sa.ForeignKey("deep_animal.id"), primary_key=True)
    weight: Mapped[int]


RANDOM = Random(1)
GROUPS = [{"id": n, "name": f"group {n}"} for n in range(1, 4)]
ITEMS = [
    {
        "id": n,
        "code": 5000 - n,
        "text": f"text {n * 7 % SIZE}",
        "tied": n // 10,
        "same": 1,
        "few": n if n > 20 else None,
        "price": Decimal(n // 10) / 100,
        "at": START + dt.timedelta(microseconds=n // 10),
        "day": START.date() + dt.timedelta(days=n // 10),
        "flag": n > 200,
        "some": RANDOM.choice([None, *range(40)]),
        "other": RANDOM.choice([None, 0.5, -1.5, RANDOM.random()]),
        "group_id": n % 4 or None,
    }
    for n in range(1, SIZE + 1)
]
"""Each field but the last ones is in the order of the primary keys. A group of ten is
tied, at the places 1 to 10, 11 to 20 and so on if it is sorted in descending order.
"""
PLACES = [{"row": n % 7, "number": n, "code": n} for n in range(1, SIZE + 1)]
ANIMALS = [
    {"id": n, "kind": ("animal", "dog")[n % 2], "age": n // 10}
    for n in range(1, 2 * SIZE + 1)
]
DOGS = [{"id": animal["id"], "weight": animal["age"]} for animal in ANIMALS[::2]]
ROWS = {
    Group: GROUPS,
    Item: ITEMS,
    Place: PLACES,
    Animal: ANIMALS,
    Dog: DOGS,
}
SERVICES = {
    "groups": SQLAlchemyService(Group),
    "items": SQLAlchemyService(Item, whitelist=["$populate", "$like"]),
    "pages": SQLAlchemyService(Item, paginate={"default": 10, "max": 20}),
    "coded": SQLAlchemyService(Item, id="code"),
    "places": SQLAlchemyService(Place, id="code"),
    "animals": SQLAlchemyService(Animal),
    "dogs": SQLAlchemyService(Dog),
}


@pytest.fixture(scope="module")
def app():
    """An app of SQLite, whose rows no test changes."""
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()

    for path, service in SERVICES.items():
        records.add(path, service, public=True)

    with served(db, records, "sqlite://") as app:
        with app.app_context(), db.engine.begin() as connection:
            for model, rows in ROWS.items():
                connection.execute(sa.insert(model.__table__), rows)

        with app.app_context():
            yield app


@pytest.fixture(scope="module")
def find(app):
    """A function that finds records of a service."""

    def find(query, path="items"):
        return app.extensions["records"][path].find(Params(query=query))

    return find


def in_order(rows, sort):
    """Rows as a query sorts them: null is less than everything else, and equals are in
    the order of their primary keys, in the direction of the last field.
    """
    if -1 in [*sort.values()][-1:]:
        # A reversed sort keeps the order of equals.
        rows = list(rows)[::-1]

    for name, way in reversed(sort.items()):
        rows = sorted(
            rows,
            key=lambda row, name=name: (row[name] is not None, row[name] or 0),
            reverse=way == -1,
        )

    return rows


def page_of(rows, query):
    """The identifiers of a page, without a database."""
    skip, limit = query["$skip"], query["$limit"]
    return [row["id"] for row in in_order(rows, query.get("$sort", {}))][skip:][:limit]


def test_records_of_a_deep_page_are_whole(find):
    query = {"$sort": {"code": -1}, "$skip": 1100, "$limit": 3}

    found = find(query)

    assert found == [
        ITEMS[n] | {"negative": -n - 1, "group_name": name}
        for n, name in ((1100, "group 1"), (1101, "group 2"), (1102, "group 3"))
    ]


FILTERS = [
    ({"tied": {"$ne": 5}}, lambda row: row["tied"] != 5),
    ({"few": {"$nin": [25, None]}}, lambda row: row["few"] not in (25, None)),
    ({"group_name": {"$ne": "x"}, "id": {"$lt": 1250}}, lambda row: row["id"] < 1250),
    ({"negative": {"$lt": -50}}, lambda row: row["id"] > 50),
    (
        {"$or": [{"id": {"$lt": 500}}, {"id": {"$gte": 600}}]},
        lambda row: not 500 <= row["id"] < 600,
    ),
    ({"id": {"$lt": 500}}, lambda row: row["id"] < 500),
]


@pytest.mark.parametrize(("where", "holds"), FILTERS)
def test_a_deep_page_is_of_the_records_that_match(find, where, holds):
    query = {**where, "$sort": {"tied": -1}, "$skip": 1001, "$limit": 10}

    found = find(query)

    assert [each["id"] for each in found] == page_of(filter(holds, ITEMS), query)


def test_a_deep_page_has_its_relationships(find):
    query = {"$sort": {"code": -1}, "$skip": 1100, "$limit": 4, "$populate": ["group"]}

    found = find(query)

    assert [record["group"] for record in found] == [*GROUPS, None]


@pytest.mark.parametrize("sort", [{}, {"tied": -1}])
def test_equals_are_sorted_by_the_primary_key_and_not_the_identifier(find, sort):
    query = {"$sort": sort, "$skip": 1005, "$limit": 10, "$select": ["id"]}

    found = find(query, "coded")

    assert [record["id"] for record in found] == page_of(ITEMS, query)


@pytest.mark.parametrize("sort", [{}, {"row": -1}])
def test_deep_pages_of_a_primary_key_of_two_columns(find, sort):
    query = {"$sort": sort, "$skip": 1005, "$limit": 10}
    rows = sorted(PLACES, key=lambda row: (row["row"], row["number"]))

    found = find(query, "places")

    assert found == in_order(rows, sort)[1005:1015]


@pytest.mark.parametrize(
    ("path", "every"),
    [
        ("animals", [animal["id"] for animal in ANIMALS]),
        ("dogs", [animal["id"] for animal in ANIMALS[::2]]),
    ],
)
@pytest.mark.parametrize("sort", [{}, {"age": -1}])
def test_deep_pages_of_models_that_inherit(find, path, every, sort):
    rows = [ANIMALS[id - 1] for id in every]
    query = {"$sort": sort, "$skip": 1001, "$limit": 10}

    found = find(query, path)

    assert [record["id"] for record in found] == page_of(rows, query)


def test_a_deep_page_has_the_total(find):
    query = {"$sort": {"code": -1}, "$skip": 1000, "$limit": 100}

    page = find(query, "pages")
    last = find({"$skip": MAX}, "pages")

    assert (page.total, page.limit, page.skip) == (SIZE, 20, 1000)
    assert [record["id"] for record in page.data] == list(range(1001, 1021))
    assert (last.total, last.data) == (SIZE, [])


def test_a_deep_page_sees_what_the_session_has_written(app, find):
    session = app.extensions["sqlalchemy"].session
    session.execute(sa.delete(Item).where(Item.id <= 100))

    found = find({"$sort": {"code": -1}, "$skip": 1000, "$limit": 5})
    session.rollback()

    assert [record["id"] for record in found] == list(range(1101, 1106))


SORTED_BY = [
    "id",
    "code",
    "tied",
    "same",
    "few",
    "price",
    "at",
    "flag",
    "some",
    "other",
]


@given(
    sort=st.dictionaries(
        st.sampled_from(SORTED_BY), st.sampled_from([1, -1]), max_size=3
    ),
    skip=st.integers(1000, SIZE + 5),
    limit=st.one_of(st.integers(1, 40), st.sampled_from([299, 300, 301, MAX])),
    after=st.one_of(st.none(), st.integers(0, 250)),
)
def test_any_deep_page_is_a_part_of_the_whole(find, sort, skip, limit, after):
    query = {"$sort": sort, "$skip": skip, "$limit": limit, "$select": ["id"]}
    rows = ITEMS

    if after is not None:
        query["id"] = {"$gt": after}
        rows = ITEMS[after:]

    found = find(query)

    assert [record["id"] for record in found] == page_of(rows, query)
