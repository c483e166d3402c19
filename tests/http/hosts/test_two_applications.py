"""Calls of one application in hooks of another one in the same process."""

import pytest
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.realtime import Realtime

from ...databases import served
from ...models import Base, Room


@pytest.fixture
def records():
    records = FlaskRecords()
    records.add("rooms", SQLAlchemyService(Room), public=True)
    records.publish()(lambda event, record, context: ["anonymous"])
    return records


@pytest.fixture
def apps(records, tmp_path):
    db, realtime = SQLAlchemy(model_class=Base), Realtime(records)
    urls = [f"sqlite:///{tmp_path / name}" for name in ("here.db", "there.db")]

    with served(db, records, urls[0]) as here, served(db, records, urls[1]) as there:
        for app, name in ((here, "Here"), (there, "There")):
            realtime.init_app(app)
            app.test_client().post("/rooms", json={"name": name})
            app.socket = realtime.test_client(app)

        yield here, there


def names_in(app):
    return [room["name"] for room in app.test_client().get("/rooms").json]


@pytest.mark.parametrize("signal", ["before", "after"])
def test_call_of_another_application_reads_there(apps, records, signal):
    here, there = apps
    found = []

    def look(method, context):
        if context.params.provider is not None:
            with there.app_context():
                found.extend(records["rooms"].find())

    with getattr(records, signal).connected_to(look):
        assert names_in(here) == ["Here"]

    assert [room["name"] for room in found] == ["There"]


def test_call_of_another_application_is_committed_there(apps, records):
    here, there = apps

    def copy(method, context):
        if context.params.provider is not None:
            with there.app_context():
                records["rooms"].create({"name": "Copy"})

    with records.after.connected_to(copy, "create"):
        answer = here.test_client().post("/rooms", json={"name": "New"})

    assert answer.status_code == 201
    assert [names_in(app) for app in apps] == [["Here", "New"], ["There", "Copy"]]
    assert [[record["name"] for _, record in app.socket.events()] for app in apps] == [
        ["New"],
        ["Copy"],
    ]


def test_context_of_an_application_inside_of_its_call_is_refused(apps, records, caplog):
    here, _ = apps

    def copy(method, context):
        with here.app_context():
            records["rooms"].patch(1, {"name": "Old"})

    with records.after.connected_to(copy, "create"):
        answer = here.test_client().post("/rooms", json={"name": "New"})

    assert answer.status_code == 500
    assert "or the end of 'with app.app_context():'" in caplog.text
    assert names_in(here) == ["Here"]
