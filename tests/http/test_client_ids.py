"""Identifiers that clients choose."""

from __future__ import annotations

import uuid

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import SQLAlchemyService

from ..databases import serving_models


class Base(DeclarativeBase):
    pass


class Counted(Base):
    __tablename__ = "counted"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))


class Child(Counted):
    __tablename__ = "counted_child"

    id: Mapped[int] = mapped_column(sa.ForeignKey(Counted.id), primary_key=True)


class Identity(Base):
    __tablename__ = "identity"

    id: Mapped[int] = mapped_column(sa.Identity(), primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))


class Country(Base):
    __tablename__ = "country"

    id: Mapped[str] = mapped_column(sa.String(2), primary_key=True)


class Ticket(Base):
    __tablename__ = "ticket"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)


REFUSED = {"id": "is read-only"}
TICKET = {"id": "f5b3a1c0-0000-4000-8000-00000000000a"}


@pytest.fixture
def client(database_url):
    models = (Counted, Child, Identity, Country, Ticket)
    services = {model.__tablename__: model for model in models}
    services["chosen"] = SQLAlchemyService(Counted, client_ids=True)

    with serving_models(database_url, services) as client:
        with client.application.app_context():
            yield client


@pytest.mark.parametrize("path", ["counted", "counted_child", "identity"])
def test_client_can_not_use_up_the_keys_that_are_counted(client, path):
    refused = client.post(f"/{path}", json={"id": 2**31 - 1})
    in_list = client.post(f"/{path}", json=[{"name": "a"}, {"id": 7}])

    assert (refused.status_code, refused.json["errors"]) == (400, REFUSED)
    assert (in_list.status_code, in_list.json["errors"]) == (
        400,
        {"1.id": "is read-only"},
    )
    assert client.post(f"/{path}", json={"name": "a"}).json == {"id": 1, "name": "a"}


@pytest.mark.parametrize("null", [None, "", "null"])
def test_null_asks_for_the_next_key(client, null):
    body = {"id": null, "name": "a"}

    created = [client.post(f"/{path}", json=body).json for path in ("counted",) * 2]
    as_form = client.post("/counted", data={"id": "", "name": "a"}).json

    assert [each["id"] for each in (*created, as_form)] == [1, 2, 3]


def test_service_may_let_clients_choose_keys(client):
    assert client.post("/chosen", json={"id": 41}).json == {"id": 41, "name": None}
    assert client.post("/chosen", json={"id": None}).status_code == 201


@pytest.mark.parametrize(
    ("path", "body"), [("country", {"id": "NZ"}), ("ticket", TICKET)]
)
def test_clients_choose_keys_that_nothing_counts(client, path, body):
    created = client.post(f"/{path}", json=body)

    assert (created.status_code, created.json) == (201, body)


def test_hooks_and_python_choose_keys(client):
    @client.records["counted"].before("create")
    def choose(method, context):
        context.data.setdefault("id", 7)

    assert client.post("/counted", json={"name": "a"}).json["id"] == 7
    assert client.records["counted"].create({"id": 9})["id"] == 9
