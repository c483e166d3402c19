"""Fields that hooks add to records."""

from __future__ import annotations

import datetime as dt

import pytest
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import SQLAlchemyService
from flask_records.openapi import document
from flask_records.openapi.typescript import typescript

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


class Photo(Base):
    __tablename__ = "photo"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    file: Mapped[str]
    parentId: Mapped[int | None] = mapped_column()
    parent: Mapped[Photo | None] = relationship(
        primaryjoin="foreign(Photo.parentId) == Photo.id", remote_side=[id]
    )


EXTRA = {"url": str, "taken": dt.datetime | None, "sizes": list[int]}


def add_url(method, context):
    for record in context.records:
        record["url"] = f"/files/{record['id']}"
        record["sizes"] = [1, 2]


@pytest.fixture
def app():
    service = SQLAlchemyService(Photo, hidden=["file"], extra_fields=EXTRA)

    with (
        serving_models("sqlite://", {"photos": service}) as client,
        client.application.app_context(),
    ):
        photos = client.records["photos"]
        photos.after("find", "get", "create", "patch")(add_url)
        photos.create({"title": "Cat", "file": "a"})
        yield client.application


@pytest.mark.parametrize("path", ["/photos?", "/photos/1?"])
def test_select_names_them_as_other_fields(client, path):
    def find(query):
        found = client.get(f"{path}{query}").json
        return found[0] if isinstance(found, list) else found

    assert find("$select=url") == {"id": 1, "url": "/files/1"}
    both = {"id": 1, "title": "Cat", "sizes": [1, 2]}
    assert find("$select[]=title&$select[]=sizes") == both
    assert find("$select=title") == {"id": 1, "title": "Cat"}
    assert find("$select=taken") == {"id": 1}
    assert {"url", "sizes", "title"} < find("").keys()


def test_select_of_a_write_names_them(client):
    body = {"title": "Dog", "file": "b"}
    created = client.post("/photos?$select=url", json=body)

    assert created.json == {"id": 2, "url": "/files/2"}


@pytest.mark.parametrize("query", ["url=a", "$sort[url]=1", "$or[0][url]=a"])
def test_queries_do_not_compare_them(client, query):
    response = client.get(f"/photos?{query}")

    assert response.status_code == 400
    assert "is not a field" in response.json["message"]


def test_bodies_do_not_have_them(client):
    response = client.patch("/photos/1", json={"url": "x"})

    assert response.status_code == 400
    assert response.json["errors"] == {"url": "is not a field"}


def test_documents_and_types_have_them(app):
    made, types = document(), typescript()
    schemas = made["components"]["schemas"]
    properties = schemas["Photos"]["properties"]
    text = {"type": "string", "readOnly": True}

    assert properties["url"] == text
    times = {"type": ["string", "null"], "format": "date-time", "readOnly": True}
    assert properties["taken"] == times
    assert properties["sizes"]["items"]["type"] == "integer"
    assert "url" not in schemas["PhotosCreate"]["properties"]
    parameters = made["paths"]["/photos"]["get"]["parameters"]
    named = {each["name"]: each["schema"] for each in parameters}
    assert {"url", "taken", "sizes"} <= {*named["$select"]["items"]["enum"]}
    assert "url" not in named
    assert "  url?: string\n" in types
    assert "  taken?: string | null\n" in types
    assert "  sizes?: number[]\n" in types


@pytest.mark.parametrize("class_", [object, str | int, list[object], "url", set[int]])
def test_type_without_a_form_in_json_is_refused(class_):
    with pytest.raises(TypeError, match="'extra_fields' gives 'url' no type"):
        SQLAlchemyService(Photo, extra_fields={"url": class_})


@pytest.mark.parametrize("name", ["title", "file", "parent", "id"])
def test_name_of_a_field_or_a_relationship_is_refused(name):
    service = SQLAlchemyService(Photo, extra_fields={name: str})

    with pytest.raises(ValueError, match=f"'extra_fields' names {name} of 'Photo'"):
        service.check(Flask("photos"))
