"""Rules of the database are named by fields: as the application says, or as the tables
of the model and the database tell.
"""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from ...databases import served
from ...databases import url_of


class Base(DeclarativeBase):
    pass


class Offer(Base):
    __tablename__ = "constraint_offer"
    __table_args__ = (
        sa.CheckConstraint("price > 0", name="ck_price_positive"),
        sa.CheckConstraint("low < high", name="ck_low_high"),
        sa.CheckConstraint("stock <> 17"),
        sa.UniqueConstraint("shop", "number", name="uq_shop_number"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    price: Mapped[int | None]
    low: Mapped[int | None]
    high: Mapped[int | None]
    stock: Mapped[int | None]
    cost: Mapped[int | None]
    secret: Mapped[int | None]
    shop: Mapped[int | None]
    number: Mapped[int | None]


CONSTRAINTS = {
    "ck_price_positive": ("price", "must be positive"),
    "uq_shop_number": (["shop", "number"], "are taken"),
}
BREAKS = "breaks a rule of the database"


@pytest.fixture
def offers(database_url):
    records = FlaskRecords(logger=False)
    described = SQLAlchemyService(Offer, constraints=CONSTRAINTS, multi=True)
    records.add("described", described, public=True)
    records.add("offers", SQLAlchemyService(Offer), public=True)

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        yield app.test_client()


def test_a_rule_that_the_application_describes(offers):
    response = offers.post("/described", json={"price": -1})

    assert response.status_code == 400
    assert response.json["message"] == "'price' must be positive."
    assert response.json["errors"] == {"price": "must be positive"}


def test_a_rule_of_several_fields_that_the_application_describes(offers):
    offers.post("/described", json={"shop": 1, "number": 2})

    response = offers.post("/described", json={"shop": 1, "number": 2})

    assert response.status_code == 409
    assert response.json["message"] == "'shop', 'number' are taken."
    assert response.json["errors"] == {"shop": "are taken", "number": "are taken"}


@pytest.mark.parametrize("verb", ["POST", "PATCH", "PUT"])
def test_a_rule_names_the_columns_of_its_expression(offers, verb):
    id = offers.post("/offers", json={}).json["id"]
    path = "/offers" if verb == "POST" else f"/offers/{id}"

    response = offers.open(path, method=verb, json={"low": 2, "high": 1})

    assert response.status_code == 400
    assert response.json["message"] == "The data breaks a rule of the database."
    assert response.json["errors"] == {"low": BREAKS, "high": BREAKS}


def test_a_rule_without_a_name_is_a_400_without_sql(offers):
    response = offers.post("/offers", json={"stock": 17})

    assert response.status_code == 400
    assert response.json["errors"] in ({"stock": BREAKS}, {})
    assert "<>" not in response.text


class RuleBase(DeclarativeBase):
    pass


class Booking(RuleBase):
    __tablename__ = "constraint_booking"
    __table_args__ = (
        postgresql.ExcludeConstraint(("during", "&&"), name="no_overlap"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    during = mapped_column(postgresql.INT4RANGE)
    seats = mapped_column(
        postgresql.DOMAIN("constraint_seats", sa.Integer, check=sa.text("VALUE > 0"))
    )


@pytest.fixture
def bookings(server_urls):
    records = FlaskRecords(logger=False)
    records.add("bookings", SQLAlchemyService(Booking), public=True)
    url = url_of("postgresql", server_urls)

    with served(SQLAlchemy(model_class=RuleBase), records, url) as app:
        yield app.test_client()


def test_a_rule_of_a_domain_names_its_field(bookings):
    response = bookings.post("/bookings", json={"seats": -1})

    assert (response.status_code, response.json["errors"]) == (400, {"seats": BREAKS})


def test_an_exclusion_is_a_conflict_that_names_its_field(bookings):
    bookings.post("/bookings", json={"during": "[1,5)"})

    response = bookings.post("/bookings", json={"during": "[2,9)"})

    problem = "conflicts with another record"
    assert (response.status_code, response.json["errors"]) == (409, {"during": problem})


@pytest.mark.parametrize(
    "constraints",
    [["ck_price_positive"], {"ck": "price"}, {"ck": ("price",)}, {"ck": (1, "is")}],
)
def test_descriptions_of_another_form_are_refused_with_the_form(constraints):
    with pytest.raises(TypeError, match='"ck_price_positive": \\("price", "must be'):
        SQLAlchemyService(Offer, constraints=constraints)


def test_descriptions_of_unknown_fields_are_refused():
    service = SQLAlchemyService(
        Offer, constraints={"ck": ("prise", "must be positive")}
    )

    with pytest.raises(ValueError, match="'prise', which is not a field of 'Offer'"):
        _ = service.id
