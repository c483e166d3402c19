from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, SQLAlchemyService

from ..databases import serving_models


class Base(DeclarativeBase):
    pass


class Notes:
    def find(self, params):
        return [{"id": 1}]

    def get(self, id, params):
        return {"id": 1} if id == "1" else None

    def create(self, data, params):
        return data


@pytest.fixture
def client():
    app, records = Flask("tests"), FlaskRecords(logger=False)
    records.add("notes", Notes(), public=True)
    records.init_app(app)
    return app.test_client()


LATER = "Thu, 01 Jan 2099 00:00:00 GMT"
CONDITIONS = [
    ({}, 200),
    ({"If-None-Match": "same"}, 304),
    ({"If-None-Match": '"other", same'}, 304),
    ({"If-None-Match": "strong"}, 304),
    ({"If-None-Match": "*"}, 304),
    ({"If-None-Match": '"other"'}, 200),
    ({"If-None-Match": ""}, 200),
    ({"If-Match": "same"}, 200),
    ({"If-Match": '"other"'}, 200),
    ({"If-Modified-Since": LATER}, 200),
    ({"If-Unmodified-Since": LATER}, 200),
    ({"If-None-Match": "same", "If-Modified-Since": LATER}, 304),
    ({"Range": "bytes=0-1"}, 200),
    ({"Range": "bytes=0-1", "If-Range": "same"}, 200),
    ({"X-If-None-Match": "same"}, 200),
]
"""Headers, where "same" stands for the ETag, and the status."""


@pytest.mark.parametrize("verb", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/notes", "/notes/1"])
@pytest.mark.parametrize(("headers", "status"), CONDITIONS)
def test_an_answer_depends_on_what_the_client_knows(
    client, verb, path, headers, status
):
    plain = client.open(path, method=verb)
    etag = plain.headers["ETag"]
    values = {
        name: value.replace("same", etag).replace("strong", etag.removeprefix("W/"))
        for name, value in headers.items()
    }

    response = client.open(path, method=verb, headers=values)

    assert response.status_code == status
    assert response.headers["ETag"] == etag
    assert response.data == (plain.data if status == 200 else b"")


class Author(Base):
    __tablename__ = "conditional_author"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


@pytest.fixture
def site(database_url):
    """The client of a database with one author, and the service."""
    records = FlaskRecords(app_errors=True)
    blind = ["create", "update", "patch", "remove"]
    records.add("blind", SQLAlchemyService(Author), public=True, methods=blind)

    with serving_models(database_url, {"authors": Author}, records) as client:
        client.post("/authors", json={"name": "Ann"})
        yield client, records["authors"]


WRITES = [("PUT", {"name": "Bob"}), ("PATCH", {"name": "Bob"}), ("DELETE", None)]


@pytest.mark.parametrize(("verb", "data"), WRITES)
@pytest.mark.parametrize("path", ["/authors/1", "/authors/1?$select=name"])
def test_write_of_what_the_client_has_read(site, verb, data, path):
    client, _ = site
    etag = client.get(path).headers["ETag"]

    response = client.open(path, method=verb, json=data, headers={"If-Match": etag})
    again = client.open(path, method=verb, json=data, headers={"If-Match": etag})

    assert response.status_code == 200
    assert again.status_code == 412


@pytest.mark.parametrize(("verb", "data"), WRITES)
def test_write_of_what_has_changed_is_refused(site, verb, data):
    client, _ = site
    etag = client.get("/authors/1").headers["ETag"]
    client.patch("/authors/1", json={"name": "Eve"})

    response = client.open(
        "/authors/1", method=verb, json=data, headers={"If-Match": f'"x", {etag}'}
    )

    assert response.status_code == 412
    assert (response.json["name"], response.json["className"]) == (
        "PreconditionFailed",
        "precondition-failed",
    )
    assert client.get("/authors").json == [{"id": 1, "name": "Eve"}]


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/authors/1", "*", 200),
        ("/authors/2", "*", 412),
        ("/authors/x", "*", 412),
        ("/authors/2", '"x"', 412),
        ("/authors/1", "nonsense", 412),
        ("/authors/1", "", 412),
        ("/authors?name=Ann", "*", 200),
        ("/authors?name=Ann", '"x"', 412),
        ("/blind/1", "*", 412),
    ],
)
def test_condition_is_never_ignored(site, path, header, status):
    client, _ = site

    response = client.patch(path, json={"name": "Bob"}, headers={"If-Match": header})

    assert response.status_code == status
    names = [author["name"] for author in client.get("/authors").json]
    assert names == ["Bob" if status == 200 else "Ann"]


@pytest.mark.parametrize(("verb", "data"), WRITES)
def test_change_of_what_must_not_be_there_is_refused(site, verb, data):
    client, _ = site
    headers = {"If-None-Match": "*"}

    response = client.open("/authors/1", method=verb, json=data, headers=headers)

    assert response.status_code == 412
    assert client.get("/authors").json == [{"id": 1, "name": "Ann"}]


def test_condition_is_about_what_the_caller_sees(site):
    client, authors = site

    @authors.after("get")
    def shout(method, context):
        context.result["name"] = context.params.headers.get("Name", "Ann")

    etag = client.get("/authors/1", headers={"Name": "Eve"}).headers["ETag"]
    headers = {"If-Match": etag}
    other = client.patch("/authors/1", json={"name": "Bob"}, headers=headers)
    same = client.patch(
        "/authors/1", json={"name": "Bob"}, headers={**headers, "Name": "Eve"}
    )

    assert (other.status_code, same.status_code) == (412, 200)


def test_write_waits_for_another_one(site):
    """Nobody else changes a record between its look-up and the write."""
    client, authors = site
    app, etag = client.application, client.get("/authors/1").headers["ETag"]
    begun, statuses = threading.Event(), []

    def write():
        begun.set()
        headers = {"If-Match": etag}
        response = app.test_client().patch(
            "/authors/1", json={"name": "Bob"}, headers=headers
        )
        statuses.append(response.status_code)

    other = threading.Thread(target=write)

    @authors.before("patch")
    def start(method, context):
        if not begun.is_set():
            other.start()
            begun.wait()

    client.patch("/authors/1", json={"name": "Eve"}, headers={"If-Match": etag})
    other.join()

    assert statuses == [412]
    assert client.get("/authors/1").json["name"] == "Eve"
