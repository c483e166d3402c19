from __future__ import annotations

import json
import time
import uuid
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import column_property
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import deferred
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import MappedAsDataclass

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from .conftest import served
from .conftest import SERVERS
from .models import Base
from .models import Everything

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
FIELDS = [name for name in Everything.__mapper__.columns.keys() if name != "id"]
NULLS = dict.fromkeys(FIELDS)

VALUES = [
    ("integer", -5, -5),
    ("integer", "7", 7),
    ("integer", 2**31 - 1, 2**31 - 1),
    ("small", -(2**15), -(2**15)),
    ("big", 2**63 - 1, 2**63 - 1),
    ("big", -(2**63), -(2**63)),
    ("text", 'Zoë\'s "50%_" \\ 🎉\n\t', 'Zoë\'s "50%_" \\ 🎉\n\t'),
    ("text", "", ""),
    ("text", "null", "null"),
    ("short", "0123456789", "0123456789"),
    ("short", "ÄÖÜäöüß€🎉é", "ÄÖÜäöüß€🎉é"),
    ("boolean", True, True),
    ("boolean", "false", False),
    ("real", 0.1, 0.1),
    ("real", -1.5e300, -1.5e300),
    ("real", 2, 2.0),
    ("price", "12.50", "12.50"),
    ("price", 0.1, "0.10"),
    ("price", "-99999999.99", "-99999999.99"),
    ("naive", "2024-02-29T12:30:15Z", "2024-02-29T12:30:15.000Z"),
    ("naive", "2024-03-01T01:30:15+13:00", "2024-02-29T12:30:15.000Z"),
    ("naive", "2024-02-29T12:30:15", "2024-02-29T12:30:15.000Z"),
    ("aware", "2024-02-29T12:30:15Z", "2024-02-29T12:30:15.000Z"),
    ("aware", "2024-02-28T23:30:15-13:00", "2024-02-29T12:30:15.000Z"),
    ("aware", 1709209815000, "2024-02-29T12:30:15.000Z"),
    ("day", "2024-02-29", "2024-02-29"),
    ("clock", "23:59:58", "23:59:58"),
    ("span", 90061, 90061.0),
    ("unique_id", UUID, UUID),
    ("unique_id", UUID.upper(), UUID),
    ("color", "red", "red"),
    ("word", "yes", "yes"),
    ("blob", "AP8Qgw==", "AP8Qgw=="),
    ("document", {"b": [1, {"c": None}], "a": "ë"}, {"b": [1, {"c": None}], "a": "ë"}),
    ("document", [], []),
    ("document", 'it\'s "text"', 'it\'s "text"'),
    ("document", 1.5, 1.5),
    ("document", False, False),
]
"""Fields, what is sent for them, and what is read."""

WRONG = {
    "integer": ["x", "1.5", "1e3", "2147483648", "-2147483649", "0x1", "true"],
    "small": ["32768", "-32769"],
    "big": ["9223372036854775808", "9" * 40],
    "boolean": ["maybe", "2"],
    "real": ["x", "nan", "inf", "1e999"],
    "price": ["x", "NaN", "Infinity", "1,5"],
    "naive": ["soon", "2024-13-01", "2024-02-30T00:00:00Z", "9" * 16],
    "aware": ["soon", "0001-01-01T00:00:00+14:00"],
    "day": ["2024-02-30", "2024-02-29T10:00:00Z", "soon"],
    "clock": ["25:00", "10:00:00Z", "soon"],
    "span": ["long", "1e30"],
    "unique_id": ["1234", f"{UUID}0"],
    "color": ["blue", "RED", "1"],
    "word": ["maybe", "YES"],
    "blob": ["!", "abc"],
}
"""What is neither of the type of a field in a query nor in a body."""

WRONG_BODIES = [
    ("integer", 1.5),
    ("integer", True),
    ("integer", [1]),
    ("integer", 2**31),
    ("text", {}),
    ("text", ["a"]),
    ("short", "0123456789x"),
    ("boolean", []),
    ("real", True),
    ("price", "1.234"),
    ("price", "100000000"),
    ("naive", True),
    ("aware", {"$date": 1}),
    ("day", 1.5),
    ("clock", 5),
    ("span", "1e30"),
    ("unique_id", 5),
    ("color", 1),
    ("color", ["red"]),
    ("blob", [1]),
]


