"""Types that only PostgreSQL has."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import Converter, SQLAlchemyService

from ..databases import serving_models, url_of


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


class Field(OnPostgreSQL):
    """Types that the database checks, and a rule of each kind."""

    __tablename__ = "postgresql_field"
    __table_args__ = (postgresql.ExcludeConstraint(("span", "&&"), name="no_overlap"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str | None] = mapped_column(sa.Text, index=True)
    address = mapped_column(postgresql.INET)
    matrix = mapped_column(postgresql.ARRAY(sa.Integer, dimensions=2))
    span = mapped_column(postgresql.INT4RANGE)
    words = mapped_column(postgresql.TSVECTOR)
    place = mapped_column(Point)
    points: Mapped[int | None] = mapped_column(Points)
    day = mapped_column(sa.Date)
    seats = mapped_column(
        postgresql.DOMAIN("postgresql_seats", sa.Integer, check=sa.text("VALUE > 0"))
    )


@pytest.fixture
def fields(server_urls):
    """A client of a service that has one record."""
    url = url_of("postgresql", server_urls)
    options = {"whitelist": ["$regex"], "converters": {Point: Converter(str, str)}}
    service = SQLAlchemyService(Field, multi=True, **options)

    with serving_models(url, {"fields": service}) as client:
        client.post("/fields", json={"note": "a"})
        yield client


MISFIT = "A value does not fit its column."
UNCOMPARED = "A field can't be sorted or compared."


def answer(response):
    return response.status_code, response.json["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"address": "10.0.0.999"}, "'address' does not fit its column."),
        ({"matrix": [[1], [2, 3]]}, "'matrix' does not fit its column."),
        ({"note": "b", "span": "[3,1)"}, MISFIT),
        ({"words": "'"}, "'words' does not fit its column."),
        ({"points": 5}, "The data is not valid: 'points' is not valid."),
        ({"seats": -1}, "'seats' breaks a rule of the database."),
        (
            {"note": "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(9000))},
            "'note' does not fit its column.",
        ),
    ],
)
def test_a_value_that_postgresql_refuses_is_a_400(fields, body, message):
    assert answer(fields.post("/fields", json=body)) == (400, message)
    assert answer(fields.patch("/fields/1", json=body)) == (400, message)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("address=10.0.0.999", MISFIT),
        ("points=5", "'5' is not a valid 'points': it is not valid."),
        (
            "note[$regex]=(?P<x>b)",
            "A value is not a regular expression of the database.",
        ),
        ("place=(1,2)", UNCOMPARED),
    ],
)
def test_a_query_that_postgresql_refuses_is_a_400(fields, query, message):
    answers = [
        fields.get(f"/fields?{query}"),
        fields.patch(f"/fields/1?{query}", json={"note": "b"}),
        fields.delete(f"/fields/1?{query}"),
    ]

    assert [*map(answer, answers)] == [(400, message)] * 3


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("note=%00", {"note": "has a NUL character"}),
        ("$sort[place]=1", {"place": "can't be sorted or compared"}),
    ],
)
def test_a_query_that_needs_no_database_to_be_refused_names_its_field(
    fields, query, errors
):
    response = fields.get(f"/fields?{query}")

    assert (response.status_code, response.json["errors"]) == (400, errors)


def test_an_exclusion_is_a_conflict_that_names_its_field(fields):
    fields.post("/fields", json={"span": "[1,5)"})

    response = fields.post("/fields", json={"span": "[2,9)"})

    errors = response.json["errors"]
    assert (response.status_code, errors) == (
        409,
        {"span": "conflicts with another record"},
    )


BROKEN_TRIGGER = """
CREATE FUNCTION postgresql_broken() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN NEW.note := not_there(NEW.note); RETURN NEW; END $$;
CREATE TRIGGER broken BEFORE UPDATE ON postgresql_field
FOR EACH ROW EXECUTE FUNCTION postgresql_broken();
"""


def test_a_trigger_that_calls_no_function_is_an_error_of_the_server(fields):
    with fields.application.app_context():
        engine = fields.db.engine

        with engine.begin() as connection:
            connection.exec_driver_sql(BROKEN_TRIGGER)

        response = fields.patch("/fields/1", json={"note": "b"})

        with engine.begin() as connection:
            connection.exec_driver_sql("DROP FUNCTION postgresql_broken CASCADE")

    assert answer(response) == (500, "Internal server error")
