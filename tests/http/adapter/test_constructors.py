"""Constructors that take a related record get it by the foreign key of the body."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    mapped_column,
    MappedAsDataclass,
    relationship,
)

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.openapi import document

from ...databases import served


class Base(DeclarativeBase):
    pass


class Team(MappedAsDataclass, Base):
    __tablename__ = "constructor_team"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(sa.String(20))


class Member(MappedAsDataclass, Base):
    __tablename__ = "constructor_member"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(sa.String(20))
    teamId: Mapped[int] = mapped_column(sa.ForeignKey(Team.id), init=False)
    team: Mapped[Team] = relationship()


class Guest(MappedAsDataclass, Base):
    __tablename__ = "constructor_guest"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    teamId: Mapped[int | None] = mapped_column(sa.ForeignKey(Team.id), init=False)
    label: Mapped[str] = mapped_column(sa.String(20), init=False)
    team: Mapped[Team | None] = relationship()

    def __init__(self, team):
        self.team = team
        self.label = "alone" if team is None else team.name


class Job(Base):
    __tablename__ = "constructor_job"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))
    kind: Mapped[str | None] = mapped_column(sa.String(20))

    __mapper_args__ = {"polymorphic_on": kind, "polymorphic_identity": "job"}

    def __init__(self, name):
        self.name = f"job {name}"


class LongJob(Job):
    """Has the constructor of its base."""

    __mapper_args__ = {"polymorphic_identity": "long"}


@pytest.fixture
def client(database_url):
    records = FlaskRecords()

    models = {"teams": Team, "members": Member, "guests": Guest, "jobs": LongJob}

    for name, model in models.items():
        service = SQLAlchemyService(model, multi=True)
        records.add(name, service, public=True)

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        client = app.test_client()
        client.post("/teams", json=[{"name": "A"}, {"name": "B"}])
        yield client


def test_a_related_record_is_found_by_its_key(client):
    body = [{"name": "Ann", "teamId": 1}, {"name": "Bo", "teamId": 2}]

    made = client.post("/members", json=body)

    assert (made.status_code, [each["teamId"] for each in made.json]) == (201, [1, 2])
    assert client.post("/guests", json={"teamId": 2}).json["label"] == "B"


def test_a_key_of_no_record_is_a_conflict(client):
    refused = client.post("/members", json={"name": "Ann", "teamId": 9})

    assert refused.status_code == 409
    assert refused.json["errors"] == {"teamId": "refers to a record that is not there"}


def test_the_key_is_required_where_the_record_is(client):
    refused = client.post("/members", json={"name": "Ann"})

    assert refused.json["errors"] == {"teamId": "is required"}
    assert client.post("/members", json={"name": "A", "team": {}}).status_code == 400


def test_no_record_is_given_where_the_key_is_null(client):
    assert client.post("/guests", json={"teamId": None}).json["label"] == "alone"


def test_a_class_may_inherit_its_constructor(client):
    refused = client.post("/jobs", json={})

    assert refused.json["errors"] == {"name": "is required"}
    assert client.post("/jobs", json={"name": "A"}).json["name"] == "job A"


def test_documents_require_what_the_constructor_requires(client):
    with client.application.app_context():
        schemas = document()["components"]["schemas"]

    assert schemas["JobsCreate"]["required"] == ["name"]
    assert schemas["JobsUpdate"]["required"] == []
