"""Stored values that Python can't read are errors of the server."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class Thing(Base):
    __tablename__ = "unreadable_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    day = mapped_column(sa.Date)
    clock = mapped_column(sa.Time)


@pytest.mark.parametrize(
    ("database", "value"), [("postgresql", "infinity"), ("sqlite", "soon")]
)
def test_call_that_reads_one_is_a_500(database_url, database, value):
    if sa.make_url(database_url).get_backend_name() != database:
        return

    records, db = FlaskRecords(), SQLAlchemy(model_class=Base)
    records.add("things", SQLAlchemyService(Thing), public=True)

    with served(db, records, database_url) as app:
        with app.app_context():
            statement = f"INSERT INTO unreadable_thing (id, day) VALUES (1, '{value}')"
            db.session.execute(sa.text(statement))
            db.session.commit()

        client = app.test_client()
        body = {"clock": "10:00:00"}
        answers = [
            client.get("/things"),
            client.patch("/things/1", json=body),
            client.delete("/things/1"),
        ]

    assert [each.status_code for each in answers] == [500] * 3
    assert not any(value in each.json["message"].split() for each in answers)
