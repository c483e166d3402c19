"""Writes: defaults, problems of bodies, and what models do about both."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, validates

from flask_records import BadRequest, SQLAlchemyService

from ...databases import serving_models


class Base(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Account(Base):
    """One column of each kind of default."""

    __tablename__ = "account"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(10))
    note: Mapped[str | None] = mapped_column(sa.String(10))
    scalar: Mapped[str] = mapped_column(sa.String(10), default="free")
    called: Mapped[str] = mapped_column(sa.String(10), default=lambda: "called")
    zero: Mapped[int] = mapped_column(default=0)
    expression: Mapped[int] = mapped_column(default=sa.literal_column("1 + 2"))
    server: Mapped[str] = mapped_column(sa.String(10), server_default="it's :new")
    server_number: Mapped[int] = mapped_column(server_default=sa.text("7"))
    state: Mapped[str] = mapped_column(
        sa.Enum("on", "off", name="account_state"), server_default="on"
    )
    role: Mapped[str] = mapped_column(sa.String(10), default="user")
    secret: Mapped[str] = mapped_column(sa.String(10))
    hint: Mapped[str | None] = mapped_column(sa.String(10))


DEFAULTS = {
    "note": None,
    "scalar": "free",
    "called": "called",
    "zero": 0,
    "expression": 3,
    "server": "it's :new",
    "server_number": 7,
    "state": "on",
    "role": "user",
}
CHANGED = {
    "note": "x",
    "scalar": "x",
    "called": "x",
    "zero": 9,
    "expression": 9,
    "server": "x",
    "server_number": 9,
    "state": "off",
}


class Stored(Base):
    """Defaults of the database that are texts of values of other types."""

    __tablename__ = "stored"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(10))
    document: Mapped[Any | None] = mapped_column(sa.JSON, server_default='{"a": 1}')
    day: Mapped[dt.date | None] = mapped_column(server_default="2026-01-01")
    at: Mapped[dt.datetime | None] = mapped_column(server_default="2026-01-01 09:00:00")
    price: Mapped[Decimal | None] = mapped_column(
        sa.Numeric(8, 2), server_default="1.50"
    )
    token: Mapped[uuid.UUID | None] = mapped_column(
        sa.Uuid(native_uuid=False), server_default="eb6d65402a2d45beb1a97a6afb7edecc"
    )


class Page(Base):
    """A model with rules of its own."""

    __tablename__ = "page"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(20))
    slug: Mapped[str] = mapped_column(sa.String(20))
    editor: Mapped[str | None] = mapped_column(sa.String(20), onupdate="nobody")
    version: Mapped[int] = mapped_column()
    document: Mapped[Any | None] = mapped_column(sa.JSON)
    long: Mapped[str | None] = mapped_column(sa.Text)

    __mapper_args__ = {"version_id_col": version}

    @validates("title")
    def validate_title(self, key, title):
        if title.startswith("!"):
            raise ValueError("begins with an exclamation mark")

        return title.strip()


@sa.event.listens_for(Page, "before_insert")
def fill_slug(mapper, connection, page):
    page.slug = page.slug or page.title.lower()


@pytest.fixture(scope="module")
def app_of_module(module_url):
    options = {"multi": True, "client_ids": True}
    fields = {"readonly": ["role"], "hidden": ["secret", "hint"]}
    services = {
        "accounts": SQLAlchemyService(Account, **fields, **options),
        "page": SQLAlchemyService(Page, **options),
        "stored": SQLAlchemyService(Stored),
    }

    with serving_models(module_url, services) as client:
        yield client.application


@pytest.fixture
def app(app_of_module):
    """An app of each database, whose tables are empty."""
    with (
        app_of_module.app_context(),
        app_of_module.extensions["sqlalchemy"].engine.begin() as connection,
    ):
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())

    return app_of_module


@pytest.fixture
def dialect(app, app_context):
    return app.extensions["sqlalchemy"].engine.dialect.name


@pytest.fixture
def inside(app, app_context):
    """The service of accounts, as the application calls it."""
    return app.extensions["records"]["accounts"]


def account(**values):
    return {"id": 1, "name": "Ann"} | DEFAULTS | values


ANN = {"id": 1, "name": "Ann", "secret": "s3cret", "hint": "h1nt"}


def status_and_body(response):
    return response.status_code, response.json


def invalid(message, errors):
    return 400, BadRequest(message, errors=errors).to_dict()


def test_a_new_record_has_all_defaults(client):
    assert status_and_body(client.post("/accounts", json=ANN)) == (201, account())


def test_null_asks_for_the_default_of_a_new_record(client):
    given = client.post("/accounts", json=ANN | CHANGED)
    nulls = client.post("/accounts", json=ANN | {"id": 2} | dict.fromkeys(CHANGED))

    assert given.json == account(**CHANGED)
    assert nulls.json == account(id=2)


def test_null_is_not_patched_where_a_field_can_not_be_null(client):
    client.post("/accounts", json=ANN)
    fields = [name for name in CHANGED if name != "note"]

    response = client.patch("/accounts/1", json=dict.fromkeys(fields))

    assert response.status_code == 400
    assert response.json["errors"] == dict.fromkeys(fields, "can't be null")


def test_schemas_allow_null_where_a_method_takes_it(inside):
    schemas = inside.capabilities.schemas_for(None)

    nullable = {
        method: [
            name
            for name, schema in getattr(schemas, method)["properties"].items()
            if "null" in schema["type"]
        ]
        for method in ("create", "update", "patch")
    }

    assert nullable["update"] == nullable["patch"] == ["note", "hint"]
    assert {*nullable["create"]} == {*CHANGED, "hint", "id"}


def test_update_keeps_only_what_a_client_can_not_write(client, inside):
    inside.create(ANN | CHANGED | {"role": "admin"})

    response = client.put("/accounts/1", json={"name": "Eve", "hint": "new"})

    record = inside.get(1)
    assert status_and_body(response) == (200, account(name="Eve", role="admin"))
    assert (record["secret"], record["hint"]) == ("s3cret", "new")

    with pytest.raises(BadRequest, match="'secret' is required"):
        inside.update(1, {"name": "Eve"})


def test_an_update_reads_the_text_of_a_default_as_a_stored_value(client):
    created = client.post("/stored", json={"name": "a"}).json
    path = f"/stored/{created['id']}"
    others = {name: None for name in created if name not in ("id", "name")}
    client.patch(path, json=others)

    updated = client.put(path, json={"name": "a"})

    assert status_and_body(updated) == (200, created)
    assert (created["document"], created["price"]) == ({"a": 1}, "1.50")
    assert created["day"] == "2026-01-01"


@pytest.mark.parametrize(
    ("verb", "path"), [("POST", ""), ("PUT", "/1"), ("PATCH", "/1"), ("PATCH", "")]
)
def test_all_problems_are_told_together(client, verb, path):
    client.post("/accounts", json=ANN)
    body = {
        "name": None,
        "note": "x" * 11,
        "zero": "x",
        "role": "admin",
        "nope": 1,
        "scalar": [],
        "secret": 1.5,
    }

    response = client.open(f"/accounts{path}", method=verb, json=body)

    errors = {
        "name": "can't be null",
        "nope": "is not a field",
        "note": "has more than 10 characters",
        "role": "is read-only",
        "scalar": "is not text",
        "zero": "is not a whole number",
    }
    assert (response.status_code, response.json["errors"]) == (400, errors)
    assert client.get("/accounts").json == [account()]


def test_the_problems_of_a_list_are_told_by_place(client):
    bodies = [
        ANN,
        {"name": "Bob", "secret": "x"} | {"zero": "x", "nope": 1},
        {"name": "Eve"},
    ]

    response = client.post("/accounts", json=bodies)

    pages = [{"title": "a", "slug": "a"}, {"title": "!b", "slug": "b"}]
    validated = client.post("/page", json=pages).json["errors"]

    assert validated == {"1.title": "begins with an exclamation mark"}
    assert (response.status_code, response.json["errors"]) == (
        400,
        {
            "1.nope": "is not a field",
            "1.zero": "is not a whole number",
            "2.secret": "is required",
        },
    )
    assert client.get("/accounts").json == []


@pytest.mark.parametrize(
    ("verb", "path"), [("POST", ""), ("PUT", "/1"), ("PATCH", "/1"), ("PATCH", "")]
)
def test_what_a_validator_refuses_is_told_by_field(client, verb, path):
    client.post("/page", json={"id": 1, "title": "Home"})

    body = {"title": "!Home", "slug": "home"}
    response = client.open(f"/page{path}", method=verb, json=body)

    assert (response.status_code, response.json["errors"]) == (
        400,
        {"title": "begins with an exclamation mark"},
    )
    assert [page["title"] for page in client.get("/page").json] == ["Home"]


PAGE = {
    "id": 1,
    "title": "Home",
    "slug": "home",
    "editor": None,
    "version": 1,
    "document": None,
    "long": None,
}


def test_what_validators_events_and_versions_change_is_answered(client):
    created = client.post("/page", json={"id": 1, "title": " Home "})

    response = client.patch("/page/1", json={"title": "Start"})

    assert created.json == PAGE
    assert response.json["version"] == 2
    assert client.patch("/page/1", json={"version": 7}).status_code == 409


@pytest.mark.parametrize("verb", ["PATCH", "DELETE"])
def test_a_record_changed_by_others_in_between_is_a_conflict(client, verb):
    client.post("/page", json={"id": 1, "title": "Home"})

    def change(mapper, connection, page):
        connection.execute(sa.update(Page).values(version=9))

    names = ("before_update", "before_delete")

    for name in names:
        sa.event.listen(Page, name, change)

    response = client.open("/page/1", method=verb, json={"title": "Start"})

    for name in names:
        sa.event.remove(Page, name, change)

    assert (response.status_code, response.json["message"]) == (
        409,
        "The record was changed by another call. Try again.",
    )
    assert client.get("/page/1").json == PAGE


def test_a_text_is_stored_as_a_whole_or_not_at_all(client, dialect):
    text = "é" * 100_000
    is_too_long = dialect == "mariadb"

    response = client.post("/page", json={"id": 1, "title": "Home", "long": text})

    assert status_and_body(response) == (
        invalid("'long' does not fit its column.", {"long": "does not fit its column"})
        if is_too_long
        else (201, PAGE | {"long": text})
    )


def test_errors_of_a_list_stop_after_a_hundred(app, app_context):
    bodies = [{"name": "x", "secret": "x"}, *[{}] * 300_000]
    accounts = app.extensions["records"]["accounts"]

    with pytest.raises(BadRequest) as caught:
        accounts.create(bodies)

    errors = caught.value.errors
    assert len(errors) == 100
    assert list(errors.items())[0] == ("1.name", "is required")
    assert caught.value.message.endswith("'3.name' is required and more.")


@pytest.mark.parametrize(
    ("verb", "path"),
    [("POST", "/accounts"), ("PUT", "/accounts/1"), ("PATCH", "/accounts/1")],
)
def test_errors_of_one_body_are_bounded(client, verb, path):
    many = {f"colour{n}": n for n in range(30_000)}

    answer = client.open(path, method=verb, json={"a" * 100_000: 1, **many})

    errors = answer.json["errors"]
    assert (answer.status_code, len(errors)) == (400, 100)
    assert errors["a" * 100 + "..."] == "is not a field"
    assert len(answer.data) < 10_000
