"""The six methods over a model."""

from __future__ import annotations

from decimal import Decimal
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import NotFound, Page, Params, SQLAlchemyService

from ...databases import serving_models

VERBS = ("GET", "PUT", "PATCH", "DELETE")


class Base(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Task(Base):
    __tablename__ = "task"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(50))
    rank: Mapped[int | None]
    done: Mapped[bool] = mapped_column(default=False)


class Seat(Base):
    __tablename__ = "seat"

    row: Mapped[str] = mapped_column(sa.String(1), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    code: Mapped[str] = mapped_column(sa.String(20), unique=True)
    guest: Mapped[str | None] = mapped_column(sa.String(20))


PAGES = {
    "tasks": None,
    "paged": {"default": 2},
    "bounded": {"default": 2, "max": 2},
    "large": {"default": 9, "max": 2},
    "limited": {"max": 2},
}


@pytest.fixture(scope="module")
def app_of_module(module_url):
    """An app with services over tasks that differ by their pages."""
    options = {"client_ids": True, "multi": True}
    services = {
        path: SQLAlchemyService(Task, paginate=paginate, **options)
        for path, paginate in PAGES.items()
    }
    services["seats"] = SQLAlchemyService(Seat, id="code")

    with serving_models(module_url, services) as client:
        yield client.application


@pytest.fixture
def app(app_of_module):
    """An app of each database, with three tasks."""
    db = app_of_module.extensions["sqlalchemy"]

    with app_of_module.app_context(), db.engine.begin() as connection:
        connection.execute(sa.delete(Seat))
        connection.execute(sa.delete(Task))
        connection.execute(sa.insert(Task), ALL)

    return app_of_module


def task(number, **values):
    return {"title": f"Task {number}", "rank": number, "done": False} | values


def stored(number, **values):
    return {"id": number} | task(number, **values)


ALL = [stored(1, done=True), stored(2), stored(3)]


def status_and_body(response):
    return response.status_code, response.json


@pytest.mark.parametrize("verb", VERBS)
def test_paging_of_one_record_is_ignored(client, verb):
    url = "/tasks/2?$limit=0&$skip=5&$sort[rank]=-1"

    response = client.open(url, method=verb, json=task(2))

    assert status_and_body(response) == (200, stored(2))


@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
def test_an_id_in_the_body_is_ignored(client, verb):
    response = client.open("/tasks/2", method=verb, json=task(2) | {"id": 77})

    assert status_and_body(response) == (200, stored(2))


@pytest.mark.parametrize("verb", VERBS)
def test_an_id_of_no_record_is_not_found(client, verb):
    ids = ["9", "x", "1.5", "null", "true", "9" * 30, "0x1", "\0"]
    urls = [f"/tasks/{quote(id)}" for id in ids]

    answers = [client.open(url, method=verb, json=task(9)) for url in urls]

    errors = [NotFound(f"No record found for id '{id}'").to_dict() for id in ids]
    assert [status_and_body(each) for each in answers] == [(404, e) for e in errors]


def test_an_id_in_python_is_cast_or_not_found(app, app_context):
    tasks = app.extensions["records"]["tasks"]

    assert [tasks.get(id) for id in (2, "2", Decimal(2))] == [stored(2)] * 3

    for id in (None, True, [2], {"$gt": 0}, 2.5):
        with pytest.raises(NotFound, match="No record found for id"):
            tasks.get(id)


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("/paged", (3, 2, 0, [1, 2])),
        ("/paged?$limit=", (3, 2, 0, [1, 2])),
        ("/paged?$limit=9", (3, 9, 0, [1, 2, 3])),
        ("/paged?$skip=2", (3, 2, 2, [3])),
        ("/paged?$skip=3", (3, 2, 3, [])),
        ("/paged?$limit=0", (3, 0, 0, [])),
        ("/paged?$limit=0&rank[$gt]=1", (2, 0, 0, [])),
        ("/paged?$limit=1&$skip=1", (3, 1, 1, [2])),
        ("/paged?rank=9", (0, 2, 0, [])),
        ("/bounded?$limit=9", (3, 2, 0, [1, 2])),
        ("/large", (3, 2, 0, [1, 2])),
        ("/limited", [1, 2]),
        ("/limited?$limit=9", [1, 2]),
        ("/limited?$limit=1", [1]),
        ("/limited?$limit=0", []),
        ("/tasks", [1, 2, 3]),
        ("/tasks?$limit=0", []),
        ("/tasks?$limit=2&$skip=1", [2, 3]),
    ],
)
def test_pages(client, url, page):
    result = client.get(url).json

    if isinstance(page, list):
        assert [record["id"] for record in result] == page
    else:
        ids = [record["id"] for record in result["data"]]
        assert (result["total"], result["limit"], result["skip"], ids) == page


def test_a_call_in_python_can_do_without_pages(app, app_context):
    paged = app.extensions["records"]["paged"]

    assert paged.find() == Page(3, 2, 0, ALL[:2])
    assert paged.find(Params(paginate=False)) == ALL


def test_an_id_option_may_name_another_field_than_the_primary_key(client):
    a1 = {"row": "A", "number": 1, "code": "A-1", "guest": None}

    created = client.post("/seats", json=a1)
    patched = client.patch("/seats/A-1", json=a1 | {"guest": "Ann", "code": "B-2"})
    replaced = client.put("/seats/A-1", json={"guest": "Bob", "row": "B"})

    assert status_and_body(created) == (201, a1)
    assert patched.json == a1 | {"guest": "Ann"}
    assert replaced.json == a1 | {"guest": "Bob"}
    assert client.get("/seats/A-1?$select=guest").json == {
        "code": "A-1",
        "guest": "Bob",
    }
    assert client.delete("/seats/A-1").json == replaced.json
