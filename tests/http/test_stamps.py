"""Hooks that stamp records with the time of the call."""

from __future__ import annotations

import datetime as dt

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, set_now, SQLAlchemyService

from ..databases import served

LONG_AGO = dt.datetime(2001, 2, 3, 4, 5, 6)


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "note"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(20))
    createdAt: Mapped[dt.datetime]
    updatedAt: Mapped[dt.datetime] = mapped_column(sa.DateTime(timezone=True))
    day: Mapped[dt.date]
    hour: Mapped[dt.time]


class Clock:
    """A service of no model."""

    def create(self, data, params):
        return data


@pytest.fixture
def records():
    records = FlaskRecords()
    service = SQLAlchemyService(Note, multi=True, readonly=["createdAt"])
    notes = records.add("notes", service, public=True)
    notes.before("create")(set_now("createdAt", "day", "hour"))
    notes.before("create", "update", "patch")(set_now("updatedAt"))
    records.add("clock", Clock(), public=True).before()(set_now("at"))
    return records


@pytest.fixture
def app(records, database_url):
    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        yield app


def is_now(text):
    moment = dt.datetime.fromisoformat(text)
    return abs(dt.datetime.now(dt.UTC) - moment) < dt.timedelta(minutes=5)


def test_client_gets_the_time_whatever_it_sends(client):
    body = {"text": "hi", "updatedAt": LONG_AGO.isoformat(), "createdAt": "2001-02-03"}
    answer = client.post("/notes", json=body)

    assert answer.status_code == 201
    assert is_now(answer.json["createdAt"])
    assert is_now(answer.json["updatedAt"])
    assert answer.json["day"][:3] == "202"
    assert answer.json["hour"].count(":") == 2


@pytest.mark.parametrize("verb", ["put", "patch"])
def test_changes_set_the_time_of_the_change_only(client, records, app, verb):
    with app.app_context():
        moments = dict.fromkeys(["createdAt", "updatedAt"], LONG_AGO)
        records["notes"].create({"text": "old", **moments})

    note = client.get("/notes/1").json
    changed = getattr(client, verb)("/notes/1", json={**note, "text": "new"}).json

    assert changed["createdAt"] == note["createdAt"] == "2001-02-03T04:05:06.000Z"
    assert is_now(changed["updatedAt"])
    assert changed["text"] == "new"


def test_columns_of_other_types_are_refused(records, client, app, caplog):
    with records["notes"].before.connected_to(set_now("text"), "create"):
        answer = client.post("/notes", json={"text": "hi"})

    assert answer.json["message"] == "Internal server error"
    assert "'set_now' names 'text'" in caplog.text
