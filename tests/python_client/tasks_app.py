"""An application whose records refer to each other, with classes for custom methods."""

from __future__ import annotations

import datetime as dt

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from pydantic import BaseModel
from sqlalchemy import ForeignKey
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService


class Base(DeclarativeBase):
    pass


class Task(Base):
    __tablename__ = "task"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]
    note: Mapped[str | None]
    dueAt: Mapped[dt.datetime | None]
    ownerId: Mapped[int | None] = mapped_column(ForeignKey("owner.id"))
    owner: Mapped[Owner | None] = relationship(back_populates="tasks")


class Owner(Base):
    __tablename__ = "owner"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    bornOn: Mapped[dt.date | None]
    tasks: Mapped[list[Task]] = relationship(back_populates="owner")


class Place(BaseModel):
    street: str
    zip: str | None = None


class Ring(BaseModel):
    times: int
    at: dt.datetime
    place: Place | None = None


class Rung(BaseModel):
    times: int
    until: dt.datetime
    places: list[Place]


class Weather(BaseModel):
    day: dt.date
    degrees: float


class Bell:
    events = ["rung"]

    def find(self, params):
        return [{"day": "2026-01-01", "degrees": 1.5}]

    def ring(self, data, params):
        place = data["place"]
        return {
            "times": data["times"],
            "until": data["at"] + dt.timedelta(hours=1),
            "places": [place] if place else [],
        }

    def hum(self, data, params):
        return data


records = FlaskRecords()
db = SQLAlchemy(model_class=Base)
options = {"paginate": {"default": 10, "max": 50}, "whitelist": ["$populate", "$null"]}
records.add("tasks", SQLAlchemyService(Task, **options), public=True)
owners = SQLAlchemyService(Owner, whitelist=["$populate"])
records.add("owners", owners, public=True)
records.add(
    "bells",
    Bell(),
    methods=["find", "ring", "hum"],
    schemas={"find": {"result": Weather}, "ring": {"data": Ring, "result": Rung}},
    public=True,
)


def create_app(url="sqlite://"):
    app = Flask("tasks")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    return app