@pytest.fixture(scope="module")
def served_everything(module_url):
    """A client of each database, whose connections are in another time zone."""
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    service = SQLAlchemyService(Everything, multi=True, whitelist=["$null"])
    records.add("all", service, public=True)

    with served(db, records, module_url) as app:
        with app.app_context():
            sa.event.listen(db.engine, "checkout", go_far_east)

        yield app.test_client()


def go_far_east(connection, *rest):
    zones = {
        "psycopg": "SET SESSION TIME ZONE 'Asia/Tokyo'",
        "pymysql": "SET time_zone = '+09:00'",
    }
    statement = zones.get(type(connection).__module__.partition(".")[0])

    if statement:
        connection.cursor().execute(statement)


@pytest.fixture(scope="module")
def client():
    """A client of SQLite, for what the database does not see."""
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    records.add("all", SQLAlchemyService(Everything), public=True)

    with served(db, records, "sqlite://") as app:
        yield app.test_client()


@pytest.fixture
def everything(served_everything):
    """A client of a service that has one record, of nulls."""
    served_everything.delete("/all")
    served_everything.post("/all", json={"id": str(uuid.uuid4())})
    return served_everything


@pytest.fixture
def in_tokyo():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield

    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize(("field", "sent", "read"), VALUES)
def test_a_value_makes_the_round_trip(everything, field, sent, read):
    created = everything.post("/all", json={field: sent})
    record = {"id": created.json["id"]} | NULLS | {field: read}

    assert (created.status_code, created.json) == (201, record)
    assert everything.get(f"/all/{record['id']}").json == record
    assert everything.get(f"/all?{equals(field, read)}").json == [record]
    assert everything.patch(f"/all/{record['id']}", json={field: read}).json == record


def equals(field, value):
    is_text = isinstance(value, str) and field != "document"
    return f"{field}={quote(value if is_text else json.dumps(value))}"


def test_moments_are_ordered_whatever_their_zone(everything):
    bodies = [{"integer": n, "aware": f"2024-01-0{n}T00:00:00+05:00"} for n in (2, 1)]
    everything.post("/all", json=bodies)

    after = everything.get("/all?aware[$gt]=2023-12-31T19:00:00Z&$select=integer")
    ordered = everything.get("/all?$sort[aware]=1&$select=integer")

    assert [record["integer"] for record in after.json] == [2]
    assert [record["integer"] for record in ordered.json] == [None, 1, 2]


@pytest.mark.parametrize("field", FIELDS)
def test_null_makes_the_round_trip(everything, field):
    value = next(read for name, _, read in VALUES if name == field)
    created = everything.post("/all", json={field: value}).json
    is_null = f"{field}[$null]=true" if field in ("text", "short") else f"{field}=null"

    patched = everything.patch(f"/all/{created['id']}", json={field: None})
    found = everything.get(f"/all?{is_null}&id={created['id']}")

    assert patched.json == {"id": created["id"]} | NULLS
    assert found.json == [patched.json]
    assert everything.get(f"/all?{equals(field, value)}").json == []


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field in WRONG for value in WRONG[field]]
)
def test_a_wrong_value_is_refused_with_the_name_of_its_field(client, field, value):
    queried = client.get(f"/all?{field}[$ne]={quote(value)}")
    written = client.post("/all", json={field: value})

    assert (queried.status_code, [*queried.json["errors"]]) == (400, [field])
    assert (written.status_code, [*written.json["errors"]]) == (400, [field])
    assert f"'{field}'" in queried.json["message"]
    assert f"'{field}'" in written.json["message"]


@pytest.mark.parametrize(("field", "value"), WRONG_BODIES)
def test_a_wrong_value_in_a_body_is_refused_with_the_name_of_its_field(
    client, field, value
):
    response = client.post("/all", json={field: value})

    assert (response.status_code, [*response.json["errors"]]) == (400, [field])


