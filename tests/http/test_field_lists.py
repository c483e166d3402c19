"""Fields that clients know of, and that are written once."""

from __future__ import annotations

from contextlib import contextmanager, ExitStack

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import SQLAlchemyService

from ..databases import serving_models

NEW = {"name": "Ann", "role": "user"}


@pytest.fixture
def site(database_url):
    """A function that serves people, and returns a client and the service."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(people_at(database_url, **options))


@contextmanager
def people_at(url, **options):
    class Base(DeclarativeBase):
        pass

    class Person(Base):
        __tablename__ = "person"

        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str] = mapped_column(sa.String(50))
        role: Mapped[str] = mapped_column(sa.String(50), server_default="none")
        salary: Mapped[int | None] = mapped_column(unique=True)

        @hybrid_property
        def has_salary(self):
            return self.salary is not None

        @has_salary.inplace.expression
        @classmethod
        def _has_salary(cls):
            return cls.salary.is_not(None)

    service = SQLAlchemyService(Person, multi=True, **options)

    with serving_models(url, {"people": service}) as client:
        with client.application.app_context():
            yield client, client.records["people"]


def test_fields_that_are_not_listed_are_not_seen(site):
    client, people = site(fields=["name"])
    people.create({**NEW, "salary": 7})

    answers = [
        client.get("/people/1"),
        client.patch("/people/1", json={"name": "Bob"}),
        client.put("/people/1", json={"name": "Bob"}),
        client.delete("/people/1"),
        client.post("/people", json={"name": "Bob"}),
    ]

    assert [set(answer.json) for answer in answers] == [{"id", "name"}] * 5


def test_fields_that_are_not_listed_cannot_be_named(site):
    client, people = site(fields=["name"])
    people.create(NEW)
    queries = ["salary=7", "$sort[salary]=1", "$select=salary", "$or[0][salary]=7"]
    body = {"json": {"name": "B", "salary": 1}}

    answers = [
        *(client.get(f"/people?{query}") for query in queries),
        client.post("/people", **body),
        client.patch("/people/1", **body),
        client.put("/people/1", **body),
        client.patch("/people", **body),
    ]

    assert {answer.status_code for answer in answers} == {400}
    assert [answer.json["errors"] for answer in answers] == [
        {"salary": "is not a field"}
    ] * 8
    assert people.find() == [{"id": 1, "salary": None, "has_salary": False, **NEW}]


def test_fields_that_are_not_listed_are_not_in_errors(site):
    client, people = site(fields=["name"])
    people.create({**NEW, "salary": 7})
    people.before("create")(lambda method, context: context.data.update(salary=7))

    answer = client.post("/people", json={"name": "Bob"})

    assert answer.status_code == 409
    assert "salary" not in answer.text


@pytest.mark.parametrize("verb", ["patch", "put"])
def test_field_that_is_written_once_cannot_be_changed(site, verb):
    client, people = site(write_once=["role", "salary"])
    created = client.post("/people", json={**NEW, "salary": 7}).json
    body = {"name": "Bob", "role": "admin", "salary": 8}

    answer = getattr(client, verb)("/people/1", json=body)

    problem = "can't be changed"
    assert created["role"] == "user"
    assert answer.status_code == 400
    assert answer.json["errors"] == {"role": problem, "salary": problem}
    assert people.get(1) == created


@pytest.mark.parametrize("verb", ["patch", "put"])
@pytest.mark.parametrize(
    "body", [{}, {"role": "user"}, {"salary": "7"}, {"role": "user", "salary": 7}]
)
def test_unchanged_value_of_a_field_that_is_written_once_is_taken(site, verb, body):
    client, people = site(write_once=["role", "salary"])
    people.create({**NEW, "salary": 7})

    answer = getattr(client, verb)("/people/1", json={"name": "Bob", **body})

    assert answer.json["name"] == "Bob"
    assert people.get(1)["role"] == "user"
    assert people.get(1)["salary"] == 7


def test_field_that_is_written_once_cannot_be_changed_in_many(site):
    client, people = site(write_once=["role"])
    people.create([NEW, {**NEW, "role": "admin"}])

    answer = client.patch("/people", json={"role": "admin"})

    assert answer.json["errors"] == {"role": "can't be changed"}
    assert [record["role"] for record in people.find()] == ["user", "admin"]


def test_hooks_and_python_write_more_than_once(site):
    client, people = site(write_once=["role"])
    people.create(NEW)

    @people.before("patch")
    def demote(method, context):
        context.data.setdefault("role", "guest")

    answer = client.patch("/people/1", json={"name": "Bob"})

    assert answer.json["role"] == "guest"
    assert people.patch(1, {"role": "admin"})["role"] == "admin"
