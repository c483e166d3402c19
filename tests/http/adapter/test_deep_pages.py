"""A page after many records is the same as any other: SQLite skips their keys alone."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.orm import (
    column_property,
    DeclarativeBase,
    Mapped,
    mapped_column,
    relationship,
)

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served

SIZE = 60


class Base(DeclarativeBase):
    pass


class Group(Base):
    __tablename__ = "deep_group"

    id: Mapped[int] = mapped_column(primary_key=True)


class Animal(Base):
    """A model with a primary key of two columns, and one of its own to find it by."""

    __tablename__ = "deep_animal"
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "animal"}

    row: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[int] = mapped_column(unique=True)
    kind: Mapped[str] = mapped_column(sa.String(20))
    tied: Mapped[int | None]
    group_id: Mapped[int | None] = mapped_column(sa.ForeignKey("deep_group.id"))

    group: Mapped[Group | None] = relationship()


class Dog(Animal):
    """A model with a table besides that of its base."""

    __tablename__ = "deep_dog"
    __mapper_args__ = {"polymorphic_identity": "dog"}
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["row", "number"], ["deep_animal.row", "deep_animal.number"]
        ),
    )

    row: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    weight: Mapped[int]


Animal.doubled = column_property(Animal.code * 2)

ROWS = [
    {
        "row": n % 7,
        "number": n,
        "code": n,
        "kind": ("animal", "dog")[n % 2],
        "tied": n // 10 or None,
        "group_id": n % 3 or None,
    }
    for n in range(1, SIZE + 1)
]


@pytest.fixture(scope="module")
def client():
    """A client of SQLite, whose rows no test changes."""
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    records.add("groups", SQLAlchemyService(Group), public=True)

    for path, model in (("animals", Animal), ("dogs", Dog)):
        service = SQLAlchemyService(model, id="code", whitelist=["$populate"])
        records.add(path, service, public=True)

    with served(db, records, "sqlite://") as app:
        with app.app_context(), db.engine.begin() as connection:
            dogs = [{**row, "weight": 1} for row in ROWS if row["kind"] == "dog"]
            connection.execute(sa.insert(Group), [{"id": 1}, {"id": 2}])
            connection.execute(sa.insert(Animal.__table__), ROWS)
            keys = ("row", "number", "weight")
            connection.execute(
                sa.insert(Dog.__table__),
                [{key: dog[key] for key in keys} for dog in dogs],
            )

        yield app.test_client()


def expected(path, sort, where):
    """The codes of all records in their order: null is less than everything else, and
    equals are in the order of their primary keys, in the direction of the last field.
    """
    is_dog = path == "dogs"
    rows = [row for row in ROWS if where(row) and (not is_dog or row["kind"] == "dog")]
    is_reversed = -1 in [*sort.values()][-1:]
    rows.sort(key=lambda row: (row["row"], row["number"]), reverse=is_reversed)

    for name, way in reversed(sort.items()):
        rows.sort(
            key=lambda row, name=name: (row[name] is not None, row[name] or 0),
            reverse=way == -1,
        )

    return [row["code"] for row in rows]


WHERE = {
    "": lambda row: True,
    "&tied[$ne]=3": lambda row: row["tied"] != 3,
    "&doubled[$lt]=100": lambda row: row["code"] < 50,
    "&$or[0][row]=1&$or[1][code][$gt]=20": lambda row: (
        row["row"] == 1 or row["code"] > 20
    ),
}
SORTS = st.dictionaries(
    st.sampled_from(["code", "tied", "row"]), st.sampled_from([1, -1]), max_size=3
)


@given(
    path=st.sampled_from(["animals", "dogs"]),
    where=st.sampled_from(sorted(WHERE)),
    sort=SORTS,
    skip=st.integers(1, SIZE + 5),
    limit=st.integers(1, SIZE),
)
def test_any_page_is_a_part_of_the_whole(client, path, where, sort, skip, limit):
    order = "".join(f"&$sort[{name}]={way}" for name, way in sort.items())

    found = client.get(f"/{path}?$skip={skip}&$limit={limit}{where}{order}").json

    codes = expected(path, sort, WHERE[where])
    assert [record["code"] for record in found] == codes[skip:][:limit]


def test_records_are_whole_and_have_their_relationships(client):
    query = "$sort[code]=-1&$skip=57&$limit=3&$populate=group"

    found = client.get(f"/animals?{query}").json

    groups = [None, {"id": 2}, {"id": 1}]
    assert found == [
        ROWS[n] | {"doubled": 2 * ROWS[n]["code"], "group": group}
        for n, group in zip((2, 1, 0), groups, strict=True)
    ]
