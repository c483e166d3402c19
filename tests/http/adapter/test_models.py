"""Models of all kinds: properties, inheritance, dataclasses, own constructors."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import (
    column_property,
    DeclarativeBase,
    deferred,
    Mapped,
    mapped_column,
    MappedAsDataclass,
)

from flask_records import SQLAlchemyService

from ...databases import serving_models


class Special(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Person(Special):
    __tablename__ = "special_person"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(10))
    first: Mapped[str] = mapped_column(sa.String(20))
    last: Mapped[str] = mapped_column(sa.String(20))
    wage: Mapped[int | None]
    story: Mapped[str | None] = deferred(mapped_column(sa.Text))

    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "person"}

    @hybrid_property
    def full_name(self):
        return f"{self.first} {self.last}"

    @full_name.inplace.expression
    @classmethod
    def _full_name(cls):
        return cls.first + " " + cls.last


Person.initial = column_property(sa.func.substr(Person.first, 1, 1, type_=sa.String))


class Boss(Person):
    """One of single-table inheritance."""

    __mapper_args__ = {"polymorphic_identity": "boss"}

    car: Mapped[str | None] = mapped_column(sa.String(20))


class Point(MappedAsDataclass, Special):
    __tablename__ = "special_point"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    x: Mapped[int]
    y: Mapped[int]
    label: Mapped[str | None] = mapped_column(sa.String(20), default="origin")
    z: Mapped[int] = mapped_column(default=0, kw_only=True)


class Animal(Special):
    __tablename__ = "special_animal"
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "animal"}

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(20))
    name: Mapped[str] = mapped_column(sa.String(50))


class Dog(Animal):
    """One of joined-table inheritance."""

    __tablename__ = "special_dog"
    __mapper_args__ = {"polymorphic_identity": "dog"}

    id: Mapped[int] = mapped_column(
        sa.ForeignKey("special_animal.id"), primary_key=True
    )
    breed: Mapped[str | None] = mapped_column(sa.String(50))


class Tag(Special):
    """A model with a constructor of its own."""

    __tablename__ = "special_tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    slug: Mapped[str] = mapped_column(sa.String(20))
    note: Mapped[str | None] = mapped_column(sa.String(20))

    def __init__(self, name):
        self.name = name
        self.slug = (name or "").lower()


MODELS = {
    "people": Person,
    "bosses": Boss,
    "points": Point,
    "tags": Tag,
    "animals": Animal,
    "dogs": Dog,
}


@pytest.fixture(scope="module")
def served_special(module_url):
    options = {"multi": True, "paginate": {"default": 10}, "client_ids": True}
    services = {path: SQLAlchemyService(MODELS[path], **options) for path in MODELS}

    with serving_models(module_url, services) as client:
        yield client


@pytest.fixture
def special(served_special):
    """A client of services that have no records."""
    for path in MODELS:
        served_special.delete(f"/{path}")

    return served_special


ANN = {"id": 1, "first": "Ann", "last": "Lee", "wage": 5, "story": "Once"}
BOB = {"id": 2, "first": "Bob", "last": "Ash", "wage": None, "story": None}
READ_ANN = {"kind": "person", "full_name": "Ann Lee", "initial": "A"} | ANN
INITIAL_A, INITIAL_B = {"id": 1, "initial": "A"}, {"id": 2, "initial": "B"}
READ_BOB = {"kind": "person", "full_name": "Bob Ash", "initial": "B"} | BOB


@pytest.mark.parametrize(
    ("query", "records"),
    [
        ("full_name=Ann+Lee", [READ_ANN]),
        ("initial[$ne]=A", [READ_BOB]),
        ("wage[$lt]=6", [READ_ANN]),
        ("$sort[full_name]=-1", [READ_BOB, READ_ANN]),
        ("$sort[initial]=-1&$select=initial", [INITIAL_B, INITIAL_A]),
        ("id=1&$select=full_name", [{"id": 1, "full_name": "Ann Lee"}]),
        ("id=1&$select=story&$select=wage", [{"id": 1, "story": "Once", "wage": 5}]),
    ],
)
def test_properties_of_all_kinds_are_fields(special, query, records):
    special.post("/people", json=[ANN, BOB])

    assert special.get(f"/people?{query}").json["data"] == records


def test_only_columns_can_be_written(special):
    kept, others = ("full_name", "initial", "kind"), ("__class__", "metadata", "_name")
    body = dict.fromkeys((*kept, *others), "x")

    response = special.post("/people", json=ANN | body)

    errors = dict.fromkeys(kept, "is read-only") | dict.fromkeys(
        others, "is not a field"
    )
    assert (response.status_code, response.json["errors"]) == (400, errors)


def test_a_service_over_a_subclass_in_the_same_table_knows_its_records_only(special):
    special.post("/people", json=ANN)
    boss = special.post("/bosses", json=BOB | {"car": "Volvo"})

    read = READ_BOB | {"kind": "boss", "car": "Volvo"}
    assert boss.json == read
    assert special.get("/bosses").json["data"] == [read]
    assert special.get("/bosses?$limit=0").json["total"] == 1
    assert special.get("/bosses/1").status_code == 404
    assert special.patch("/bosses/1", json={"first": "Eve"}).status_code == 404
    assert special.get("/people").json["total"] == 2
    assert [record["id"] for record in special.delete("/bosses").json] == [2]
    assert special.get("/people").json["data"] == [READ_ANN]


def test_a_dataclass_is_a_model(special):
    point = {"id": 1, "x": 1, "y": 2}

    created = special.post("/points", json=point)
    patched = special.patch("/points/1", json={"label": None, "z": 3})
    updated = special.put("/points/1", json={"x": 4, "y": 5})

    assert created.json == point | {"label": "origin", "z": 0}
    assert patched.json == point | {"label": None, "z": 3}
    assert updated.json == {"id": 1, "x": 4, "y": 5, "label": "origin", "z": 0}


def test_a_model_with_a_constructor_of_its_own(special):
    created = special.post("/tags", json={"id": 1, "name": "Red", "note": "x"})
    written = special.post("/tags", json={"id": 2, "name": "Red", "slug": "rouge"})
    missing = special.post("/tags", json={"note": "x"})

    assert created.json == {"id": 1, "name": "Red", "slug": "red", "note": "x"}
    assert written.json == {"id": 2, "name": "Red", "slug": "rouge", "note": None}
    assert missing.status_code == 400
    assert missing.json["errors"] == {"name": "is required"}


def test_models_of_joined_tables(special):
    special.post("/animals", json={"id": 1, "name": "Tom"})
    rex = {"id": 2, "kind": "dog", "name": "Rex", "breed": "Pug"}

    created = special.post("/dogs", json={"id": 2, "name": "Rex", "breed": "Pug"})

    assert created.json == rex
    assert special.get("/dogs").json["data"] == [rex]
    assert special.get("/dogs?name=Rex&breed=Pug&$limit=0").json["total"] == 1
    assert special.get("/dogs/1").status_code == 404
    assert special.get("/dogs?$skip=1&$limit=1").json["data"] == []
    assert special.get("/animals?$skip=1&$limit=1").json["data"][0]["id"] == 2
    assert special.get("/animals?$sort[name]=1&$select=name").json["data"] == [
        {"id": 2, "name": "Rex"},
        {"id": 1, "name": "Tom"},
    ]
    assert special.patch("/dogs?breed=Pug", json={"name": "Max"}).json == [
        rex | {"name": "Max"}
    ]
    assert special.put("/dogs/2", json={"name": "Ace"}).json == rex | {
        "name": "Ace",
        "breed": None,
    }
    assert special.delete("/animals/2").status_code == 200
    assert special.get("/dogs").json["total"] == 0
