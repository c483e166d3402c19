"""Values that a database refuses are 400, with the name of the field if the database
tells it, or if it is the only one.
"""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import SQLAlchemyService

from ...databases import served

MISFIT = "does not fit its column"


class Even(sa.TypeDecorator):
    """Even integers."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        if value is not None and value % 2:
            raise ValueError("secret")

        return value


class Base(DeclarativeBase):
    pass


class Thing(Base):
    __tablename__ = "misfit_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    even: Mapped[int | None] = mapped_column(Even)
    other: Mapped[int | None] = mapped_column(Even)
    note: Mapped[str | None] = mapped_column(sa.String(20))


@pytest.fixture
def things(records, database_url):
    records.add("things", SQLAlchemyService(Thing, multi=True), public=True)

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        client = app.test_client()
        client.post("/things", json={"note": "a"})
        yield client


def answer(response):
    return response.status_code, response.json["errors"]


@pytest.mark.parametrize(
    ("verb", "path", "body", "errors"),
    [
        ("post", "/things", {"even": 1}, {"even": MISFIT}),
        ("post", "/things", {"even": 2, "other": 3}, {}),
        ("post", "/things", [{"even": 2}, {"even": 1}], {"even": MISFIT}),
        ("patch", "/things", {"even": 1}, {"even": MISFIT}),
        ("get", "/things/1?even[$in]=1", None, {"even": MISFIT}),
        ("delete", "/things?even[$in]=1", None, {"even": MISFIT}),
    ],
)
def test_a_type_of_the_application_refuses_a_value(things, verb, path, body, errors):
    response = getattr(things, verb)(path, json=body)

    assert answer(response) == (400, errors)
    assert "secret" not in response.text
    assert [each["note"] for each in things.get("/things").json] == ["a"]
