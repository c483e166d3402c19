"""An application that has one of everything that a document has words for, on which
generators of clients, schemathesis and the TypeScript compiler are tried.
"""

from __future__ import annotations

import datetime as dt
import enum
import hashlib
import os
import typing as t
import uuid
from decimal import Decimal

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from pydantic import BaseModel, Field
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from werkzeug.datastructures import FileStorage

from flask_records import (
    AuthenticationService,
    BadRequest,
    Converter,
    FlaskRecords,
    FromUser,
    hash_password,
    MultipartParser,
    NotAuthenticated,
    parse_json,
    set_user_field,
    SQLAlchemyService,
    Strategy,
    TableTokens,
    TokenMixin,
)
from flask_records.accounts import AccountManagement
from flask_records.realtime import Realtime


class Base(DeclarativeBase):
    __table_args__: t.Any = {"sqlite_autoincrement": True}


class Level(enum.Enum):
    low = 1
    high = 2


class User(Base):
    """A person who writes messages."""

    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(254), unique=True)
    password: Mapped[str] = mapped_column(sa.String(255))
    isVerified: Mapped[bool] = mapped_column(default=False)
    salary: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    leadId: Mapped[int | None] = mapped_column(sa.ForeignKey("user_account.id"))

    lead: Mapped[User | None] = relationship(remote_side=[id])
    messages: Mapped[list[Message]] = relationship(back_populates="user")


class Room(Base):
    __tablename__ = "room"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    name: Mapped[str] = mapped_column(sa.String(100), unique=True)
    limit: Mapped[int | None]
    address: Mapped[dict | None] = mapped_column(sa.JSON)
    logo: Mapped[bytes | None]


tags = sa.Table(
    "message_tag",
    Base.metadata,
    sa.Column("message_id", sa.ForeignKey("message.id"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("tag.id"), primary_key=True),
)


class Tag(Base):
    __tablename__ = "tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20), info={"example": "urgent"})
    body: Mapped[str | None]


# SQLite keeps lists as JSON.
Texts = sa.ARRAY(sa.String(20)).with_variant(sa.JSON(), "sqlite", "mariadb")


class Message(Base):
    """A text in a room. All may look on: `code`, "quotes"."""

    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(40), comment="In a few words.")
    title: Mapped[str | None]
    kind: Mapped[str | None] = mapped_column(sa.Enum("bug", "idea", name="kind"))
    level: Mapped[Level | None] = mapped_column(default=Level.low)
    read: Mapped[bool] = mapped_column(default=False)
    cost: Mapped[Decimal | None] = mapped_column(sa.Numeric(8, 2))
    points: Mapped[int] = mapped_column(default=0)
    weight: Mapped[float | None] = mapped_column(sa.Double)
    size: Mapped[int | None] = mapped_column(sa.BigInteger)
    labels: Mapped[list[str] | None] = mapped_column(Texts)
    notes: Mapped[dict | None] = mapped_column(sa.JSON)
    due: Mapped[dt.date | None]
    start: Mapped[dt.time | None]
    takes: Mapped[dt.timedelta | None]
    secret: Mapped[str | None] = mapped_column(sa.String(10))
    createdAt: Mapped[dt.datetime] = mapped_column(default=lambda: now())
    userId: Mapped[int] = mapped_column(sa.ForeignKey(User.id))
    roomId: Mapped[uuid.UUID | None] = mapped_column(sa.ForeignKey(Room.id))

    user: Mapped[User] = relationship(back_populates="messages")
    room: Mapped[Room | None] = relationship()
    tags: Mapped[list[Tag]] = relationship(secondary=tags, order_by=Tag.id)

    @hybrid_property
    def heading(self) -> str:
        return self.text + "!"

    @hybrid_property
    def double(self) -> int:
        return self.points * 2


class Seat(Base):
    __tablename__ = "seat"

    row: Mapped[str] = mapped_column(sa.String(3), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    note: Mapped[str | None]


class Page(Base):
    """A page of a handbook, which is found by its address."""

    __tablename__ = "handbook_page"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(sa.String(30), unique=True)
    text: Mapped[str] = mapped_column(sa.Text)


class Photo(Base):
    __tablename__ = "photo"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(50))
    file: Mapped[bytes]
    small: Mapped[bytes | None]
    size: Mapped[int]


class Token(TokenMixin, Base):
    __tablename__ = "token"


class Key(Base):
    __tablename__ = "api_key"

    digest: Mapped[str] = mapped_column(primary_key=True)
    userId: Mapped[int] = mapped_column(sa.ForeignKey(User.id))


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


class Address(BaseModel):
    street: str = ""
    zip: str = Field(pattern="^[0-9]{5}$")


class Phone(BaseModel):
    number: str
    kind: t.Literal["home", "work"] | None = None


class RoomAddress(Address):
    phones: list[Phone] = []
    past: list[Address | None] = []


class NewRoom(BaseModel):
    name: str = Field(min_length=2, max_length=100)
    address: RoomAddress | None = None


class PageBody(BaseModel):
    slug: str = Field(min_length=3, max_length=30, pattern="^[a-z-]+$")
    text: str


class Span(BaseModel):
    """A span of days."""

    first: dt.date
    last: dt.date | None = None


class Sum(BaseModel):
    level: t.Literal["low", "high"] | None = None
    points: int


class Summary(BaseModel):
    """A report of messages."""

    first: dt.date
    number: int
    by_level: list[Sum] = []
    best: Sum | None = None


class Summaries:
    """Reports."""

    def find(self, params):
        """Return one report."""
        first = params.query["first"]
        return {"first": first, "number": 2, "by_level": [{"level": None, "points": 1}]}


