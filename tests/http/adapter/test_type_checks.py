"""Columns without a form on the wire are found at the start."""

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords, SQLAlchemyService

from ...models import Color, model_of

POSTGRESQL = "postgresql+psycopg://nobody@127.0.0.1:1/nothing"


class Point(sa.types.UserDefinedType):
    cache_ok = True


class Pickled(sa.TypeDecorator):
    impl = sa.PickleType
    cache_ok = True


class Lower(sa.TypeDecorator):
    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return value and value.lower()


def app_of(url, model, **options):
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    SQLAlchemy(app)
    records = FlaskRecords()
    records.add("things", SQLAlchemyService(model, **options), public=True)
    records.init_app(app)
    return app


@pytest.mark.parametrize(
    ("url", "type_"),
    [
        ("sqlite://", Point()),
        ("sqlite://", sa.PickleType()),
        ("sqlite://", Pickled()),
        ("sqlite://", mysql.SET("a")),
        (POSTGRESQL, sa.ARRAY(sa.PickleType)),
        (POSTGRESQL, sa.ARRAY(sa.types.NullType)),
        (POSTGRESQL, sa.ARRAY(postgresql.DOMAIN("size", sa.Integer))),
        # SQLAlchemy stores what an encrypting type in a domain gets as it is.
        (POSTGRESQL, postgresql.DOMAIN("secret", Lower())),
        (POSTGRESQL, postgresql.DOMAIN("document", postgresql.JSONB())),
        (POSTGRESQL, postgresql.DOMAIN("color", sa.Enum(Color, native_enum=False))),
        (POSTGRESQL, postgresql.JSONPATH()),
        (POSTGRESQL, sa.ARRAY(postgresql.JSONPATH())),
        (POSTGRESQL, postgresql.BIT(3)),
        (POSTGRESQL, postgresql.HSTORE()),
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
        app_of(url, model_of(price=mapped_column(type_)))

    app_of(url, model_of(price=mapped_column(type_)), hidden=["price"])
