"""Views of the database can only be read."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, registry

from flask_records import SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class Sale(Base):
    __tablename__ = "unwritable_sale"

    id: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[int | None]


VIEW = """\
CREATE VIEW unwritable_total AS
SELECT id, max(amount) AS amount FROM unwritable_sale GROUP BY id
"""


@pytest.fixture
def client(records, database_url):
    """A client of a service over a view."""
    db = SQLAlchemy(model_class=Base)

    with served(db, records, database_url) as app, app.app_context():
        with db.engine.begin() as connection:
            connection.exec_driver_sql(VIEW)
            connection.execute(sa.insert(Sale).values(id=1, amount=5))

        service = SQLAlchemyService(reflected(db.engine), client_ids=True, multi=True)
        records.add("totals", service, public=True)
        yield app.test_client()

        with db.engine.begin() as connection:
            connection.exec_driver_sql("DROP VIEW unwritable_total")


def reflected(engine):
    """A class that is mapped to the view."""
    key = sa.Column("id", sa.Integer, primary_key=True)
    view = sa.Table("unwritable_total", sa.MetaData(), key, autoload_with=engine)
    model = type("Total", (), {})
    registry().map_imperatively(model, view)
    return model


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
def test_a_write_to_a_view_is_a_405(client, verb, path, body):
    response = client.open(path, method=verb, json=body)

    assert response.status_code == 405
    assert response.json["message"] == "These records can only be read."
    assert client.get("/totals").json == [{"id": 1, "amount": 5}]
