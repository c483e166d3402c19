"""Types that only PostgreSQL has."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, Session
from sqlalchemy.types import NullType

from flask_records import FlaskRecords, SQLAlchemyService

from ..databases import served, url_of


class Points(sa.TypeDecorator):
    """A type of the application that expects its own values only."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else value.number


class Point(sa.types.UserDefinedType):
    """A type that PostgreSQL neither sorts nor compares."""

    cache_ok = True

    def get_col_spec(self, **options):
        return "point"


class OnPostgreSQL(DeclarativeBase):
    pass


class Host(OnPostgreSQL):
    __tablename__ = "postgresql_host"

    id: Mapped[int] = mapped_column(primary_key=True)
    tags: Mapped[list[str] | None] = mapped_column(postgresql.ARRAY(sa.String(20)))
    ports: Mapped[list[int] | None] = mapped_column(sa.ARRAY(sa.Integer))
    facts: Mapped[Any | None] = mapped_column(postgresql.JSONB)
    address: Mapped[Any | None] = mapped_column(postgresql.INET)


class Field(OnPostgreSQL):
    """Types that the database checks, and a rule of each kind."""

    __tablename__ = "postgresql_field"
    __table_args__ = (postgresql.ExcludeConstraint(("span", "&&"), name="no_overlap"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str | None] = mapped_column(sa.Text, index=True)
    address = mapped_column(postgresql.INET)
    network = mapped_column(postgresql.CIDR)
    matrix = mapped_column(postgresql.ARRAY(sa.Integer, dimensions=2))
    numbers = mapped_column(postgresql.ARRAY(sa.Integer, dimensions=2))
    hardware = mapped_column(postgresql.MACADDR)
    span = mapped_column(postgresql.INT4RANGE)
    spans = mapped_column(postgresql.INT4MULTIRANGE)
    words = mapped_column(postgresql.TSVECTOR)
    path = mapped_column(postgresql.JSONPATH)
    place = mapped_column(Point)
    points: Mapped[int | None] = mapped_column(Points)
    day = mapped_column(sa.Date)
    seats = mapped_column(
        postgresql.DOMAIN("postgresql_seats", sa.Integer, check=sa.text("VALUE > 0"))
    )


@pytest.fixture
def app(server_urls):
    url = url_of("postgresql", server_urls)
    records = FlaskRecords()
    records.add("hosts", SQLAlchemyService(Host, multi=True), public=True)
    fields = SQLAlchemyService(Field, multi=True, whitelist=["$regex"])
    records.add("fields", fields, public=True)
    db = SQLAlchemy(model_class=OnPostgreSQL)

    with served(db, records, url) as app:
        yield app


@pytest.fixture
def hosts(app):
    return app.test_client()


@pytest.fixture
def fields(hosts):
    """A client of a service that has one record."""
    hosts.post("/fields", json={"note": "a"})
    return hosts


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
    "value", [[[1, 2], [3, 4]], [[[1], [2]], [[3], [4]]], [[1, None], [None, 4]]]
)
def test_arrays_of_several_dimensions(hosts, value):
    created = hosts.post("/hosts", json={"ports": value})
    read = hosts.get(f"/hosts?ports={quote(json.dumps(value))}&$select=ports").json

    assert created.json["ports"] == value
    assert read == [{"id": 1, "ports": value}]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([[1, 2], [3]], "does not fit its column"),
        ([[1, "x"], [3, 4]], "is not a whole number"),
        ([[[[[[[1]]]]]]], "nests deeper than 6 levels"),
        ([1, [2]], "is not a list"),
    ],
)
def test_wrong_arrays_of_several_dimensions_are_refused(hosts, value, error):
    response = hosts.post("/hosts", json={"ports": value})

    assert (response.status_code, response.json["errors"]) == (400, {"ports": error})


class Reflected(DeclarativeBase):
    pass


class Shelf(Reflected):
    """A table of which SQLAlchemy knows some types only, as after a reflection."""

    __tablename__ = "postgresql_shelf"

    id: Mapped[int] = mapped_column(primary_key=True)
    spans = mapped_column(postgresql.INT4MULTIRANGE)
    labels = mapped_column(postgresql.HSTORE)
    page = sa.Column(NullType)
    place = sa.Column(NullType)
    places = sa.Column(sa.ARRAY(Point))


HAS_HSTORE = "SELECT count(*) FROM pg_available_extensions WHERE name = 'hstore'"

CREATE_SHELF = """
CREATE TABLE postgresql_shelf (
    id SERIAL PRIMARY KEY, spans int4multirange, labels hstore,
    page xml, place point, places point[]
)
"""


@pytest.fixture
def shelves(server_urls):
    url = url_of("postgresql", server_urls)
    records = FlaskRecords()
    records.add("shelves", SQLAlchemyService(Shelf), public=True)
    app = Flask("shelves")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    db = SQLAlchemy(app, model_class=Reflected)

    with app.app_context():
        if not db.session.scalar(sa.text(HAS_HSTORE)):
            pytest.skip("PostgreSQL has no hstore")

        db.session.execute(sa.text("CREATE EXTENSION IF NOT EXISTS hstore"))
        db.session.execute(sa.text(CREATE_SHELF))
        db.session.commit()

    # Drivers ask for the types of a database when they connect.
    with app.app_context():
        db.engine.dispose()
        records.init_app(app)

    yield app.test_client()

    with app.app_context():
        db.session.execute(sa.text("DROP TABLE postgresql_shelf"))
        db.session.commit()
        db.engine.dispose()


