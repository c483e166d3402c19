"""The example application: users who log in and write messages in rooms."""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import sys
import time
import typing as t
from contextlib import suppress

import sqlalchemy as sa
from flask import current_app, Flask, render_template
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_sqlalchemy import SQLAlchemy
from pydantic import BaseModel, Field
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import (
    AuthenticationService,
    Conflict,
    FlaskRecords,
    FromUser,
    hash_password,
    HookContext,
    set_user_field,
    SQLAlchemyService,
    TableTokens,
    TokenMixin,
)
from flask_records.accounts import AccountManagement, Mail
from flask_records.explorer import Explorer
from flask_records.realtime import Realtime


class Base(DeclarativeBase):
    # Without these, SQLite reuses ids of removed records, and MariaDB ignores case.
    __table_args__: t.Any = {
        "sqlite_autoincrement": True,
        "mariadb_collate": "utf8mb4_bin",
    }


# MariaDB keeps fractions of a second only in columns that define them.
Moment = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def now() -> dt.datetime:
    """Return the time in UTC, as the columns store it."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


class User(Base):
    """A person who writes messages."""

    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    # Users of an OAuth provider may have no email, and no password.
    email: Mapped[str | None] = mapped_column(sa.String(254), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(255))
    name: Mapped[str | None] = mapped_column(sa.String(100))
    avatar: Mapped[str | None] = mapped_column(
        sa.String(500), default="/static/avatar.svg"
    )
    githubId: Mapped[str | None] = mapped_column(sa.String(255), unique=True)
    googleId: Mapped[str | None] = mapped_column(sa.String(255), unique=True)
    createdAt: Mapped[dt.datetime] = mapped_column(Moment, default=now)


class Room(Base):
    """A place for messages."""

    __tablename__ = "room"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(100))
    userId: Mapped[int | None] = mapped_column(
        sa.ForeignKey(User.id, ondelete="SET NULL"), index=True
    )


class Message(Base):
    """A text that a user has written in a room."""

    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(10_000))
    read: Mapped[bool] = mapped_column(default=False)
    archived: Mapped[bool] = mapped_column(default=False)
    roomId: Mapped[int | None] = mapped_column(
        sa.ForeignKey(Room.id, ondelete="CASCADE"), index=True
    )
    userId: Mapped[int | None] = mapped_column(
        sa.ForeignKey(User.id, ondelete="CASCADE"), index=True
    )
    createdAt: Mapped[dt.datetime] = mapped_column(Moment, default=now, index=True)

    room: Mapped[Room | None] = relationship()
    user: Mapped[User | None] = relationship()


class Token(TokenMixin, Base):
    """A token that was sent by mail for a forgotten password, or a mark of tokens that
    a logout has revoked.
    """

    __tablename__ = "token"


db = SQLAlchemy(model_class=Base)
limiter = Limiter(get_remote_address)
records = FlaskRecords(app_errors=True, limiter=limiter)
realtime = Realtime(records)
explorer = Explorer(records)


Email = t.Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")]


class UserData(BaseModel):
    """A user, as clients change it."""

    email: Email | None = None
    password: str | None = None
    name: str | None = None
    avatar: str | None = None


class NewUser(UserData):
    """A user who registers."""

    email: Email
    password: str


PAGES: t.Final = {"default": 10, "max": 50}

# Users who are logged in see all users, rooms and messages, and change their own.
WRITES: t.Final = ("update", "patch", "remove")
ME: t.Final = dict.fromkeys(WRITES, {"id": FromUser("id")})
OWN: t.Final = dict.fromkeys(WRITES, {"userId": FromUser("id")})

authentication = AuthenticationService(normalize=str.lower, tokens=TableTokens(Token))
records.add("authentication", authentication)
users = records.add(
    "users",
    SQLAlchemyService(
        User,
        paginate=PAGES,
        hidden=["password"],
        readonly=["githubId", "googleId", "createdAt"],
    ),
    schemas={"create": NewUser, "update": UserData, "patch": UserData},
    allow=ME,
    public=["create"],
)
rooms = records.add("rooms", SQLAlchemyService(Room, paginate=PAGES), allow=OWN)
messages = records.add(
    "messages",
    SQLAlchemyService(
        Message,
        paginate=PAGES,
        multi=["create", "patch", "remove"],
        whitelist=["$and", "$search", "$populate"],
        readonly=["createdAt"],
    ),
    allow=OWN,
)


def print_link(mail: Mail) -> None:
    """Print the link of a mail, since the example sends none."""
    if mail.token:
        print(f"Mail to {mail.address}: /#reset={mail.token}", file=sys.stderr)


accounts = AccountManagement(authentication, send=print_link, verified=None)
records.add("authManagement", accounts, public=["create"])

users.before("create", "update", "patch")(hash_password("password"))

for service in (rooms, messages):
    service.before("create", "update", "patch")(set_user_field("userId"))


@messages.before("create")
def mark_unread(method: str, context: HookContext) -> None:
    """Let new messages be unread, whatever the client sends."""
    for body in context.bodies:
        body["read"] = False


@users.after("create")
def log_registration(method: str, context: HookContext) -> None:
    """Log who has registered."""
    current_app.logger.info("User %s has registered.", context.result["id"])


@users.error("create")
def explain_conflict(method: str, context: HookContext) -> None:
    """Tell people that they have registered already."""
    if isinstance(context.error, Conflict):
        context.error.message = "This email has an account. Log in instead."


@records.after()
def log_call(method: str, context: HookContext) -> None:
    """Log each call, in debug mode."""
    current_app.logger.debug("%s %s", context.path, method)


def create_app() -> Flask:
    """Return the application, and create its tables."""
    app = Flask(__name__, static_folder="instance/static", template_folder="instance")
    app.config.from_pyfile("instance/config.py")
    app.config.from_prefixed_env()

    for extension in (db, limiter, records, realtime, explorer):
        extension.init_app(app)

    @app.get("/")
    def page() -> str:
        """Return the page: a chat with the official client."""
        providers = records.authentication().settings.oauth.providers.values()
        is_on = explorer.is_on(app)
        return render_template("index.html", providers=providers, has_explorer=is_on)

    @app.get("/stream")
    def stream() -> str:
        """Return the chat in 60 lines, with the client of version 6."""
        return render_template("stream.html")

    with app.app_context():
        sa.event.listen(db.engine, "connect", check_foreign_keys)
        create_tables()

    return app


def create_tables() -> None:
    """Create the tables. Another machine may do the same at this moment, which makes
    the database refuse some that were not there just before.
    """
    for _ in db.metadata.tables:
        with suppress(sa.exc.DBAPIError):
            db.create_all()
            return

        time.sleep(0.5)

    db.create_all()


def check_foreign_keys(connection: t.Any, record: t.Any) -> None:
    """Make SQLite check foreign keys, as other databases do."""
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA foreign_keys = ON")


# Workers that start at once make the secret and the tables one after the other.
with open(__file__) as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    app = create_app()

asgi = realtime.asgi(app, threads=int(os.environ.get("THREADS", 8)))
"""The same for ASGI servers, which hold thousands of connections."""
