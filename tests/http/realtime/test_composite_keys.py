"""Identifiers made of several columns, over a socket."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

from flask_records import SQLAlchemyService

from ...authentication import ANN
from ...realtime import in_memory, make_live_records


class Base(DeclarativeBase):
    pass


class Seat(Base):
    __tablename__ = "keyed_seat"

    studentId: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    course: Mapped[str] = mapped_column(sa.String(20), primary_key=True)
    grade: Mapped[int | None]


@pytest.fixture
def site(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'own.db'}")
    Base.metadata.create_all(engine)
    records = make_live_records()
    seats = SQLAlchemyService(Seat, session=sessionmaker(engine))
    records.add("seats", seats)
    records.add("others", seats, readable=lambda user: {"id": {"$ne": "2,a"}})

    with in_memory(records, tmp_path) as site:
        yield site

    engine.dispose()


def test_calls_take_text_or_a_list(site):
    ann = site.connect(ANN)
    seat = {"id": "1,a", "studentId": 1, "course": "a", "grade": None}

    assert ann.result("create", "seats", {"studentId": 1, "course": "a"}) == seat
    assert ann.result("get", "seats", "1,a") == seat
    assert ann.result("get", "seats", [1, "a"]) == seat
    assert ann.result("find", "seats", {"id": {"$in": ["1,a"]}}) == [seat]
    assert ann.result("remove", "seats", [1, "a"]) == seat
    assert ann.names() == ["seats created", "seats removed"]
    assert ann.error("get", "seats", {"a": 1})[0] == 404
    assert ann.error("get", "seats", [1])[0] == 404


def test_rule_of_the_identifier_holds_for_events(site):
    ann = site.connect(ANN)

    with site.app.app_context():
        for number in (1, 2):
            site.records["others"].create({"studentId": number, "course": "a"})

    assert [record["id"] for _, record in ann.events()] == ["1,a"]
    assert ann.error("get", "others", "2,a")[0] == 404
    assert ann.result("get", "seats", "2,a")["id"] == "2,a"
