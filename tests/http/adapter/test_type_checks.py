"""Columns without a form on the wire are found at the start."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import ExactNumeric, FlaskRecords, SQLAlchemyService

POSTGRESQL = "postgresql+psycopg://nobody@127.0.0.1:1/nothing"


class Point(sa.types.UserDefinedType):
    cache_ok = True


class Pickled(sa.TypeDecorator):
    impl = sa.PickleType
    cache_ok = True


def model_of(type_):
    class Base(DeclarativeBase):
        pass

    class Thing(Base):
        __tablename__ = "thing"

        id: Mapped[int] = mapped_column(primary_key=True)
        price = mapped_column(type_)

    return Thing


def app_of(url, model, **options):
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    SQLAlchemy(app)
    records = FlaskRecords()
    records.add("things", SQLAlchemyService(model, **options), public=True)
    records.init_app(app)
    return app


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (19, 2), (5, 6), (5, -1)])
def test_an_exact_numeric_has_sensible_digits(precision, scale):
    with pytest.raises(ValueError, match="needs a precision from 1 to 18"):
        ExactNumeric(precision, scale)


def test_exact_numerics_are_summed_and_compared_by_the_database(database_url):
    engine = sa.create_engine(database_url)
    prices = sa.Table(
        "exact_price", sa.MetaData(), sa.Column("price", ExactNumeric(18, 2))
    )
    values = ["1234567890123456.78", "0.01", "-9.90"]

    with engine.begin() as connection:
        prices.metadata.drop_all(connection)
        prices.metadata.create_all(connection)
        connection.execute(prices.insert(), [{"price": value} for value in values])
        column = prices.c.price
        total = connection.scalar(sa.select(sa.func.sum(column)))
        above = connection.scalars(sa.select(column).where(column >= "0.011")).all()
        lowest = connection.scalar(sa.select(sa.func.min(column)))
        prices.metadata.drop_all(connection)

    engine.dispose()

    assert (str(total), [str(each) for each in above], str(lowest)) == (
        "1234567890123446.89",
        ["1234567890123456.78"],
        "-9.90",
    )


@pytest.mark.parametrize(
    ("url", "type_"),
    [
        ("sqlite://", Point()),
        ("sqlite://", sa.PickleType()),
        ("sqlite://", Pickled()),
        (POSTGRESQL, sa.ARRAY(sa.PickleType)),
        (POSTGRESQL, sa.ARRAY(sa.types.NullType)),
        (POSTGRESQL, postgresql.BIT(3)),
        (POSTGRESQL, postgresql.INT4MULTIRANGE()),
        (POSTGRESQL, sa.Time(timezone=True)),
    ],
    ids=repr,
)
def test_a_type_without_a_form_on_the_wire_is_refused_with_the_lines_to_write(
    url, type_
):
    class_ = type(type_).__name__

    with pytest.raises(
        ValueError, match=f"converters={{{class_}: Converter\\(read, show"
    ):
        app_of(url, model_of(type_))
