"""The example application: users who log in and write messages in rooms.

Run it with ``gunicorn -c instance/gunicorn.conf.py``, and add data with
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
from pydantic import AfterValidator
from pydantic import BaseModel
from pydantic import BeforeValidator
from pydantic import Field
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship

from flask_records import AuthenticationService
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
from flask_records.explorer import Explorer
from flask_records.realtime import Realtime

if t.TYPE_CHECKING:
    from flask_records.typing import Record

BATCH: t.Final = 5_000

LOCKS: t.Final = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "SELECT pg_advisory_xact_lock(7226)",
    "mysql": "SELECT GET_LOCK('example_tables', 60)",
    "mariadb": "SELECT GET_LOCK('example_tables', 60)",
}
"""The statements after which only one worker creates the tables."""

OPTIONS: t.Final = {
    "sqlite_autoincrement": True,
    "mysql_collate": "utf8mb4_bin",
    "mariadb_collate": "utf8mb4_bin",
}
"""Prevents SQLite from reusing ids of removed records, and MariaDB from ignoring the
case of text.
"""


class Base(DeclarativeBase):
    __table_args__: t.Any = OPTIONS


db = SQLAlchemy(model_class=Base)
limiter = Limiter(get_remote_address)
records = FlaskRecords(app_errors=True, limiter=limiter)
realtime = Realtime(records)
explorer = Explorer(records)


# MariaDB keeps fractions of a second only in columns that define them.
Moment = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def now() -> dt.datetime:
    """Return the time in UTC, without a zone, as the columns store it."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


LONGEST_EMAIL: t.Final = 254


class User(Base):
    """A person who writes messages."""

    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    # Users of an OAuth provider may have no email.
    email: Mapped[str | None] = mapped_column(sa.String(LONGEST_EMAIL), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(255))
    name: Mapped[str | None] = mapped_column(sa.String(100))
    avatar: Mapped[str | None] = mapped_column(sa.String(500))
    githubId: Mapped[str | None] = mapped_column(
        "github_id", sa.String(255), unique=True
    )
    googleId: Mapped[str | None] = mapped_column(
        "google_id", sa.String(255), unique=True
    )
    createdAt: Mapped[dt.datetime] = mapped_column("created_at", Moment, default=now)

    messages: Mapped[list[Message]] = relationship(
        back_populates="user", cascade="all, delete-orphan", passive_deletes=True
    )


class Room(Base):
    """A place for messages."""

    __tablename__ = "room"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(100))
    userId: Mapped[int | None] = mapped_column(
        "user_id", sa.ForeignKey("user_account.id", ondelete="SET NULL"), index=True
    )

    messages: Mapped[list[Message]] = relationship(
        back_populates="room", cascade="all, delete-orphan", passive_deletes=True
    )


LONGEST_TEXT: t.Final = 10_000


class Message(Base):
    """A text that a user has written in a room."""

    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(LONGEST_TEXT))
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
    """A token that is revoked."""

    __tablename__ = "revoked_token"


EMAIL = re.compile(r"[^@]{1,64}@[^@]+")

AVATAR = re.compile(r"https?://[^\s\x00-\x1f\x7f\"'<>]+")


def normalized_email(text: str) -> str:
    """Return an email in its stored form, which does not depend on case or Unicode
    form.
    """
    folded = unicodedata.normalize("NFKC", text.strip()).casefold()
    return unicodedata.normalize("NFKC", folded)


def email_address(text: str) -> str:
    """Return an email in its stored form.

    :raises ValueError: It is not an email address.
    """
    email = normalized_email(text)
    is_visible = not any(unicodedata.category(c)[0] in "CZ" for c in email)

    if len(email) > LONGEST_EMAIL or not (is_visible and EMAIL.fullmatch(email)):
        raise ValueError("is not an email address")

    return email


def image_address(text: str) -> str:
    """Return the address of an image.

    :raises ValueError: It is of another form.
    """
    if text != local_avatar() and not AVATAR.fullmatch(text):
        raise ValueError("is not an address that begins with http:// or https://")

    return text


# As text, since pydantic takes a boolean for a number.
Id = t.Annotated[int, Field(ge=1, lt=2**31), BeforeValidator(str)]
Email = t.Annotated[str, Field(max_length=LONGEST_EMAIL), AfterValidator(email_address)]
Password = t.Annotated[str, Field(min_length=1)]
Avatar = t.Annotated[str, AfterValidator(image_address)]