DOCUMENTS = [
    {"b": 1, "a": {"d": [1, 2], "c": None}},
    [1, 2],
    [1, 1, 2],
    "text",
    1,
    "1",
    True,
    {"a": [1]},
    {"a": [1, 1]},
    {"a": []},
    [],
    {},
]

SAME_DOCUMENTS = [
    ({"a": {"c": None, "d": [1, 2]}, "b": 1}, [0]),
    ({"a": {"c": None, "d": [2, 1]}, "b": 1}, []),
    ({"b": 1}, []),
    ([1, 2], [1]),
    ([2, 1], []),
    ([1], []),
    ("text", [3]),
    ("Text", []),
    (1, [4]),
    ("1", [5]),
    (True, [6]),
    ({"a": [1]}, [7]),
    ({"a": [1, 1]}, [8]),
    ([], [10]),
    ({}, [11]),
    ("'; --", []),
]


@pytest.fixture
def documents(everything):
    bodies = [{"integer": n, "document": each} for n, each in enumerate(DOCUMENTS)]
    # The test client would sort the keys.
    body = json.dumps(bodies)
    everything.post("/all", data=body, content_type="application/json")
    return everything


@pytest.mark.parametrize(("document", "numbers"), SAME_DOCUMENTS)
def test_documents_are_equal_whatever_the_order_of_their_keys(
    documents, document, numbers
):
    text = quote(json.dumps(document))
    others = [number for number in range(len(DOCUMENTS)) if number not in numbers]

    same = documents.get(f"/all?document={text}&$sort[integer]=1")
    among = documents.get(f"/all?document[$in][]={text}&$sort[integer]=1")
    differing = documents.get(f"/all?document[$ne]={text}&$sort[integer]=1")

    assert [record["integer"] for record in same.json] == numbers
    assert [record["integer"] for record in among.json] == numbers
    assert [record["integer"] for record in differing.json] == [None, *others]


@pytest.mark.parametrize("query", ["$sort[document]=1", "document[$gt]=1"])
def test_documents_have_no_order(client, query):
    response = client.get(f"/all?{query}")

    assert (response.status_code, [*response.json["errors"]]) == (400, ["document"])


def test_a_text_that_is_no_json_is_compared_as_text(documents):
    found = documents.get("/all?document=text")

    assert [record["document"] for record in found.json] == ["text"]


def test_a_uuid_names_a_record(everything):
    created = everything.post("/all", json={"id": UUID, "integer": 1})

    assert created.json["id"] == UUID
    assert everything.get(f"/all/{UUID.upper()}").json == created.json
    assert everything.get(f"/all/{UUID.replace('-', '')}").json == created.json
    assert everything.get("/all/1").json["message"] == "No record found for id '1'"


