"""Types that only PostgreSQL has."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from .conftest import served
from .conftest import SERVERS


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
