"""An application with people, some of whose fields are computed."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords, SQLAlchemyService

from ..databases import served


class Base(DeclarativeBase):
    pass


class Team(Base):
    __tablename__ = "team"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    first: Mapped[str] = mapped_column(sa.String(20))
    last: Mapped[str] = mapped_column(sa.String(20))
    secret: Mapped[str | None] = mapped_column(sa.String(20))
    teamId: Mapped[int | None] = mapped_column(sa.ForeignKey("team.id"))
    team: Mapped[Team | None] = relationship()


@pytest.fixture
def open_app():
    """A function that opens an app with people whose options are given."""
    opened = []

    def open(*, teams=(), **options):
        db, records = SQLAlchemy(model_class=Base), FlaskRecords()
        options = {"hidden": ["secret"], "multi": True, **options}
        people = SQLAlchemyService(Person, **options)
        people = records.add("people", people, public=True)
        records.add("teams", SQLAlchemyService(Team, **dict(teams)), public=True)
        opened.append(served(db, records, "sqlite://"))
        app = opened[-1].__enter__()

        with app.app_context():
            people.create({"first": "Ann", "last": "Lee", "secret": "x"})
            people.create({"first": "Bob", "last": "Ray"})

        return app.test_client(), people

    yield open

    for each in opened:
        each.__exit__(None, None, None)