LEFT_OUT: t.Any = None
"""The default of a field that may be absent, but not null."""


class UserBody(BaseModel):
    """A user, as clients change it."""

    email: Email = LEFT_OUT
    password: Password = LEFT_OUT
    name: str | None = None
    avatar: Avatar | None = None


class NewUser(UserBody):
    """A user who registers."""

    email: Email
    password: Password


class Login(BaseModel):
    """A login of a user at an OAuth provider."""

    provider: t.Literal["github", "google"]


class Place(BaseModel):
    """The room in which a user is typing."""

    roomId: Id


PAGES: t.Final = {"default": 10, "max": 50}

WRITES: t.Final = ("create", "update", "patch")

METHODS: t.Final = ("find", "get", *WRITES, "remove")

LOGIN_FIELDS: t.Final = {"github": "githubId", "google": "googleId"}
"""The fields with the identifiers of users at OAuth providers."""

authentication = records.add(
    "authentication",
    AuthenticationService(
        normalize=normalized_email, revocations=TableRevocations(RevokedToken)
    ),
)


class Users(SQLAlchemyService):
    """The users, who can unlink their logins at providers."""

    def unlink(self, data: Record, params: Params) -> t.Any:
        """Unlink a login of the caller, unless no other one is left."""
        field = LOGIN_FIELDS[data["provider"]]
        configured = records.authentication().settings.oauth.providers
        rest = [LOGIN_FIELDS[name] for name in configured if name in LOGIN_FIELDS]
        logins = [{other: {"$ne": None}} for other in rest if other != field]
        password = {"password": {"$ne": None}, "email": {"$ne": None}}
        remaining = Params(query={"$or": [password, *logins]})

        try:
            return users.patch(params.user_id, {field: None}, remaining)
        except NotFound as error:
            raise Conflict(
                "This is your only login. Set a password, or connect another login"
                " first."
            ) from error


users = records.add(
    "users",
    Users(
        User,
        paginate=PAGES,
        hidden=["password"],
        readonly=["githubId", "googleId", "createdAt"],
    ),
    methods=[*METHODS, "unlink"],
    schemas={**dict.fromkeys(WRITES, UserBody), "create": NewUser, "unlink": Login},
    public=["create"],
)
rooms = records.add(
    "rooms", SQLAlchemyService(Room, paginate=PAGES, whitelist=["$search"])
)


class Messages(SQLAlchemyService):
    """The messages, and who is writing one."""

    def typing(self, data: Record, params: Params) -> Record:
        """Tell the others that the caller is typing in a room. Nothing is stored: the
        event is over when it has arrived.
        """
        room = rooms.get(data["roomId"])
        event = {"roomId": room["id"], "userId": params.user_id}
        messages.emit("typing", event)
        return event


messages = records.add(
    "messages",
    Messages(
        Message,
        paginate=PAGES,
        multi={"create": 100, "patch": 1000, "remove": 1000},
        multi_needs_query=True,
        whitelist=["$and", "$search", "$populate"],
        readonly=["createdAt"],
    ),
    methods=[*METHODS, "typing"],
    events=["typing"],
    schemas={"typing": Place},
)

# Users who are logged in see all users, rooms and messages, and change their own.
users.before("update", "patch", "remove")(limit_to_user("id"))

for service in (rooms, messages):
    service.before(*WRITES)(set_user_field("userId"))
    service.before("update", "patch", "remove")(limit_to_user("userId"))


@users.before(*WRITES)
def set_avatar(method: str, context: HookContext) -> None:
    """Give users without an avatar the default one."""
    for user in context.bodies:
        if user.get("avatar") is None and (method != "patch" or "avatar" in user):
            user["avatar"] = default_avatar(user.get("email"))


users.before(*WRITES)(hash_password("password"))


def default_avatar(email: str | None) -> str:
    """Return the address of the default image of a user. Gravatar, which gets a hash of
    the email, must be enabled.
    """
    if email is None or not current_app.config["GRAVATAR"]:
        return local_avatar()

    return f"https://gravatar.com/avatar/{hashlib.sha256(email.encode()).hexdigest()}"


