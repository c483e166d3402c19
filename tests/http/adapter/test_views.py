"""Views of the database, which only those with a trigger can write."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, registry

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served

READ_ONLY = "These records can only be read."


class Base(DeclarativeBase):
    pass


class Sale(Base):
    __tablename__ = "unwritable_sale"

    id: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[int | None]


VIEW = """\
CREATE VIEW unwritable_total AS
SELECT id, max(amount) AS amount FROM {} GROUP BY id
"""


@pytest.fixture
def app(database_url):
    """A database with a view."""
    with served(SQLAlchemy(model_class=Base), FlaskRecords(), database_url) as app:
        with app.app_context():
            engine = app.extensions["sqlalchemy"].engine

            with engine.begin() as connection:
                connection.exec_driver_sql(VIEW.format(Sale.__tablename__))
                connection.execute(sa.insert(Sale).values(id=1, amount=5))

        yield app

        with engine.begin() as connection:
            connection.exec_driver_sql("DROP VIEW unwritable_total")


def reflected(engine):
    """A class that is mapped to the view."""
    key = sa.Column("id", sa.Integer, primary_key=True)
    view = sa.Table("unwritable_total", sa.MetaData(), key, autoload_with=engine)
    model = type("Total", (), {})
    registry().map_imperatively(model, view)
    return model


def serve(app):
    """A client of another application of the same database, which has reflected it."""
    with app.app_context():
        engine = app.extensions["sqlalchemy"].engine

    records, other = FlaskRecords(), Flask("other")
    service = SQLAlchemyService(
        reflected(engine),
        session=sa.orm.sessionmaker(engine),
        client_ids=True,
        multi=True,
    )
    records.add("totals", service, public=True)

    records.init_app(other)
    return other.test_client()


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("POST", "/totals", {"id": 2, "amount": 1}),
        ("POST", "/totals", [{"id": 2, "amount": 1}, {"id": 3, "amount": 1}]),
        ("PATCH", "/totals/1", {"amount": 1}),
        ("PATCH", "/totals", {"amount": 1}),
        ("PUT", "/totals/1", {"amount": 1}),
        ("DELETE", "/totals/1", None),
        ("DELETE", "/totals", None),
    ],
)
def test_a_write_to_a_view_is_a_405(app, verb, path, body):
    client = serve(app)

    response = client.open(path, method=verb, json=body)

    assert (response.status_code, response.json["message"]) == (405, READ_ONLY)
    assert client.get("/totals").json == [{"id": 1, "amount": 5}]
