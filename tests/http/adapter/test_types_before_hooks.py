"""The types of a body are checked before hooks run."""

from __future__ import annotations

import io
from contextlib import ExitStack

import pytest
import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import (
    BODY_PARSERS,
    Converter,
    FlaskRecords,
    MultipartParser,
    SQLAlchemyService,
)

from ...databases import serving_models
from ...models import Everything

KINDS = {
    "integer": ([1], "is not a whole number"),
    "small": (70000, "is out of range"),
    "text": (["a"], "is not text"),
    "naive": ("soon", "is not an ISO 8601 time"),
    "color": (["red"], "is not one of red, green"),
    "blob": ([1], "is not base64"),
}


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"

    id: Mapped[int] = mapped_column(primary_key=True)
    books: Mapped[list[Book]] = relationship()


class Book(Base):
    __tablename__ = "book"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(8))
    cover: Mapped[str | None] = mapped_column(sa.String(8))
    digest: Mapped[bytes | None] = mapped_column(sa.LargeBinary(32))
    state: Mapped[str | None] = mapped_column(sa.String(8))
    author_id: Mapped[int | None] = mapped_column(sa.ForeignKey("author.id"))


class BookData(BaseModel):
    title: list[str]


@pytest.fixture
def met():
    """The data that before hooks have met."""
    return []


@pytest.fixture
def records(met):
    multipart = {**BODY_PARSERS, "multipart/form-data": MultipartParser()}
    records = FlaskRecords(body_parsers=multipart)

    @records.before("create", "update", "patch")
    def look(method, context):
        met.append(context.data)

    return records


@pytest.fixture
def everything(records):
    with serving_models("sqlite://", {"everything": Everything}, records) as client:
        yield client


@pytest.fixture
def open_client(records):
    """Open an application with books, and return a client."""

    def open_client(schemas=None, **options):
        service = SQLAlchemyService(Book, multi=["create"], **options)
        books = records.add("books", service, schemas=schemas, public=True)
        context = serving_models("sqlite://", {"authors": Author}, records)
        return stack.enter_context(context), books

    with ExitStack() as stack:
        yield open_client


@pytest.mark.parametrize("name", KINDS)
def test_no_hook_meets_a_value_of_another_type(everything, met, name):
    value, problem = KINDS[name]
    id = "/everything/7f2577ca-8490-4e3b-9a4e-0d2c0c6a1e11"

    responses = [
        everything.post("/everything", json={name: value}),
        everything.put(id, json={name: value}),
        everything.patch(id, json={name: value}),
    ]

    assert [(each.status_code, each.json["errors"]) for each in responses] == [
        (400, {name: problem})
    ] * 3
    assert met == []


def test_hooks_meet_values_as_they_came_and_mend_others(open_client, met):
    client, books = open_client(readonly=["state"])
    sent = {"title": "A long title", "note": [1], "author_id": ""}

    @books.before("create")
    def mend(method, context):
        assert context.data == sent
        context.data = {"title": "A title", "state": "new", "author_id": ""}

    response = client.post("/books", json=sent)

    assert response.json == {
        "id": 1,
        "title": "A title",
        "cover": None,
        "digest": None,
        "state": "new",
        "author_id": None,
    }


def test_a_value_that_a_hook_sets_is_read_by_a_converter(open_client):
    converters = {"title": Converter(lambda value: f"{value}")}
    client, books = open_client(converters=converters)

    @books.before("create")
    def change(method, context):
        context.data["title"] = True

    assert client.post("/books", json={"title": 1}).json["title"] == "True"


def test_hooks_store_files_and_hash_passwords(open_client):
    client, books = open_client()

    @books.before("create")
    def store(method, context):
        context.data["cover"] = context.data["cover"].filename
        context.data["digest"] = context.data["digest"].encode()

    form = {"title": "a", "digest": "secret!", "cover": (io.BytesIO(b"x"), "a.png")}
    response = client.post("/books", data=form)

    assert (response.status_code, response.json["cover"]) == (201, "a.png")


def test_a_converter_reads_a_file_after_the_hooks(open_client, met):
    converters = {"cover": Converter(lambda file: file.read().decode())}
    client, _ = open_client(converters=converters)

    form = {"title": "a", "cover": (io.BytesIO(b"<svg/>"), "a.svg")}
    response = client.post("/books", data=form)

    assert [data["cover"].filename for data in met] == ["a.svg"]
    assert (response.status_code, response.json["cover"]) == (201, "<svg/>")


def test_read_only_value_of_another_type_is_told_as_read_only(open_client, met):
    client, _ = open_client(readonly=["state"])

    response = client.patch("/books/1", json={"state": ["new"]})

    assert response.json["errors"] == {"state": "is read-only"}
    assert met == []


def test_schema_says_which_values_hooks_meet(open_client, met):
    client, books = open_client(schemas={"create": BookData})

    @books.before("create")
    def join(method, context):
        context.data["title"] = "".join(context.data["title"])

    assert client.post("/books", json={"title": ["a", "b"]}).json["title"] == "ab"


def test_calls_in_python_leave_types_to_hooks(open_client):
    client, books = open_client()

    @books.before("create")
    def join(method, context):
        context.data["title"] = "".join(context.data["title"])

    with client.application.app_context():
        assert books.create({"title": ["a", "b"]})["title"] == "ab"
