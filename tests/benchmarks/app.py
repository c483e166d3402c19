"""The application that is measured: messages for everybody, and the same for those who
have logged in, with hooks, tokens and events as in the example application.
"""

from __future__ import annotations

import datetime as dt
import logging

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

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

SECRET = "a-secret-of-the-benchmark-of-32-bytes"
PAGES = {"default": 10, "max": 1000}

logger = logging.getLogger(__name__)


class Base(DeclarativeBase):
    pass


class Room(Base):
    __tablename__ = "rooms"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), index=True)
    owner_id: Mapped[int] = mapped_column(sa.ForeignKey("users.id"))

    owner: Mapped[User] = relationship()
    messages: Mapped[list[Message]] = relationship(
        primaryjoin="foreign(Message.room_id) == Room.id", viewonly=True
    )


class Message(Base):
    __tablename__ = "messages"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.Text)
    read: Mapped[bool] = mapped_column(default=False)
    room_id: Mapped[int]
    user_id: Mapped[int]
    created_at: Mapped[dt.datetime]
    archived: Mapped[bool] = mapped_column(default=False)

    room: Mapped[Room] = relationship(
        primaryjoin="foreign(Message.room_id) == Room.id", viewonly=True
    )


class User(Base):
    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(200), unique=True)
    password: Mapped[str] = mapped_column(sa.String(200))


class Token(TokenMixin, Base):
    __tablename__ = "token"


db = SQLAlchemy(model_class=Base)
records = FlaskRecords()
realtime = Realtime(records)
authentication = records.add(
    "authentication", AuthenticationService(tokens=TableTokens(Token))
)
users = records.add(
    "users",
    SQLAlchemyService(User, paginate=PAGES, hidden=["password"]),
    public=["find", "get"],
    allow=dict.fromkeys(["update", "patch", "remove"], {"id": FromUser("id")}),
)
rooms = records.add(
    "rooms",
    SQLAlchemyService(
        Room, paginate=PAGES, relations=["messages"], whitelist=["$populate"]
    ),
    public=True,
)
messages = records.add(
    "messages",
    SQLAlchemyService(
        Message,
        paginate=PAGES,
        multi=True,
        relations=["room"],
        aggregates=["id", "room_id", "created_at"],
        whitelist=["$populate"],
    ),
    public=True,
)
secured = records.add("secured", SQLAlchemyService(Message, paginate=PAGES, multi=True))
users.before("create", "update", "patch")(hash_password("password"))


@messages.before("create", "update", "patch")
def check_text(method, context):
    """Stand for what applications look at before a write."""
    for message in context.bodies:
        message["text"] = message.get("text", "").strip()


@records.before()
@records.after()
def trace(method, context):
    """Stand for what applications do around every call."""
    logger.debug("%s %s", method, context.path)


@records.events()
def notice(event, record, context):
    """Stand for a receiver of every event."""
    logger.debug("%s %s", event, record["id"] if "id" in record else None)


def create_app(url):
    """Return the application over a database."""
    app = Flask(__name__)
    app.config.update(
        SQLALCHEMY_DATABASE_URI=url,
        # With a SECRET_KEY, Flask opens a session for each request.
        RECORDS_AUTHENTICATION={"secret": SECRET},
    )
    app.config.from_prefixed_env()
    db.init_app(app)
    records.init_app(app)
    realtime.init_app(app)

    with app.app_context():
        sa.event.listen(db.engine, "connect", prepare_sqlite)
        Base.metadata.create_all(db.engine)

    return app


def prepare_sqlite(connection, record):
    """Commit without waiting for the disk, as the other servers do."""
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA busy_timeout = 20000")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_mode = WAL")