class Special(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Cents(sa.types.TypeDecorator):
    """Whole euros in Python, cents in the database."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else value * 100

    def process_result_value(self, value, dialect):
        return None if value is None else value // 100


class Person(Special):
    __tablename__ = "special_person"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(10))
    first: Mapped[str] = mapped_column(sa.String(20))
    last: Mapped[str] = mapped_column(sa.String(20))
    wage: Mapped[int | None] = mapped_column(Cents)
    story: Mapped[str | None] = deferred(mapped_column(sa.Text))

    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "person"}

    @hybrid_property
    def full_name(self):
        return f"{self.first} {self.last}"

    @full_name.inplace.expression
    @classmethod
    def _full_name(cls):
        return cls.first + " " + cls.last


Person.initial = column_property(sa.func.substr(Person.first, 1, 1))


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
    """A model that is made in a way of its own."""

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
    db, records = SQLAlchemy(model_class=Special), FlaskRecords()

    for path, model in MODELS.items():
        service = SQLAlchemyService(model, multi=True, paginate={"default": 10})
        records.add(path, service, public=True)

    with served(db, records, module_url) as app:
        yield app.test_client()


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
        ("initial=B", [READ_BOB]),
        ("initial[$ne]=A", [READ_BOB]),
        ("wage=5", [READ_ANN]),
        ("wage[$lt]=6", [READ_ANN]),
        ("story=Once", [READ_ANN]),
        ("$sort[full_name]=-1", [READ_BOB, READ_ANN]),
        ("$sort[initial]=-1&$select=initial", [INITIAL_B, INITIAL_A]),
        ("id=1&$select=full_name", [{"id": 1, "full_name": "Ann Lee"}]),
        ("id=1&$select=story&$select=wage", [{"id": 1, "story": "Once", "wage": 5}]),
    ],
)
def test_properties_of_all_kinds_are_fields(special, query, records):
    special.post("/people", json=[ANN, BOB])

    assert special.get(f"/people?{query}").json["data"] == records


def test_properties_without_a_column_can_not_be_written(special):
    body = {"full_name": "X Y", "initial": "X", "kind": "boss"}

    response = special.post("/people", json=ANN | body)

    assert response.status_code == 400
    assert response.json["errors"] == dict.fromkeys(body, "is read-only")


def test_writes_answer_properties_of_all_kinds(special):
    created = special.post("/people", json=ANN)
    patched = special.patch("/people/1", json={"first": "Eve"})

    assert created.json == READ_ANN
    assert patched.json == READ_ANN | {
        "first": "Eve",
        "full_name": "Eve Lee",
        "initial": "E",
    }


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


def test_all_problems_of_a_dataclass_are_told_together(special):
    response = special.post("/points", json={"z": "x"})

    errors = {"x": "is required", "y": "is required", "z": "is not a whole number"}
    assert (response.status_code, response.json["errors"]) == (400, errors)


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


def test_a_record_of_joined_tables_is_removed_from_all(special):
    special.post("/dogs", json=[{"id": 1, "name": "Rex"}, {"id": 2, "name": "Max"}])

    removed = special.delete("/animals/1")

    assert removed.json == {"id": 1, "kind": "dog", "name": "Rex"}
    assert special.get("/dogs").json["total"] == 1
    assert special.delete("/dogs").json[0]["name"] == "Max"
    assert special.get("/animals").json["data"] == []


class OnPostgreSQL(DeclarativeBase):
    pass


class Host(OnPostgreSQL):
    __tablename__ = "postgresql_host"

    id: Mapped[int] = mapped_column(primary_key=True)
    tags: Mapped[list[str] | None] = mapped_column(postgresql.ARRAY(sa.String(20)))
    ports: Mapped[list[int] | None] = mapped_column(sa.ARRAY(sa.Integer))
    facts: Mapped[Any | None] = mapped_column(postgresql.JSONB)
    address: Mapped[Any | None] = mapped_column(postgresql.INET)


@pytest.fixture
def hosts(server_urls):
    if "postgresql" not in server_urls:
        pytest.skip(f"{SERVERS['postgresql']} is not set")

    records = FlaskRecords()
    records.add("hosts", SQLAlchemyService(Host, multi=True), public=True)
    db = SQLAlchemy(model_class=OnPostgreSQL)

    with served(db, records, server_urls["postgresql"]) as app:
        yield app.test_client()


HOST = {
    "tags": ["a", "b,c", "d'\\"],
    "ports": [80, 443],
    "facts": {"b": 1, "a": [True, None]},
    "address": "10.0.0.1",
}


def test_types_of_postgresql(hosts):
    created = hosts.post("/hosts", json=HOST)
    empty = hosts.post("/hosts", json={"tags": [], "ports": None})

    assert created.json == {"id": 1} | HOST
    assert empty.json == {"id": 2, "tags": []} | dict.fromkeys(
        ("ports", "facts", "address")
    )

    for field, value in HOST.items():
        text = value if field == "address" else json.dumps(value)
        assert hosts.get(f"/hosts?{field}={quote(text)}").json == [{"id": 1} | HOST]


@pytest.mark.parametrize(
    ("field", "value"),
    [("tags", "x"), ("ports", ["x"]), ("ports", [2**31]), ("address", "10.0.0.999")],
)
def test_wrong_values_of_types_of_postgresql_are_refused(hosts, field, value):
    text = value if isinstance(value, str) else json.dumps(value)

    written = hosts.post("/hosts", json={field: value})
    queried = hosts.get(f"/hosts?{field}[$ne]={quote(text)}")

    assert (written.status_code, queried.status_code) == (400, 400)
