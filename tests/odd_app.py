"""An application with odd services, for the explorer: objects without schemas, without
identifiers or with unusual ones, and with names that mean something in JavaScript.
"""

from __future__ import annotations

import os
import typing as t

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords
from flask_records import NotFound
from flask_records import SQLAlchemyService
from flask_records.explorer import Explorer
from flask_records.realtime import Realtime

NAMES = ["a/b", "ö", "a b", "?", "#", "%2F", ".", "", "<b>", "__proto__", "constructor"]


class Base(DeclarativeBase):
    pass


class Mark(Base):
    """A mark of a student, whose key has two columns."""

    __tablename__ = "mark"

    student: Mapped[int] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(sa.String(50), primary_key=True)
    isGood: Mapped[bool | None]


class Builtin(Base):
    """A record whose fields are named as those of each object of JavaScript."""

    __tablename__ = "builtin"

    id: Mapped[int] = mapped_column(primary_key=True)
    constructor: Mapped[str | None] = mapped_column(sa.String(50))
    toString: Mapped[str | None] = mapped_column(sa.String(50))


class Words:
    """Records without a schema, with identifiers of all sorts."""

    id = "name"

    def find(self, params: t.Any) -> t.Any:
        return [{"name": name, "length": len(name)} for name in NAMES]

    def get(self, id: t.Any, params: t.Any) -> t.Any:
        if id not in NAMES:
            raise NotFound(f"There is no word {id!r}.")

        return {"name": id, "length": len(id)}


class Lines:
    """Records without identifiers and pages, and with different fields."""

    def find(self, params: t.Any) -> t.Any:
        lines = [{"text": f"Line {number}"} for number in range(10_000)]
        return [{"constructor": "x", "__proto__": None}, {}, *lines]


class Status:
    """One record in place of a list."""

    def find(self, params: t.Any) -> t.Any:
        return {"state": "well", "queue": {"length": 3}}


class Clock:
    """A service that has get alone."""

    def get(self, id: t.Any, params: t.Any) -> t.Any:
        return {"zone": id, "data": 12}


class Outbox:
    """A service that takes records, and shows none."""

    def create(self, data: t.Any, params: t.Any) -> t.Any:
        return None


class Bell:
    """A service that has a custom method alone."""

    def ring(self, data: t.Any, params: t.Any) -> t.Any:
        return {"rung": data}


class Notes:
    """The notes of one user, who is named in the path."""

    def find(self, params: t.Any) -> t.Any:
        return [{"id": 1, "of": params.route["user_id"]}]

    def get(self, id: t.Any, params: t.Any) -> t.Any:
        return {"id": int(id), "of": params.route["user_id"]}

    def create(self, data: t.Any, params: t.Any) -> t.Any:
        return {"id": 2, "of": params.route["user_id"]}

    def count(self, data: t.Any, params: t.Any) -> t.Any:
        return {"of": params.route["user_id"]}


def create_app() -> Flask:
    """Return the application, with records of its own."""
    app = Flask("odd")
    app.config["SQLALCHEMY_DATABASE_URI"] = os.environ.get("DATABASE_URL", "sqlite://")
    app.config["RECORDS_EXPLORER"] = {"enabled": True}
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords(url_prefix="/api")
    records.add("marks", SQLAlchemyService(Mark, multi=True), public=True)
    builtins = SQLAlchemyService(Builtin, paginate={"default": 10, "max": 50})
    records.add("built/ins", builtins, public=True)

    unnamed = SQLAlchemyService(Builtin, hidden=["id"], multi=True)
    records.add("unnamed", unnamed, public=True)

    for path, service in (
        ("words", Words()),
        ("lines", Lines()),
        ("status", Status()),
        ("clock", Clock()),
        ("outbox", Outbox()),
    ):
        records.add(path, service, public=True)

    methods = ["find", "get", "create", "count"]
    records.add("users/<user_id>/notes", Notes(), methods=methods, public=True)
    records.add("bell", Bell(), methods=["ring"], public=True)
    records.init_app(app)
    Explorer(records).init_app(app)

    if os.environ.get("SOCKETS"):
        Realtime(records, app)

    with app.app_context():
        db.create_all()
        db.session.add_all(
            [
                Mark(student=1, subject="math", isGood=True),
                Mark(student=1, subject="a,b/c", isGood=None),
                Builtin(constructor="A", toString="B"),
                Builtin(),
            ]
        )
        db.session.commit()

    return app
