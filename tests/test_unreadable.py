"""A stored value that Python can't read takes no page away."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from .conftest import served

WARNING = "A stored value can't be read and is answered as null: "


class Base(DeclarativeBase):
    pass


class Thing(Base):
    __tablename__ = "unreadable_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    moment = mapped_column(sa.DateTime(timezone=True))
    day = mapped_column(sa.Date)
    clock = mapped_column(sa.Time)
    key = mapped_column(sa.Uuid)
    span = mapped_column(sa.Interval)
    kind = mapped_column(sa.Enum("a", "b", native_enum=False))


@pytest.fixture
def things(database_url):
    records, db = FlaskRecords(), SQLAlchemy(model_class=Base)
    service = SQLAlchemyService(Thing, paginate={"default": 10}, multi=True)
    records.add("things", service, public=True)

    with served(db, records, database_url) as app:
        with app.app_context():
            sa.event.listen(db.engine, "checkout", go_far_east)

        app.db = db
        client = app.test_client()
        client.post("/things", json={"day": "2026-01-01"})
        client.post("/things", json={"day": "2026-01-02"})
        yield client


def go_far_east(connection, *rest):
    if type(connection).__module__.startswith("psycopg"):
        connection.cursor().execute("SET SESSION TIME ZONE 'Asia/Tokyo'")


@pytest.mark.parametrize(
    ("database", "field", "value"),
    [
        ("postgresql", "moment", "9999-12-31 23:00:00+00"),
        ("postgresql", "moment", "infinity"),
        ("postgresql", "day", "infinity"),
        ("postgresql", "day", "0044-03-15 BC"),
        ("postgresql", "clock", "24:00:00"),
        ("sqlite", "moment", "soon"),
        ("sqlite", "day", "soon"),
        ("sqlite", "clock", "noon"),
        ("sqlite", "key", "me"),
        ("sqlite", "span", "long"),
    ],
)
@pytest.mark.parametrize("has_session", [False, True])
def test_it_is_answered_as_null(
    things, database_url, caplog, database, field, value, has_session
):
    if database != sa.make_url(database_url).get_backend_name():
        return

    db, before = things.application.db, things.get("/things/2").json

    with things.application.app_context():
        statement = f"UPDATE unreadable_thing SET {field} = '{value}' WHERE id = 1"
        db.session.execute(sa.text(statement))
        db.session.commit()

        if has_session:
            db.session.execute(sa.text("SELECT 1"))

        page = things.get(f"/things?{field}[$ne]=null")
        record = things.get("/things/1")
        other = things.get("/things/2")

    assert [each[field] for each in page.json["data"]][:1] == [None]
    assert record.json[field] is None
    assert other.json == before
    assert caplog.messages[0].startswith(WARNING)


@pytest.mark.parametrize(
    ("databases", "field", "value"),
    [
        (["postgresql"], "day", "infinity"),
        (["sqlite"], "day", "soon"),
        (["sqlite", "postgresql", "mariadb"], "kind", "c"),
    ],
)
def test_its_record_is_not_written(things, database_url, databases, field, value):
    if sa.make_url(database_url).get_backend_name() not in databases:
        return

    db, body = things.application.db, {"clock": "10:00:00"}

    with things.application.app_context():
        statement = f"UPDATE unreadable_thing SET {field} = '{value}' WHERE id = 1"
        db.session.execute(sa.text(statement))
        db.session.commit()

    refused = [things.patch("/things?id=1", json=body), things.delete("/things?id=1")]

    if field == "day":
        refused += [things.patch("/things/1", json=body), things.delete("/things/1")]

    message = "The record has a stored value that can't be read."
    answers = {(each.status_code, each.json["message"]) for each in refused}
    assert answers == {(409, message)}
    assert things.get("/things/1").json["clock"] is None


def test_values_are_read_as_ever_on_the_same_connection(things, database_url):
    if not database_url.startswith("postgresql"):
        return

    db = things.application.db

    with things.application.app_context():
        db.session.execute(sa.text("UPDATE unreadable_thing SET day = 'infinity'"))
        db.session.commit()
        things.get("/things")

        with pytest.raises(sa.exc.DataError):
            db.session.execute(sa.select(Thing.day)).all()
