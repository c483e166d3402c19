"""The example application: users who log in and write messages in rooms.

Run it with ``gunicorn -c instance/gunicorn.conf.py``, and fill it with
``flask example-data``.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import random
import re
import secrets
import typing as t
import unicodedata
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import click
import sqlalchemy as sa
from flask import current_app
from flask import Flask
from flask import has_request_context
from flask import make_response
from flask import render_template
from flask import request
from flask import Response
from flask.cli import with_appcontext
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship

from flask_records import AuthenticationService
from flask_records import BadRequest
from flask_records import Conflict
from flask_records import FlaskRecords
from flask_records import hash_password
from flask_records import HookContext
from flask_records import limit_to_user
from flask_records import NotFound
from flask_records import Params
from flask_records import RevokedTokenMixin
from flask_records import set_user_field
from flask_records import SQLAlchemyService
from flask_records import TableRevocations
from flask_records.realtime import Realtime

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
limiter = Limiter(get_remote_address)
records = FlaskRecords(app_errors=True, limiter=limiter)
realtime = Realtime(records)


# MariaDB keeps fractions of a second only if it is told to.
Moment = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def now() -> dt.datetime:
    """Return the time in UTC, without its zone, as the columns hold it."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


class User(Base):
    """Somebody who writes."""

    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    # Who logs in elsewhere may have none here.
    email: Mapped[str | None] = mapped_column(sa.String(254), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(255))
    name: Mapped[str | None] = mapped_column(sa.String(100))
    avatar: Mapped[str | None] = mapped_column(sa.String(500))
    githubId: Mapped[str | None] = mapped_column(
        "github_id", sa.String(64), unique=True
    )
    googleId: Mapped[str | None] = mapped_column(
        "google_id", sa.String(64), unique=True
    )
    createdAt: Mapped[dt.datetime] = mapped_column("created_at", Moment, default=now)

    messages: Mapped[list[Message]] = relationship(
        back_populates="user", cascade="all, delete-orphan", passive_deletes=True
    )


class Room(Base):
    """Where messages are written."""

    __tablename__ = "room"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(100), unique=True)
    private: Mapped[bool] = mapped_column(default=False, index=True)
    memberIds: Mapped[list[int]] = mapped_column("member_ids", sa.JSON, default=list)
    userId: Mapped[int | None] = mapped_column(
        "user_id", sa.ForeignKey("user_account.id", ondelete="SET NULL"), index=True
    )

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


class RevokedToken(RevokedTokenMixin, Base):
    """A login that has ended before its token expires."""

    __tablename__ = "revoked_token"


def normalized_email(text: str) -> str:
    """Return an email in the one form that is kept of it, whatever the case and the
    Unicode form it was typed in.
    """
    folded = unicodedata.normalize("NFKC", text.strip()).casefold()
    return unicodedata.normalize("NFKC", folded)


def hidden_rooms(user: t.Any) -> list[int]:
    """Return the identifiers of the rooms that a user can't see."""
    private = sa.select(Room.id, Room.userId, Room.memberIds).where(Room.private)
    own = None if user is None else user["id"]
    return [
        id
        for id, owner, members in db.session.execute(private)
        if own is None or own not in (owner, *members)
    ]


def outside(field: str, ids: list[int]) -> dict[str, t.Any] | None:
    """Return the query of records whose field is none of some identifiers."""
    return {field: {"$nin": ids}} if ids else None


PAGES: t.Final = {"default": 10, "max": 50}

LONGEST_EMAIL: t.Final = 254

EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f]+")

AVATAR = re.compile(r"https?://[^\s\x00-\x1f\x7f\"'<>]+")

authentication = records.add(
    "authentication",
    AuthenticationService(
        normalize=normalized_email, revocations=TableRevocations(RevokedToken)
    ),
)
users = records.add(
    "users",
    SQLAlchemyService(
        User,
        paginate=PAGES,
        hidden=["password"],
        readonly=["id", "githubId", "googleId", "createdAt"],
    ),
    public=["create"],
)
rooms = records.add(
    "rooms",
    SQLAlchemyService(Room, paginate=PAGES, whitelist=["$search"], readonly=["id"]),
    readable=lambda user: outside("id", hidden_rooms(user)),
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
    readable=lambda user: outside("roomId", hidden_rooms(user)),
)

# Everybody who is logged in sees users, and the rooms that are not private or that he
# is in, with their messages. He changes what is his own.
users.before("update", "patch", "remove")(limit_to_user("id"))

for service in (rooms, messages):
    service.before("create", "update", "patch")(set_user_field("userId"))
    service.before("update", "patch", "remove")(limit_to_user("userId"))


@messages.before("create", "update", "patch")
def check_room(method: str, context: HookContext) -> None:
    """Let nobody write in a room that he can't see."""
    hidden = hidden_rooms(context.params.user) if context.params.provider else []

    for message in context.bodies if hidden else []:
        if message.get("roomId") is not None:
            check_is_seen(message["roomId"], hidden)


def check_is_seen(id: t.Any, hidden: list[int]) -> None:
    """Refuse a room that is hidden, however its identifier is written."""
    try:
        rooms._get(id, Params(query={"id": {"$nin": hidden}}))
    except (BadRequest, NotFound) as error:
        raise Conflict(
            "There is no such room.", errors={"roomId": "is not there"}
        ) from error


@rooms.before("create", "update", "patch")
def check_members(method: str, context: HookContext) -> None:
    """Take a list of users for the members of a room."""
    for room in context.bodies:
        ids = room.get("memberIds", [])

        if not isinstance(ids, list) or not all(type(id) is int for id in ids):
            raise BadRequest(
                "'memberIds' is not a list of users.",
                errors={"memberIds": "is no list"},
            )


