"""Identifiers made of the columns of a primary key."""

from __future__ import annotations

from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    mapped_column,
    relationship,
    validates,
)

from flask_records import FlaskRecords, NotFound, Params, SQLAlchemyService

from ..databases import serving_models


class Base(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Student(Base):
    __tablename__ = "student"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    enrolments: Mapped[list[Enrolment]] = relationship(
        back_populates="student", order_by="Enrolment.course.desc()"
    )


class Enrolment(Base):
    __tablename__ = "enrolment"

    studentId: Mapped[int] = mapped_column(
        sa.ForeignKey("student.id"), primary_key=True
    )
    course: Mapped[str] = mapped_column(sa.String(20), primary_key=True)
    grade: Mapped[int | None]
    student: Mapped[Student] = relationship(back_populates="enrolments")


class Seat(Base):
    """The same by the unit of work."""

    __tablename__ = "keyed_seat"

    studentId: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    course: Mapped[str] = mapped_column(sa.String(20), primary_key=True)
    grade: Mapped[int | None]

    @validates("grade")
    def check(self, name, value):
        return value


@pytest.fixture(scope="module")
def app(module_url):
    models = {"students": Student, "enrolments": Enrolment, "seats": Seat}
    options = {"multi": True, "whitelist": ["$populate", "$null", "$like", "$not"]}
    services = {path: SQLAlchemyService(models[path], **options) for path in models}
    services["keyed"] = SQLAlchemyService(Enrolment, id="_key")

    with serving_models(module_url, services) as client:
        yield client.application


@pytest.fixture
def client(app):
    client = app.test_client()

    for path in ("enrolments", "seats", "students"):
        client.delete(f"/{path}")

    return client


@pytest.fixture
def student(client):
    return client.post("/students", json={"name": "Ann"}).json["id"]


@pytest.fixture(params=["enrolments", "seats"])
def path(request):
    return f"/{request.param}"


def test_record_is_found_by_the_parts_of_its_key(client, student, path):
    math = {"id": f"{student},math", "studentId": student, "course": "math", "grade": 1}
    body = {name: value for name, value in math.items() if name != "id"}
    record = f"{path}/{student},math"
    created = client.post(path, json=body)

    assert (created.status_code, created.json) == (201, math)
    assert client.post(path, json=body).status_code == 409
    assert client.get(record).json == math
    assert client.get(f"{path}/{quote(math['id'], safe='')}").json == math
    assert client.patch(record, json={"grade": 2}).json == math | {"grade": 2}
    assert client.put(record, json={"grade": 3}).json == math | {"grade": 3}
    assert client.put(record, json={}).json == math | {"grade": None}
    assert client.get(f"{record}?$select=grade").json == math | {"grade": None}
    assert client.get(f"{record}?grade=9").status_code == 404
    assert client.delete(record).json == math | {"grade": None}
    assert client.get(record).status_code == 404


@pytest.mark.parametrize(
    "course",
    ["", "é 🙂", *r""", ~ ~~ a%2Cb %2C a%b %zz ../x [ [1] " % \ null""".split()],
)
def test_any_characters_of_a_part_are_found(client, student, path, course):
    created = client.post(path, json={"studentId": student, "course": course}).json

    assert client.get(f"{path}/{quote(created['id'], safe='')}").json == created
    assert client.get(path, query_string={"id": created["id"]}).json == [created]


@pytest.mark.parametrize(
    "id",
    [
        *("1", ",", "1,math,2", "x,math", "null,math", '[1,"math"]', "{}"),
        "9" * 20 + ",math",
    ],
)
def test_other_identifiers_name_no_record(client, id):
    path = f"/enrolments/{quote(id, safe='')}"

    assert client.get(path).status_code == 404
    assert client.patch(path, json={}).status_code == 404
    assert client.delete(path).status_code == 404


@pytest.fixture
def three(client, student):
    """Three records of a student, by course."""
    bodies = [
        {"studentId": student, "course": course, "grade": grade}
        for grade, course in enumerate("bca")
    ]
    created = client.post("/enrolments", json=bodies)
    assert created.status_code == 201
    return {record["course"]: record for record in created.json}


@pytest.mark.parametrize(
    ("query", "courses"),
    [
        ("id={a}", "a"),
        ("id[$in][]={a}&id[$in][]={c}&$sort[id]=1", "ac"),
        ("id[$in][]=0,x", ""),
        ("id[$nin][]={a}&$sort[id]=-1", "cb"),
        ("id[$ne]={b}&$sort[id]=1", "ac"),
        ("id[$not][$in][]={a}&$sort[course]=1", "bc"),
        ("$or[0][id]={a}&$or[1][grade]=0&$sort[id]=-1", "ba"),
        ("$sort[id]=1", "abc"),
        ("$sort[id]=-1&$limit=1&$skip=1", "b"),
        ("id[$null]=true", ""),
        ("id[$null]=false&$sort[id]=1", "abc"),
        ("id[$in][]={a}&grade=2", "a"),
    ],
)
def test_identifier_is_a_field_of_queries(client, three, query, courses):
    query = query.format(**{course: three[course]["id"] for course in three})

    found = client.get(f"/enrolments?{query}")

    assert found.json == [three[course] for course in courses]


@pytest.mark.parametrize(
    "query",
    [
        *("id=1", "id=", "id=x,y", "id[$in][]=1", "id[$gt]=1,a", "id[$lt]=1,a"),
        *("id[$like]=1", "id[a]=1", "id=[1"),
    ],
)
def test_query_of_no_identifier_is_refused(client, query):
    response = client.get(f"/enrolments?{query}")

    assert (response.status_code, list(response.json["errors"])) == (400, ["id"])


@pytest.mark.parametrize("verb", ["put", "patch"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("course", "A"), ("course", None), ("studentId", "x"), ("id", "0,a"), ("id", [])],
)
def test_body_can_not_change_the_identifier(client, three, verb, name, value):
    path = f"/enrolments/{three['a']['id']}"
    body = {"grade": 7, name: value}

    response = getattr(client, verb)(path, json=body)

    assert response.status_code == 400
    assert response.json["errors"] == {name: "is read-only"}
    assert client.get(path).json == three["a"]


def test_identifier_of_a_new_record_is_made_of_its_fields(client, student):
    body = {"studentId": student, "course": "a"}

    assert client.post("/enrolments", json=body | {"id": "1,a"}).json["errors"] == {
        "id": "is read-only"
    }
    assert client.post("/enrolments", json=body | {"id": None}).status_code == 201
    assert client.post("/enrolments", json={"course": "a"}).json["errors"] == {
        "studentId": "is required"
    }


def test_identifier_has_the_name_of_the_option(client, three):
    a = three["a"]
    key = a["id"]
    record = {"_key": key} | {name: a[name] for name in a if name != "id"}

    assert client.get(f"/keyed/{key}").json == record
    assert client.get(f"/keyed?_key={key}").json == [record]
    assert client.get("/keyed?id=1,a").status_code == 400


def test_calls_in_python_take_a_tuple(app, client, three):
    service = app.extensions["records"]["enrolments"]
    record = three["a"]
    key = (record["studentId"], "a")

    with app.app_context():
        assert service.get(key) == service.get(list(key)) == record
        assert service.get(record["id"]) == record
        assert service.patch(key, {"grade": 5})["grade"] == 5
        assert service.find(Params({"id": record["id"]}))[0]["course"] == "a"
        assert service.remove(key)["id"] == record["id"]

        with pytest.raises(NotFound):
            service.get(key)


def test_misspelt_identifier_does_not_start():
    message = (
        "'id' names 'cuorse', which is not a field of 'Enrolment'. Its fields are:"
        " studentId, course, grade."
    )
    records = FlaskRecords()
    records.add("enrolments", SQLAlchemyService(Enrolment, id="cuorse"), public=True)

    with pytest.raises(ValueError, match=message):
        records.init_app(Flask("tests"))
