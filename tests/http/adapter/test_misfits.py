"""Values that a database refuses are 400, with the name of the field if the database
tells it, or if it is the only one.
"""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served

MISFIT = "does not fit its column"
OPERATORS = ["$like", "$ilike", "$regex", "$search", "$null"]


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


def client_of(request, url, base=Base, model=Thing):
    records, db = FlaskRecords(), SQLAlchemy(model_class=base)
    service = SQLAlchemyService(model, multi=True, whitelist=OPERATORS)
    records.add("things", service, public=True)
    context = served(db, records, url)
    app = context.__enter__()
    request.addfinalizer(lambda: context.__exit__(None, None, None))
    client = app.test_client()
    client.post("/things", json={"note": "a"})
    return client


@pytest.fixture
def things(request, database_url):
    return client_of(request, database_url)


def answer(response):
    return response.status_code, response.json["errors"]


BODIES = [
    ("post", "/things", {"even": 1}, {"even": MISFIT}),
    ("post", "/things", {"even": 2, "other": 3, "note": "b"}, {}),
    ("post", "/things", [{"even": 2}, {"even": 1}], {"even": MISFIT}),
    ("patch", "/things/1", {"even": 1}, {"even": MISFIT}),
    ("patch", "/things", {"even": 1}, {"even": MISFIT}),
    ("put", "/things/1", {"even": 1}, {"even": MISFIT}),
]


@pytest.mark.parametrize(("verb", "path", "body", "errors"), BODIES)
def test_a_type_of_the_application_refuses_a_value(things, verb, path, body, errors):
    response = getattr(things, verb)(path, json=body)

    assert answer(response) == (400, errors)
    assert "secret" not in response.text


@pytest.mark.parametrize("verb", ["get", "delete"])
@pytest.mark.parametrize("path", ["/things", "/things/1"])
def test_a_type_of_the_application_refuses_a_value_of_a_query(things, verb, path):
    response = getattr(things, verb)(f"{path}?even[$in]=1")

    assert answer(response) == (400, {"even": MISFIT})
    assert [each["note"] for each in things.get("/things").json] == ["a"]