@users.before("create", "update", "patch")
def check_user(method: str, context: HookContext) -> None:
    """Keep one form of each email, and make up an avatar."""
    for user in context.bodies:
        if "email" in user or (context.params.provider and method == "create"):
            user["email"] = checked_email(user.get("email"))

        if context.params.provider and (method == "create" or "password" in user):
            require_text("password", user.get("password"))

        if user.get("avatar") is not None:
            check_avatar(user["avatar"])
        elif method != "patch" or "avatar" in user:
            user["avatar"] = default_avatar(user.get("email"))


users.before("create", "update", "patch")(hash_password("password"))


def checked_email(email: t.Any) -> str:
    """Return an email as it is kept."""
    require_text("email", email)
    normalized = normalized_email(email[: LONGEST_EMAIL + 1])
    is_visible = not any(unicodedata.category(one)[0] in "CZ" for one in normalized)

    if (
        len(email) > LONGEST_EMAIL
        or len(normalized) > LONGEST_EMAIL
        or not (is_visible and EMAIL.fullmatch(normalized))
    ):
        raise BadRequest(
            "'email' is not an email address.", errors={"email": "is not an address"}
        )

    return normalized


def check_avatar(avatar: t.Any) -> None:
    """Refuse what is not the address of an image."""
    require_text("avatar", avatar)

    if avatar != local_avatar() and not AVATAR.fullmatch(avatar):
        raise BadRequest(
            "'avatar' is not an address that begins with http:// or https://.",
            errors={"avatar": "is not an address"},
        )


def require_text(name: str, value: t.Any) -> None:
    """Refuse what is not text, or empty."""
    if value is None or value == "":
        raise BadRequest(f"'{name}' is required.", errors={name: "is required"})

    if not isinstance(value, str) or not is_unicode(value):
        raise BadRequest(f"'{name}' is not text.", errors={name: "is not text"})


def is_unicode(text: str) -> bool:
    """Return whether a text has no halves of characters, which JSON can hold."""
    return not any(unicodedata.category(one) == "Cs" for one in text)


def default_avatar(email: str | None) -> str:
    """Return the address of the image of a user who has not chosen one. Gravatar, which
    learns a hash of the email, has to be switched on.
    """
    if email is None or not current_app.config["GRAVATAR"]:
        return local_avatar()

    return f"https://gravatar.com/avatar/{hashlib.sha256(email.encode()).hexdigest()}"


def local_avatar() -> str:
    """Return the address of the image in the folder of static files."""
    prefix = request.script_root if has_request_context() else ""
    return f"{prefix}/static/avatar.svg"


def create_app() -> Flask:
    """Return the application, its tables made."""
    app = Flask(
        __name__,
        instance_path=str(Path(__file__).parent / "instance"),
        instance_relative_config=True,
        template_folder="instance",
        static_folder="instance/static",
        static_url_path="/static",
    )
    app.config.from_pyfile("config.py")
    app.config.from_prefixed_env()

    if not app.config.get("SECRET_KEY"):
        app.config["SECRET_KEY"] = kept_secret(Path(app.instance_path, "secret.key"))

    db.init_app(app)
    limiter.init_app(app)
    records.init_app(app)
    realtime.init_app(app)
    app.cli.add_command(example_data)
    app.add_url_rule("/", "index", show_page)
    app.after_request(add_security_headers)

    with app.app_context():
        restrict_files(db.engine.url)
        sa.event.listen(db.engine, "connect", prepare_sqlite)
        create_tables(db.engine)

    return app


PAGE_POLICY: t.Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src 'self'"
)
"""The sources that the page may load from. No site may show it in a frame."""


def show_page() -> Response:
    """Return a page to log in and write messages, with the official client."""
    providers = records.authentication().settings.oauth.providers.values()
    response = make_response(render_template("index.html", providers=providers))
    has_images_elsewhere = providers or current_app.config["GRAVATAR"]
    images = " https:" if has_images_elsewhere else ""
    response.headers["Content-Security-Policy"] = PAGE_POLICY + images
    return response


def add_security_headers(response: Response) -> Response:
    """Stop browsers from guessing types, and from telling other sites our addresses."""
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    return response


def kept_secret(path: Path) -> str:
    """Return the secret in a file that only its owner can read. It is made on the first
    start, by one of the workers that start at once.
    """
    if not path.exists():
        # A temporary file has mode 0600.
        with NamedTemporaryFile("w", dir=path.parent, prefix=".secret") as file:
            file.write(secrets.token_hex(32))
            file.flush()

            try:
                os.link(file.name, path)
            except FileExistsError:
                # Another worker was first.
                pass

    secret = path.read_bytes().strip()

    if len(secret) < 32 or not secret.isascii():
        raise RuntimeError(f"There is no secret in {path}. Remove it to get a new one.")

    return secret.decode()


def restrict_files(url: sa.URL) -> None:
    """Let only their owner read and write the files of a SQLite database."""
    name = url.database

    if (
        url.get_backend_name() != "sqlite"
        or not name
        or name.startswith((":", "file:"))
    ):
        return

    # SQLite gives the other files the mode of this one.
    os.close(os.open(name, os.O_RDWR | os.O_CREAT, 0o600))

    for ending in ("", "-journal", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.chmod(name + ending, 0o600)


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
    email = f"{name.lower()}{number}@example.com"
    return {"email": email, "name": name, "avatar": default_avatar(email)}


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