class Move(BaseModel):
    messageId: int
    to: t.Literal["up", "down"] | None = None


class Moved(BaseModel):
    messageId: int
    place: int | None = None
    last: Sum | None = None


class Forecast(BaseModel):
    city: str
    degrees: float | None = None


class Forecasts:
    """Forecasts, and moves of messages."""

    def find(self, params):
        return [{"city": "Rome", "degrees": 20}]

    def get(self, id, params):
        return {"city": id}

    def move(self, data, params):
        """Move a message."""
        return {"messageId": data["messageId"], "place": None}

    def ping(self, data, params):
        return None


class Echoes:
    """An object without schemas."""

    def find(self, params):
        return [params.query]

    def create(self, data, params):
        return data

    def remove(self, id, params):
        return {"id": id}


def parse_key(headers):
    key = headers.get("X-Api-Key")
    return {"apiKey": key} if key else None


def digest_of(key):
    return hashlib.sha256(key.encode()).hexdigest()


def check_key(service, data, params):
    key = db.session.get(Key, digest_of(data["apiKey"]))

    if key is None:
        raise NotAuthenticated("Invalid API key")

    return {"user": service.get_user(key.userId)}


PAGES: t.Final = {"default": 10, "max": 50}
ME: t.Final = dict.fromkeys(("update", "patch", "remove"), {"id": FromUser("id")})
KEY: t.Final = {"type": "apiKey", "in": "header", "name": "X-Api-Key"}

db = SQLAlchemy(model_class=Base)
records = FlaskRecords(
    app_errors=True, allow=dict.fromkeys(("update", "patch", "remove"), True)
)
realtime = Realtime(records)
authentication = AuthenticationService(
    strategies={"api-key": Strategy(check_key, parse_key, scheme=KEY)},
    tokens=TableTokens(Token),
    refresh=True,
)
records.add("authentication", authentication)
users = records.add(
    "users",
    SQLAlchemyService(
        User,
        paginate=PAGES,
        hidden=["password"],
        readonly=["isVerified"],
        write_once=["email"],
        visible={"salary": {"id": FromUser("id")}},
        whitelist=["$populate"],
        relations=["lead", "messages"],
    ),
    allow=ME,
    public=["create"],
)
users.before("create", "update", "patch")(hash_password("password"))
people = records.add(
    "people",
    SQLAlchemyService(User, fields=["email"], whitelist=["$populate"]),
    methods=["find", "get"],
)
records.add(
    "rooms",
    SQLAlchemyService(Room),
    schemas=dict.fromkeys(("create", "update", "patch"), NewRoom),
)
records.add("tags", SQLAlchemyService(Tag, multi=True))
messages = records.add(
    "messages",
    SQLAlchemyService(
        Message,
        paginate=PAGES,
        multi=True,
        hidden=["secret"],
        readonly=["createdAt", "userId"],
        whitelist=["$and", "$nor", "$not", "$null", "$between", "$search", "$populate"],
        relations=["user", "room", "tags"],
        aggregates=["kind", "level", "points", "cost", "createdAt", "roomId", "due"],
        writable_relations=["tags"],
    ),
    strategies=["jwt", "api-key"],
)
messages.before("create", "update", "patch")(set_user_field("userId"))
records.add(
    "rooms/<uuid:roomId>/messages",
    SQLAlchemyService(Message, fields=["text", "kind"], aggregates=["kind"]),
    methods=["find", "get"],
)
records.add("seats", SQLAlchemyService(Seat, paginate=PAGES))
records.add(
    "pages",
    SQLAlchemyService(Page, id="slug"),
    schemas={"create": PageBody, "update": PageBody, "patch": PageBody},
)


def read_file(value):
    if not isinstance(value, (bytes, FileStorage)):
        raise ValueError("is not a file")

    return value


FILE: t.Final = Converter(read=read_file, schema={"type": "string", "format": "binary"})
photos = records.add(
    "photos",
    SQLAlchemyService(
        Photo,
        hidden=["file", "small"],
        readonly=["size"],
        converters={"file": FILE, "small": FILE},
    ),
    methods=["find", "get", "create", "patch", "remove"],
    body_parsers={
        "application/json": parse_json,
        "multipart/form-data": MultipartParser(),
    },
)


@photos.before("create", "patch")
def read_files(method, context):
    """Store the bytes of files, and their size."""
    data = context.data
    data |= {n: data[n].read() for n in ("file", "small") if n in data}

    if "file" not in data:
        return

    data["size"] = len(data["file"])

    if not data["size"]:
        raise BadRequest("The file is empty.", errors={"file": "is empty"})


records.add(
    "summaries", Summaries(), schemas={"find": {"query": Span, "result": Summary}}
)
records.add(
    "forecasts",
    Forecasts(),
    methods=["find", "get", "move", "ping"],
    events=["moved"],
    public=["find"],
    schemas={
        "find": {"result": list[Forecast]},
        "move": {"data": Move, "result": Moved},
    },
)
records.add("echoes", Echoes())
accounts = AccountManagement(authentication, send=lambda mail: None)
records.add("authManagement", accounts, public=["create"])

app = Flask("everything")
app.config["SECRET_KEY"] = os.environ.get("SECRET_KEY", "5e" * 32)
app.config["SQLALCHEMY_DATABASE_URI"] = os.environ.get("DATABASE_URL", "sqlite://")
app.config["RECORDS_REALTIME"] = {"stream": "sse"}
app.config.from_prefixed_env()

for extension in (db, records, realtime):
    extension.init_app(app)

with app.app_context():
    db.create_all()

asgi = realtime.asgi(app)
