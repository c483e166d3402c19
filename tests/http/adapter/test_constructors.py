"""Constructors that take a related record get it by the foreign key of the body."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    mapped_column,
    MappedAsDataclass,
    relationship,
    validates,
)

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.openapi import document

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


class Strict(sa.TypeDecorator):
    """A text that other programs may store in another form."""

    impl, cache_ok = sa.String(20), True

    def process_result_value(self, value, dialect):
        assert value != "?"
        return value


class Team(MappedAsDataclass, Base):
    __tablename__ = "constructor_team"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(Strict)


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


class Fan(Base):
    """Sets each relationship, and has arguments that it does not check."""

    __tablename__ = "constructor_fan"

    id: Mapped[int] = mapped_column(primary_key=True)
    teamId: Mapped[int | None] = mapped_column(sa.ForeignKey(Team.id))
    name: Mapped[str | None] = mapped_column(sa.String(20))
    leaderId: Mapped[int | None] = mapped_column(sa.ForeignKey("constructor_fan.id"))
    team: Mapped[Team | None] = relationship()
    leader: Mapped[Fan | None] = relationship(
        remote_side=id, back_populates="led", post_update=True
    )
    led: Mapped[list[Fan]] = relationship(back_populates="leader", post_update=True)

    def __init__(self, name="A", friend=None, teamId=None):
        # As in a class of a public package, one argument is for nothing.
        self.name = name.strip()
        self.team = friend

    @validates("teamId")
    def check(self, name, value):
        assert value != 13
        return value


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
    models = {"teams": Team, "members": Member, "guests": Guest, "fans": Fan}

    with serving_models(database_url, models | {"jobs": LongJob}) as client:
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


def test_a_related_record_that_can_not_be_read_is_a_400(client, caplog):
    with client.application.app_context(), client.db.engine.begin() as connection:
        connection.execute(sa.text("UPDATE constructor_team SET name = '?'"))

    refused = client.post("/guests", json={"teamId": 2})

    text = "The data is not valid."
    assert (refused.status_code, refused.json["message"]) == (400, text)
    assert "AssertionError" in caplog.text


def test_the_key_is_required_where_the_record_is(client):
    refused = client.post("/members", json={"name": "Ann"})

    assert refused.json["errors"] == {"teamId": "is required"}
    assert client.post("/members", json={"name": "A", "team": {}}).status_code == 400


def test_no_record_is_given_where_the_key_is_null(client):
    assert client.post("/guests", json={"teamId": None}).json["label"] == "alone"


def test_a_relationship_without_record_leaves_the_key(client):
    assert client.post("/fans", json={"teamId": 2}).json["teamId"] == 2


def test_what_the_code_of_a_model_raises_is_a_400(client, caplog):
    """The client may have sent what nobody thought of."""
    made = client.post("/fans", json={"name": None})
    set_by = client.post("/fans", json=[{"teamId": 2}, {"teamId": 13}])

    assert (made.status_code, made.json["message"]) == (400, "The data is not valid.")
    assert set_by.json["message"] == "'1.teamId' is not valid."
    assert set_by.json["errors"] == {"1.teamId": "is not valid"}
    assert "AttributeError" in caplog.text and "AssertionError" in caplog.text


def test_a_record_that_refers_to_itself_is_removed_with_post_update(client):
    client.post("/fans", json=[{}, {}])
    client.patch("/fans/1", json={"leaderId": 1})
    client.patch("/fans/2", json={"leaderId": 1})

    removed = client.delete("/fans/1").status_code
    leaders = [each["leaderId"] for each in client.get("/fans").json]

    assert (removed, leaders) == (200, [None])


def test_an_argument_that_no_body_names_is_refused_at_the_start():
    class Sealed(DeclarativeBase):
        pass

    class Letter(Sealed):
        __tablename__ = "letter"
        id: Mapped[int] = mapped_column(primary_key=True)

        def __init__(self, stamp):
            self.stamp = stamp

    records, service = FlaskRecords(), SQLAlchemyService(Letter)
    records.add("letters", service, public=True)

    with pytest.raises(ValueError, match="needs 'stamp', which no body can name"):
        service.check(Flask("sealed"))

    service.check(Flask("sealed"), ["find"])


def test_a_class_may_inherit_its_constructor(client):
    refused = client.post("/jobs", json={})

    assert refused.json["errors"] == {"name": "is required"}
    assert client.post("/jobs", json={"name": "A"}).json["name"] == "job A"


def test_documents_require_what_the_constructor_requires(client):
    with client.application.app_context():
        schemas = document()["components"]["schemas"]

    assert schemas["JobsCreate"]["required"] == ["name"]
    assert schemas["JobsUpdate"]["required"] == []
