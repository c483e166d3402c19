"""An application for several processes at once, with events for teams.

Users may see the items of their team, and notes are published to the team. Users in the
team ``all`` get all events.
"""

from __future__ import annotations

import os
import time

import click
import sqlalchemy as sa
from flask import Flask
from flask.cli import with_appcontext
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    FromUser,
    hash_password,
    SQLAlchemyService,
    TableTokens,
    TokenMixin,
)
from flask_records.realtime import Realtime

TEAMS = ("red", "blue")
PASSWORD = "correct horse battery"


class Base(DeclarativeBase):
    __table_args__ = {"sqlite_autoincrement": True}


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str] = mapped_column(sa.String(200))
    team: Mapped[str] = mapped_column(sa.String(10))


class Versioned:
    """A record whose version increases with each write."""

    id: Mapped[int] = mapped_column(primary_key=True)
    team: Mapped[str] = mapped_column(sa.String(10))
    text: Mapped[str] = mapped_column(sa.String(100))
    version: Mapped[int]
    worker: Mapped[int] = mapped_column(default=0)
    """The process that wrote it last."""


class Item(Versioned, Base):
    __tablename__ = "item"


class Note(Versioned, Base):
    __tablename__ = "note"


class Token(TokenMixin, Base):
    __tablename__ = "token"


class Processes:
    """The id of the process that answers."""

    def find(self, params):
        return [{"id": os.getpid()}]


class Naps:
    """Takes as many seconds as the data tells."""

    def find(self, params):
        time.sleep(float(params.query["seconds"]))
        return ["awake"]


class Pads:
    """Returns the data of a create, and finds 6 MB."""

    def find(self, params):
        return ["x" * 1_000_000] * 6

    def create(self, data, params):
        return data


def create_app():
    db = SQLAlchemy(model_class=Base)
    everything = dict.fromkeys(["update", "patch", "remove"], True)
    records = FlaskRecords(app_errors=True, allow=everything)
    realtime = Realtime(records)
    add_services(db, records)
    service = SQLAlchemyService(Item, multi=True)
    items = records.add("items", service, readable=readable)
    notes = records.add("notes", SQLAlchemyService(Note, multi=True))
    notes.publish()(lambda event, record, context: record["team"])

    for service in (items, notes):
        service.before("create", "patch", "remove")(raising_version(db))

    @realtime.connections("login")
    def join_team(event, connection):
        team = connection.user["team"]
        connection.join(*(TEAMS if team == "all" else [team]))

    app = Flask("tests.realtime_app")
    app.config.from_mapping(
        SECRET_KEY="s" * 32,
        SQLALCHEMY_DATABASE_URI=os.environ["DATABASE_URL"],
        RECORDS_AUTHENTICATION={"passwords": {"memory": 64, "passes": 1}},
        RECORDS_REALTIME={
            "message_queue": os.environ.get("REDIS_URL") or None,
            "channel": os.environ.get("CHANNEL", "tests"),
            "stream": "sse",
            "legacy_clients": True,
            "max_connections": 2000,
            "max_connections_per_address": 2000,
            "max_connections_per_user": 2000,
            "max_unsent": int(os.environ.get("MAX_UNSENT", 1 << 20)),
        },
    )
    db.init_app(app)
    records.init_app(app)
    realtime.init_app(app)
    app.extensions["tests_realtime"] = realtime
    add_commands(app, db, records)
    return app


def create_asgi_app():
    app = create_app()
    return app.extensions["tests_realtime"].asgi(app)


def add_services(db, records):
    users = records.add(
        "users",
        SQLAlchemyService(User, hidden=["password"]),
        allow=dict.fromkeys(["update", "patch", "remove"], {"id": FromUser("id")}),
        public=["create"],
    )
    users.before("create", "update", "patch")(hash_password())
    records.add("authentication", AuthenticationService(tokens=TableTokens(Token)))
    records.add("processes", Processes(), public=True)
    records.add("naps", Naps(), public=True)
    pads = records.add("pads", Pads())
    pads.publish()(lambda event, record, context: "authenticated")


def readable(user):
    if user is None:
        return {"team": None}

    return True if user["team"] == "all" else {"team": user["team"]}


def raising_version(db):
    def hook(method, context):
        if method == "create":
            for record in context.bodies:
                record |= {"version": 1, "worker": os.getpid()}

            return

        # The row is locked until the commit.
        model = context.service.target.model
        mine = model.id == int(context.id)
        values = {"version": model.version + 1, "worker": os.getpid()}
        db.session.execute(sa.update(model).where(mine).values(values))

        if method == "patch":
            version = db.session.scalar(sa.select(model.version).where(mine))
            context.data["version"] = version

    return hook


def add_commands(app, db, records):
    @app.cli.command("prepare")
    @click.argument("teams", nargs=-1)
    @with_appcontext
    def prepare(teams):
        """Make the tables, and a user of each of the teams."""
        db.create_all()

        for number, team in enumerate(teams):
            user = {"email": f"{number}@example.com", "password": PASSWORD}
            records["users"].create({**user, "team": team})

    @app.cli.command("create")
    @click.argument("path")
    @click.argument("team")
    @click.argument("text")
    @with_appcontext
    def create(path, team, text):
        """Create a record."""
        records[path].create({"team": team, "text": text})
