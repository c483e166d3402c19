"""The classes of calls in the OpenAPI document, and in the types of TypeScript."""

from __future__ import annotations

import typing as t

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from openapi_spec_validator import validate
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.openapi import document
from flask_records.openapi.typescript import typescript

from ...databases import served


class Base(DeclarativeBase):
    pass


class Book(Base):
    __tablename__ = "book"

    id: Mapped[int] = mapped_column(primary_key=True)
    full_title: Mapped[str] = mapped_column(sa.String(50))
    pages: Mapped[int] = mapped_column(sa.SmallInteger)
    state: Mapped[str] = mapped_column(sa.String(9), default="new")
    parts = mapped_column(sa.JSON)
    note: Mapped[str | None]


class Part(BaseModel):
    name: str
    parts: list[Part] = []


class BookBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    full_title: str = Field(alias="fullTitle", min_length=1)
    pages: int | None = Field(default=None, ge=1)
    state: str = "x"
    parts: list[Part] = []


class Order(BaseModel):
    number: int
    kind: t.Literal["new", "used"] = "new"


class Sold(BaseModel):
    price: float


class Books(SQLAlchemyService):
    def sell(self, data, params):
        return {"price": data["number"]}


class Prices:
    def find(self, params):
        return [{"price": 1.5}]


@pytest.fixture(scope="module")
def app():
    records = FlaskRecords()
    schemas = {
        "create": BookBody,
        "patch": BookBody,
        "sell": {"data": Order, "result": Sold},
    }
    service = Books(Book, readonly=["state"])
    methods = ["find", "create", "patch", "sell"]
    records.add("books", service, methods=methods, schemas=schemas, public=True)
    find = {"query": Order, "result": list[Sold]}
    records.add("prices", Prices(), schemas={"find": find}, public=True)

    with served(SQLAlchemy(model_class=Base), records, "sqlite://") as app:
        with app.app_context():
            yield app


RECURSIVE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "parts": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["name"],
}


def test_bodies_are_those_of_the_class(app):
    schemas = document()["components"]["schemas"]

    assert schemas["BooksCreate"] == {
        "type": "object",
        "properties": {
            "fullTitle": {"type": "string", "minLength": 1},
            "pages": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
            "parts": {"type": "array", "items": RECURSIVE},
        },
        # The column can't be null, and the class has no value for it.
        "required": ["fullTitle", "pages"],
    }
    assert "required" not in schemas["BooksPatch"]


def test_custom_methods_and_objects_have_their_classes(app):
    made = document()
    post = made["paths"]["/books"]["post"]
    body = post["requestBody"]["content"]["application/json"]["schema"]
    find = made["paths"]["/prices"]["get"]

    validate(made)
    assert body["anyOf"][1]["properties"].keys() == {"number", "kind"}
    queried = [each["name"] for each in find["parameters"] if each["in"] == "query"]
    assert queried == ["number", "kind"]
    assert made["components"]["schemas"]["Prices"]["required"] == ["price"]


def test_types_of_typescript(app):
    types = typescript()

    assert "fullTitle: string\n" in types
    part = "{ name: string; parts?: ({ [name: string]: any })[] }"
    assert f"  parts?: ({part})[]\n" in types
    assert (
        '  sell(data: { number: number; kind?: "new" | "used" },'
        " params?: CallParams<BooksQuery>): Promise<Prices>\n"
    ) in types
    assert (
        'export interface PricesQuery {\n  number: number\n  kind?: "new" | "used"\n}\n'
    ) in types
    assert (
        "  find(params: { query: PricesQuery } & CallParams<PricesQuery>):"
        " Promise<Prices[]>\n"
    ) in types