@pytest.mark.parametrize(
    ("field", "value", "other"),
    [
        ("spans", ["[1,3)", "[5,7)"], []),
        ("labels", {"a": "b", 'c"\\': '"', "d, e": None}, {}),
    ],
)
def test_an_answered_value_is_taken_back_and_found(shelves, field, value, other):
    created = shelves.post("/shelves", json={field: value})
    shelf = created.json
    text = quote(json.dumps(value))

    assert (created.status_code, shelf[field]) == (201, value)
    assert shelves.put("/shelves/1", json=shelf).json == shelf
    assert shelves.get(f"/shelves?{field}={text}").json == [shelf]
    assert shelves.get(f"/shelves?{field}[$ne]={text}").json == []
    assert shelves.patch("/shelves/1", json={field: other}).json[field] == other


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("page", "page=<a/>"),
        ("page", "$sort[page]=1"),
        ("place", "place[$ne]=(1,2)"),
        ("place", "place[$in][]=(1,2)"),
        ("places", '$or[0][places]=["(1,2)"]'),
    ],
)
def test_a_field_without_a_known_type_that_is_not_compared(shelves, field, query):
    shelves.post("/shelves", json={"places": ["(1,2)"]})

    response = shelves.get(f"/shelves?{query}")

    problem = {field: "can't be sorted or compared"}
    assert (response.status_code, response.json["errors"]) == (400, problem)


def test_an_array_of_a_type_that_sqlalchemy_lacks_is_refused_at_the_start():
    class OfArrays(DeclarativeBase):
        pass

    class Path(OfArrays):
        __tablename__ = "postgresql_path"

        id: Mapped[int] = mapped_column(primary_key=True)
        places = sa.Column(sa.ARRAY(NullType))

    records = FlaskRecords()
    records.add("paths", SQLAlchemyService(Path, session=Session), public=True)

    with pytest.raises(ValueError, match=r"exclude=\['places'\]"):
        records.init_app(Flask("arrays"))


MISFIT = "does not fit its column"
BAD_PATTERN = "is not a regular expression of the database"
BREAKS = "breaks a rule of the database"
UNCOMPARED = "can't be sorted or compared"


def answer(response):
    return response.status_code, response.json["errors"]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"network": "10.0.0.1/8"}, {"network": MISFIT}),
        ({"address": "10.0.0.999"}, {"address": MISFIT}),
        ({"matrix": [[1], [2, 3]]}, {"matrix": MISFIT}),
        ({"matrix": [[1], [2, 3]], "numbers": [[1]]}, {}),
        ({"hardware": "x"}, {"hardware": MISFIT}),
        ({"note": "b", "span": "[3,1)"}, {}),
        ({"spans": "{"}, {"spans": MISFIT}),
        ({"words": "'"}, {"words": MISFIT}),
        ({"path": "$$$"}, {"path": MISFIT}),
        ({"note": "b", "points": 5}, {"points": MISFIT}),
        ({"seats": -1}, {"seats": BREAKS}),
        (
            {"note": "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(9000))},
            {"note": MISFIT},
        ),
    ],
)
def test_a_value_that_postgresql_refuses_names_its_only_field(fields, body, errors):
    assert answer(fields.post("/fields", json=body)) == (400, errors)
    assert answer(fields.patch("/fields/1", json=body)) == (400, errors)


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("address=10.0.0.999", {"address": MISFIT}),
        ("note=%00", {"note": "has a NUL character"}),
        ("note[$regex]=(?P<x>b)", {"note": BAD_PATTERN}),
        ("words='", {"words": MISFIT}),
        ("place=(1,2)", {"place": UNCOMPARED}),
        ("$sort[place]=1", {"place": UNCOMPARED}),
        ("points=5", {"points": MISFIT}),
    ],
)
def test_a_query_that_postgresql_refuses_names_its_only_field(fields, query, errors):
    assert answer(fields.get(f"/fields?{query}")) == (400, errors)


def test_an_exclusion_is_a_conflict_that_names_its_field(fields):
    fields.post("/fields", json={"span": "[1,5)"})

    response = fields.post("/fields", json={"span": "[2,9)"})

    assert answer(response) == (409, {"span": "conflicts with another record"})


def test_a_stored_value_that_python_can_not_read_is_an_error_of_the_server(app, fields):
    with app.app_context(), app.extensions["sqlalchemy"].engine.begin() as connection:
        connection.exec_driver_sql("UPDATE postgresql_field SET day = 'infinity'")

    response = fields.get("/fields")

    assert response.status_code == 500
    assert "infinity" not in response.text


def test_a_table_without_the_right_to_write_is_a_403(app, fields):
    def limit(connection, record, proxy):
        connection.execute("SET ROLE records_reader")
        connection.commit()

    with app.app_context():
        engine = app.extensions["sqlalchemy"].engine

    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE ROLE records_reader")
        connection.exec_driver_sql("GRANT SELECT ON postgresql_field TO records_reader")

    sa.event.listen(engine, "checkout", limit)

    try:
        answers = [
            fields.post("/fields", json={"note": "b"}),
            fields.patch("/fields/1", json={"note": "b"}),
            fields.delete("/fields"),
        ]
        stored = fields.get("/fields").json
    finally:
        sa.event.remove(engine, "checkout", limit)
        engine.dispose()

        with engine.begin() as connection:
            connection.exec_driver_sql("DROP OWNED BY records_reader")
            connection.exec_driver_sql("DROP ROLE records_reader")

    assert [(each.status_code, each.json["message"]) for each in answers] == [
        (403, "The database does not allow this.")
    ] * 3
    assert [record["note"] for record in stored] == ["a"]
