"""The example application: users who write messages in rooms.

Run it with ``gunicorn -c instance/gunicorn.conf.py``, and fill it with
``flask example-data``.
"""

from __future__ import annotations

import datetime as dt
import random
import typing as t
from pathlib import Path

import click
import sqlalchemy as sa
from flask import Flask
from flask.cli import with_appcontext
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship
from werkzeug.security import generate_password_hash

from flask_records import BadRequest
from flask_records import FlaskRecords
from flask_records import HookContext
from flask_records import SQLAlchemyService

if t.TYPE_CHECKING:
    from collections.abc import Iterator

BATCH: t.Final = 5_000

LOCKS: t.Final = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "SELECT pg_advisory_xact_lock(7226)",
    "mysql": "SELECT GET_LOCK('example_tables', 60)",
    "mariadb": "SELECT GET_LOCK('example_tables', 60)",
}
"""What lets one worker at a time make the tables."""


class Base(DeclarativeBase):
    # SQLite gives the id of a removed record again, and MariaDB compares text without
    # regard to case, unless they are told otherwise.
    __table_args__ = {
        "sqlite_autoincrement": True,
        "mysql_collate": "utf8mb4_bin",
        "mariadb_collate": "utf8mb4_bin",
    }


db = SQLAlchemy(model_class=Base)
records = FlaskRecords(app_errors=True)


# MariaDB keeps fractions of a second only if it is told to.
Moment = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def now() -> dt.datetime:
    """Return the time in UTC, without its zone, as the columns hold it."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


class User(Base):
    """Somebody who writes."""

    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(254), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(255))
    name: Mapped[str | None] = mapped_column(sa.String(100))
    createdAt: Mapped[dt.datetime] = mapped_column("created_at", Moment, default=now)

    messages: Mapped[list[Message]] = relationship(
        back_populates="user", cascade="all, delete-orphan", passive_deletes=True
    )


class Room(Base):
    """Where messages are written."""

    __tablename__ = "room"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(100), unique=True)

    messages: Mapped[list[Message]] = relationship(
        back_populates="room", cascade="all, delete-orphan", passive_deletes=True
    )


class Message(Base):
    """What somebody wrote in a room."""

    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.Text)
    read: Mapped[bool] = mapped_column(default=False)
    archived: Mapped[bool] = mapped_column(default=False)
    roomId: Mapped[int | None] = mapped_column(
        "room_id", sa.ForeignKey("room.id", ondelete="CASCADE"), index=True
    )
    userId: Mapped[int | None] = mapped_column(
        "user_id", sa.ForeignKey("user_account.id", ondelete="CASCADE"), index=True
    )
    createdAt: Mapped[dt.datetime] = mapped_column(
        "created_at", Moment, default=now, index=True
    )

    room: Mapped[Room | None] = relationship(back_populates="messages")
    user: Mapped[User | None] = relationship(back_populates="messages")


PAGES: t.Final = {"default": 10, "max": 50}

users = records.add(
    "users",
    SQLAlchemyService(
        User,
        paginate=PAGES,
        hidden=["password"],
        readonly=["id", "createdAt"],
    ),
    public=True,
)
rooms = records.add(
    "rooms",
    SQLAlchemyService(Room, paginate=PAGES, whitelist=["$search"], readonly=["id"]),
    public=True,
)
messages = records.add(
    "messages",
    SQLAlchemyService(
        Message,
        paginate=PAGES,
        multi=["create", "patch", "remove"],
        whitelist=["$and", "$search", "$populate"],
        readonly=["id"],
    ),
    public=True,
)


@users.before("create", "update", "patch")
def hash_password(method: str, context: HookContext) -> None:
    """Keep no password as it is."""
    if not isinstance(context.data, dict) or context.data.get("password") is None:
        return

    if not isinstance(context.data["password"], str):
        raise BadRequest(
            "The password is not text.", errors={"password": "is not text"}
        )

    context.data["password"] = generate_password_hash(context.data["password"])


def create_app() -> Flask:
    """Return the application, its tables made."""
    app = Flask(
        __name__,
        instance_path=str(Path(__file__).parent / "instance"),
        instance_relative_config=True,
    )
    app.config.from_pyfile("config.py")
    app.config.from_prefixed_env()
    db.init_app(app)
    records.init_app(app)
    app.cli.add_command(example_data)

    with app.app_context():
        sa.event.listen(db.engine, "connect", prepare_sqlite)
        create_tables(db.engine)

    return app


def prepare_sqlite(connection: t.Any, record: t.Any) -> None:
    """Let SQLite check foreign keys, readers not wait for a writer, and writers wait
    for each other.
    """
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA busy_timeout = 20000")
        connection.execute("PRAGMA foreign_keys = ON")


def create_tables(engine: sa.Engine) -> None:
    """Make the tables that are not there, one worker at a time."""
    with engine.begin() as connection:
        connection.exec_driver_sql(LOCKS[engine.dialect.name])
        Base.metadata.create_all(connection)

    # MariaDB holds the lock as long as the connection is open.
    engine.dispose()


@click.command("example-data")
@click.option("--messages", "count", default=100_000, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Vary the data.")
@with_appcontext
def example_data(count: int, seed: int) -> None:
    """Fill the database with users, rooms and messages."""
    chance = random.Random(seed)
    user_ids = insert_missing(
        User, "email", [user_of(number) for number in range(1, 101)]
    )
    room_ids = insert_missing(Room, "name", [{"name": topic} for topic in TOPICS])
    batches = -(-count // BATCH)

    with click.progressbar(
        messages_of(chance, count, user_ids, room_ids),
        length=batches,
        label=f"{count} messages",
    ) as progress:
        for batch in progress:
            db.session.execute(sa.insert(Message), batch)
            db.session.commit()


def insert_missing(
    model: type[User] | type[Room], key: str, rows: list[dict[str, t.Any]]
) -> list[int]:
    """Insert the rows whose key is not there yet, and return the ids of all rows."""
    column = getattr(model, key)
    there = set(db.session.scalars(sa.select(column)))
    new = [row for row in rows if row[key] not in there]

    if new:
        db.session.execute(sa.insert(model), new)
        db.session.commit()

    return list(db.session.scalars(sa.select(model.id)))


def user_of(number: int) -> dict[str, t.Any]:
    """Return one of the example's users."""
    name = NAMES[number % len(NAMES)]
    return {"email": f"{name.lower()}{number}@example.com", "name": name}