def local_avatar() -> str:
    """Return the address of the image in the folder of static files."""
    prefix = request.script_root if has_request_context() else ""
    return f"{prefix}/static/avatar.svg"


def create_app() -> Flask:
    """Return the application, and create its tables."""
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
        app.config["SECRET_KEY"] = stored_secret(Path(app.instance_path, "secret.key"))

    db.init_app(app)
    limiter.init_app(app)
    records.init_app(app)
    realtime.init_app(app)
    explorer.init_app(app)
    app.cli.add_command(example_data)
    app.add_url_rule("/", "index", show_page)
    app.add_url_rule(
        "/favicon.ico", "icon", lambda: app.send_static_file("chat/icon.svg")
    )
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
    """Return the page: a chat with the official client."""
    providers = records.authentication().settings.oauth.providers.values()
    folder = Path(str(current_app.static_folder), "chat")
    page = render_template(
        "index.html",
        providers=providers,
        scripts=sorted(path.name for path in folder.glob("*.js")),
        longest=LONGEST_TEXT,
        has_explorer=explorer.is_on(current_app),
    )
    response = make_response(page)
    has_remote_images = providers or current_app.config["GRAVATAR"]
    images = " https:" if has_remote_images else ""
    response.headers["Content-Security-Policy"] = PAGE_POLICY + images
    response.cache_control.no_cache = True
    return response


def add_security_headers(response: Response) -> Response:
    """Prevent browsers from guessing types and from sending our URLs elsewhere."""
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    return response


def stored_secret(path: Path) -> str:
    """Return the secret in a file that only its owner can read. The first worker to
    start creates it.
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
    """Make the files of a SQLite database accessible to their owner only."""
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
    """Make SQLite check foreign keys, and writers wait for each other."""
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA busy_timeout = 20000")
        connection.execute("PRAGMA foreign_keys = ON")


def create_tables(engine: sa.Engine) -> None:
    """Create missing tables, in one worker at a time."""
    with engine.begin() as connection:
        connection.exec_driver_sql(LOCKS[engine.dialect.name])
        Base.metadata.create_all(connection)

    # MariaDB holds the lock while the connection is open.
    engine.dispose()


@click.command("example-data")
@click.option("--messages", "count", default=100_000, show_default=True)
@with_appcontext
def example_data(count: int) -> None:
    """Fill the database with users, rooms and messages."""
    chance = random.Random(1)
    emails = {
        f"{name.lower()}{n}@example.com": name for n in range(5) for name in NAMES
    }
    people = [
        {"email": email, "name": name, "avatar": default_avatar(email)}
        for email, name in emails.items()
    ]
    user_ids = insert_missing(User.email, people)
    # Rooms of users can have the same names.
    own = Room.userId.is_(None)
    room_ids = insert_missing(Room.name, [{"name": name} for name in TOPICS], own)
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

        db.session.execute(sa.insert(Message), batch)
        db.session.commit()


def insert_missing(key: t.Any, rows: list[Record], *conditions: t.Any) -> list[int]:
    """Insert the rows whose key does not exist, and return the ids of all rows."""
    values = [row[key.key] for row in rows]
    statement = sa.select(key, key.class_.id).where(key.in_(values), *conditions)
    existing = {row[0] for row in db.session.execute(statement)}

    if new := [row for row in rows if row[key.key] not in existing]:
        db.session.execute(sa.insert(key.class_), new)
        db.session.commit()

    return [row.id for row in db.session.execute(statement)]


NAMES: t.Final = (
    "Ada Alan Barbara Claude Donald Edsger Frances Grace Hedy Ida John Karen Leslie"
    " Margaret Niklaus Ole Peter Radia Sophie Tim"
).split()

TOPICS: t.Final = (
    "Lobby Announcements Books Cooking Cycling Films Garden Help Jobs Music Photos"
    " Python Random Science Travel Weather"
).split()

WORDS: t.Final = (
    "a about again always before bring call can day find first for good have help here"
    " idea is it keep later let like little make maybe meet more morning never new not"
    " now of on one or other our people plan question read room see send small some"
    " start take tell thank that the there think time to today together tomorrow try"
    " two we what when where who why will with work write year yes yesterday you"
).split()


app = create_app()

asgi = realtime.asgi(app, threads=int(os.environ.get("THREADS", 32)))
"""The same for ASGI servers, which hold thousands of connections."""
