"""Models that are not mapped to one table: a write is done, or it is not offered."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.declarative import AbstractConcreteBase, ConcreteBase
from sqlalchemy.ext.horizontal_shard import ShardedSession
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, WriteOnlyMapped

from flask_records import SQLAlchemyService

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "odd_item"

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str | None] = mapped_column(sa.String(20))
    note: Mapped[str | None] = mapped_column(sa.String(20))


class Animal(Base):
    __tablename__ = "odd_animal"
    __mapper_args__ = {
        "polymorphic_on": "kind",
        "polymorphic_identity": "animal",
        "with_polymorphic": "*",
    }

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str | None] = mapped_column(sa.String(20))
    name: Mapped[str | None] = mapped_column(sa.String(20))


class Dog(Animal):
    __tablename__ = "odd_dog"
    __mapper_args__ = {"polymorphic_identity": "dog"}

    id: Mapped[int] = mapped_column(sa.ForeignKey(Animal.id), primary_key=True)
    breed: Mapped[str | None] = mapped_column(sa.String(20))


class Plan(Base):
    __tablename__ = "odd_plan"
    __mapper_args__ = {"polymorphic_on": "kind"}

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str | None] = mapped_column(sa.String(20))
    name: Mapped[str | None] = mapped_column(sa.String(20))


class Trip(Plan):
    __tablename__ = "odd_trip"
    __mapper_args__ = {"polymorphic_identity": "trip"}

    tripId: Mapped[int] = mapped_column(sa.ForeignKey(Plan.id), primary_key=True)
    place: Mapped[str | None] = mapped_column(sa.String(20))


class Box(Base):
    __tablename__ = "odd_box"

    id: Mapped[int] = mapped_column(primary_key=True)
    box_id: Mapped[int | None] = mapped_column(sa.ForeignKey("odd_box.id"))
    boxes: WriteOnlyMapped[Box] = orm.relationship()


class Person(ConcreteBase, Base):
    __tablename__ = "odd_person"
    __mapper_args__ = {"polymorphic_identity": "person", "concrete": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))


class Manager(Person):
    __tablename__ = "odd_manager"
    __mapper_args__ = {"polymorphic_identity": "manager", "concrete": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))
    desk: Mapped[str | None] = mapped_column(sa.String(20))


class Price(Base):
    __tablename__ = "odd_price"

    item_id: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[int | None]


class Vehicle(AbstractConcreteBase, Base):
    pass


class Car(Vehicle):
    __tablename__ = "odd_car"
    __mapper_args__ = {"polymorphic_identity": "car", "concrete": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))


table = Item.__table__
SELECTABLES = {
    "subquery": lambda: sa.select(table).where(table.c.id > 0).subquery(),
    "columns": lambda: sa.select(table.c.id, table.c.code, table.c.note).subquery(),
    "labels": lambda: sa.select(
        table.c.id, table.c.code, table.c.note.label("note")
    ).subquery(),
    "alias": lambda: table.alias(),
    "cte": lambda: sa.select(table).cte(),
    "groups": lambda: (
        sa.select(table.c.id, sa.func.max(table.c.code).label("code"))
        .add_columns(sa.func.max(table.c.note).label("note"))
        .group_by(table.c.id)
        .subquery()
    ),
    "union": lambda: sa.union(sa.select(table), sa.select(table)).subquery(),
}


@pytest.fixture
def client_of(database_url):
    def client_of(model, **options):
        service = SQLAlchemyService(model, multi=True, **options)
        context = serving_models(database_url, {"things": service})
        client = stack.enter_context(context)
        client.things, client.events = client.records["things"], []
        client.things.events()(lambda event, *args: client.events.append(event))
        return client

    with ExitStack() as stack:
        yield client_of


def insert(client, model, **values):
    with client.application.app_context():
        client.db.session.add(model(**values))
        client.db.session.commit()


def writes(client):
    """The statuses of all writes to the first record."""
    return [
        client.post("/things", json={"code": "b"}).status_code,
        client.post("/things", json=[{"code": "b"}]).status_code,
        client.patch("/things/1", json={"note": "changed"}).status_code,
        client.patch("/things", json={"note": "changed"}).status_code,
        client.put("/things/1", json={"note": "changed"}).status_code,
        client.delete("/things/1").status_code,
        client.delete("/things").status_code,
    ]


@pytest.mark.filterwarnings("ignore:This declarative base already contains")
@pytest.mark.parametrize("name", SELECTABLES)
@pytest.mark.parametrize("key", ["id", "code"])
def test_a_model_that_holds_no_table_is_read_only(client_of, name, key):
    selectable = SELECTABLES[name]()

    class View(Base):
        __table__ = selectable
        __mapper_args__ = {"primary_key": [selectable.c[key]]}

    client = client_of(View, client_ids=True)
    insert(client, Item, id=1, code="1", note="a")
    record = {"id": 1, "code": "1", "note": "a"}

    assert client.get("/things").json == [record] == [client.get("/things/1").json]
    assert writes(client) == [405] * 7
    assert client.get("/things").json == [record]
    assert client.events == []
    assert client.options("/things").headers["Allow"] == "GET"

    with client.application.app_context():
        assert client.things.methods == ("find", "get")
        assert client.things.get(1, lock=True) == record


@pytest.mark.filterwarnings("ignore:This declarative base already contains")
def test_a_column_of_a_table_without_its_key_is_read_only(client_of):
    prices = Price.__table__

    class Both(Base):
        __table__ = sa.join(Item, Price, Item.id == Price.item_id, isouter=True)
        __mapper_args__ = {
            "include_properties": [table.c.id, table.c.note, prices.c.amount],
            "primary_key": [table.c.id],
        }

    client = client_of(Both)
    insert(client, Item, id=1, note="a")
    refused = client.patch("/things/1", json={"amount": 1})
    changed = client.patch("/things/1", json={"note": "b"})

    assert refused.json["errors"] == {"amount": "is read-only"}
    assert (changed.status_code, changed.json["note"]) == (200, "b")


def test_a_polymorphic_base_is_written(client_of):
    client = client_of(Animal)
    insert(client, Dog, name="Rex", breed="Lab")
    made = client.post("/things", json={"name": "a"}).json

    assert client.patch(f"/things/{made['id']}", json={"name": "b"}).json["name"] == "b"
    assert client.patch("/things/1", json={"name": "c"}).json["name"] == "c"
    assert client.put("/things/1", json={"name": "d"}).json["name"] == "d"
    assert len(client.patch("/things", json={"name": "e"}).json) == 2

    tag = client.get("/things/1").headers["ETag"]
    answer = client.patch("/things/1", json={"name": "f"}, headers={"If-Match": tag})
    assert answer.json["name"] == "f"

    with client.application.app_context():
        assert client.things.get(1, lock=True)["name"] == "f"
        assert client.things.find(lock=True)[0]["name"] in ("e", "f")

    assert client.delete("/things/1").status_code == 200
    assert len(client.delete("/things").json) == 1


@pytest.mark.parametrize("kind", ["cat", None])
def test_a_record_whose_class_is_not_mapped_is_read_only(client_of, kind):
    """SQLAlchemy loads no instance of it."""
    client = client_of(Animal)
    insert(client, Dog, name="a")
    other = sa.insert(Animal.__table__).values(id=9, kind=kind, name="b")

    with client.application.app_context(), client.db.engine.begin() as connection:
        connection.execute(other)

    record = {"id": 9, "kind": kind, "name": "b"}
    answers = [
        client.patch("/things/9", json={"name": "c"}),
        client.put("/things/9", json={"name": "c"}),
        client.delete("/things/9"),
        client.patch("/things", json={"name": "c"}),
        client.delete("/things"),
    ]

    assert [each.status_code for each in answers] == [405] * 5
    assert "class is not mapped" in answers[0].json["message"]
    assert client.get("/things/9").json == record
    assert client.get("/things?$sort[id]=1").json[0]["name"] == "a"


def test_a_key_of_another_name_in_a_subclass_is_read_only(client_of):
    """SQLAlchemy copies the key of the base class to it."""
    client = client_of(Trip)
    made = client.post("/things", json={"name": "a", "place": "b"}).json
    other = client.post("/things", json={"name": "b"}).json

    moved = [
        client.post("/things", json={"tripId": other["id"]}),
        client.patch(f"/things/{made['id']}", json={"tripId": other["id"]}),
    ]
    updated = client.put(f"/things/{made['id']}", json={"name": "c"})
    whole = client.put(f"/things/{made['id']}", json=made)

    assert made["tripId"] == made["id"]
    assert [each.json["errors"] for each in moved] == [{"tripId": "is read-only"}] * 2
    assert updated.json == {**made, "name": "c", "place": None}
    assert whole.json == made


def test_a_base_that_has_no_records_of_its_own_creates_none(client_of):
    with pytest.raises(ValueError, match=r"'Plan' has no 'polymorphic_identity'.*\['f"):
        client_of(Plan)


def test_records_with_a_write_only_relationship_are_not_removed(client_of):
    """SQLAlchemy would have to load it."""
    with pytest.raises(ValueError, match=r"of 'Box'.*: 'boxes'\. .*'patch'\]"):
        client_of(Box)


@pytest.mark.filterwarnings("ignore:This declarative base already contains")
def test_an_outer_join_is_written(client_of):
    class Both(Base):
        __table__ = sa.join(Item, Price, Item.id == Price.item_id, isouter=True)
        __mapper_args__ = {"primary_key": [table.c.id]}

    client = client_of(Both)
    insert(client, Item, id=1, note="a")

    assert client.patch("/things/1", json={"note": "b"}).json["note"] == "b"


def test_a_concrete_base_is_read_only(client_of):
    """Each of its tables may have a record of the same key."""
    client = client_of(Person)
    insert(client, Manager, id=1, name="Bo", desk="x")

    assert client.get("/things").json == [{"id": 1, "name": "Bo"}]
    assert client.get("/things/1").json == {"id": 1, "name": "Bo"}
    assert writes(client) == [405] * 7


def test_a_concrete_class_is_written(client_of):
    client = client_of(Manager)
    insert(client, Manager, id=1, name="Bo", desk="x")

    changed = client.patch("/things/1", json={"name": "Al"})
    assert (changed.status_code, changed.json["name"]) == (200, "Al")


def test_an_abstract_concrete_base_is_read_only(client_of):
    Base.registry.configure()
    client = client_of(Vehicle)
    insert(client, Car, id=1, name="a")

    assert client.get("/things").json[0]["name"] == "a"
    assert writes(client) == [405] * 7


def sharded(engine):
    return ShardedSession(
        shards={"a": engine},
        shard_chooser=lambda *args, **options: "a",
        identity_chooser=lambda *args, **options: ["a"],
        execute_chooser=lambda context: ["a"],
    )


@pytest.mark.parametrize(
    "session", [sharded, lambda engine: orm.Session(engine, autobegin=False)]
)
def test_a_session_that_no_service_can_use_is_refused(caplog, session):
    engine = sa.create_engine("sqlite://")
    factory = orm.scoped_session(lambda: session(engine))
    service = SQLAlchemyService(Item, session=factory)

    with serving_models("sqlite://", {"items": service}) as client:
        answers = [client.get("/items"), client.post("/items", json={})]

    assert [each.status_code for each in answers] == [500, 500]
    assert "Services can't use a ShardedSession, nor a session with" in caplog.text