def messages_of(
    chance: random.Random, count: int, user_ids: list[int], room_ids: list[int]
) -> Iterator[list[dict[str, t.Any]]]:
    """Yield batches of messages, the oldest first, some a minute."""
    created = now() - dt.timedelta(minutes=count)

    for start in range(0, count, BATCH):
        batch = []

        for _ in range(min(BATCH, count - start)):
            created += dt.timedelta(seconds=chance.randint(1, 110))
            batch.append(
                {
                    "text": " ".join(chance.choices(WORDS, k=chance.randint(3, 16))),
                    "read": chance.random() < 0.8,
                    "archived": chance.random() < 0.1,
                    "roomId": chance.choice(room_ids),
                    "userId": chance.choice(user_ids),
                    "createdAt": created,
                }
            )

        yield batch


NAMES: t.Final = (
    "Ada Alan Barbara Claude Donald Edsger Frances Grace Hedy Ida John Karen Leslie"
    " Margaret Niklaus Ole Peter Radia Sophie Tim"
).split()

TOPICS: t.Final = (
    "Lobby Announcements Books Cooking Cycling Films Garden Help Jobs Music Photos"
    " Python Random Science Travel Weather"
).split()

WORDS: t.Final = (
    "a about after all always any ask back because before bring call can come day did"
    " find first for from get good great have hear help here how idea is it just keep"
    " know last later let like little look made make many maybe meet more morning need"
    " never new next no not now of on one only open or other our over people place"
    " plan question read ready right room say see send show small some soon start"
    " still take talk tell thank that the them then there they thing think this time"
    " today together tomorrow try two up us very wait want was way week well what when"
    " where who why will with work write year yes yesterday you your"
).split()


app = create_app()
