"""An application with fields of all types, for the explorer. Its names, texts and
messages are full of markup.
"""

from __future__ import annotations

import datetime as dt
import os
import typing as t
import uuid
from decimal import Decimal

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import (
    AuthenticationService,
    BadRequest,
    Converter,
    FlaskRecords,
    FromUser,
    GeneralError,
    hash_password,
    HookContext,
    SQLAlchemyService,
    TableTokens,
    TokenMixin,
)
from flask_records.explorer import Explorer
from flask_records.realtime import Realtime

MARKUP = (
    "<img src=x onerror=\"document.body.id='bad'\"><script>document.body.id='bad'"
    "</script>"
)

BIG_INTEGER = {"type": "string", "pattern": "^-?[0-9]+$"}

PNG = bytes.fromhex("89504e470d0a1a0a")


class Base(DeclarativeBase):
    pass


class Owner(Base):
    """A person who has things."""

    __tablename__ = "owner"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50))

    things: Mapped[list[Thing]] = relationship(back_populates="owner")


class Thing(Base):
    __tablename__ = "thing"
    __doc__ = f"A thing with a field of each type. {MARKUP}"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20), comment=f"Named {MARKUP}")
    text: Mapped[str | None] = mapped_column(sa.Text)
    count: Mapped[int | None]
    big: Mapped[int | None] = mapped_column(sa.BigInteger)
    ratio: Mapped[float | None]
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(8, 2))
    isNew: Mapped[bool | None]
    color: Mapped[str | None] = mapped_column(
        sa.Enum("<b>red</b>", "green", "grey", name="color")
    )
    madeAt: Mapped[dt.datetime | None]
    day: Mapped[dt.date | None]
    opens: Mapped[dt.time | None]
    takes: Mapped[dt.timedelta | None]
    token: Mapped[uuid.UUID | None]
    image: Mapped[bytes | None]
    notes: Mapped[t.Any | None] = mapped_column(sa.JSON)
    ownerId: Mapped[int | None] = mapped_column(sa.ForeignKey("owner.id"))

    owner: Mapped[Owner | None] = relationship(back_populates="things")


setattr(Thing, "<i>size</i>", mapped_column("size", sa.String(20), nullable=True))


class Event(Base):
    """A line of a log without pages."""

    __tablename__ = "event"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(100))
    rank: Mapped[int | None]


class Star(Base):
    """A record whose key JavaScript rounds."""

    __tablename__ = "star"

    id: Mapped[int] = mapped_column(sa.BigInteger, primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    facts: Mapped[t.Any] = mapped_column(sa.JSON)
    distance: Mapped[int] = mapped_column(sa.BigInteger)


shelf_label = sa.Table(
    "shelf_label",
    Base.metadata,
    sa.Column("shelf_id", sa.ForeignKey("shelf.id"), primary_key=True),
    sa.Column("label_id", sa.ForeignKey("label.id"), primary_key=True),
)


class Label(Base):
    __tablename__ = "label"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class Shelf(Base):
    """A record whose relationships can be written."""

    __tablename__ = "shelf"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    ownerId: Mapped[int | None] = mapped_column(sa.ForeignKey("owner.id"))

    owner: Mapped[Owner | None] = relationship()
    labels: Mapped[list[Label]] = relationship(secondary=shelf_label)


class Member(Base):
    __tablename__ = "member"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str] = mapped_column(sa.String(200))


class Token(TokenMixin, Base):
    __tablename__ = "token"


class Memo(Base):
    __tablename__ = "memo"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(100))
    memberId: Mapped[int] = mapped_column(sa.ForeignKey("member.id"))


class Words:
    """Records without a schema, whose identifiers mean something in JavaScript."""

    id = "name"

    def get(self, id: t.Any, params: t.Any) -> t.Any:
        return {"name": id, "length": len(id)}


class Status:
    """One record in place of a list."""

    def find(self, params: t.Any) -> t.Any:
        return {"state": "well", "queue": {"length": 3}}


class Notes:
    """The notes of one user, who is named in the path."""

    def find(self, params: t.Any) -> t.Any:
        return [{"id": 1, "of": params.route["user_id"]}]

    def count(self, data: t.Any, params: t.Any) -> t.Any:
        return {"of": params.route["user_id"]}


def create_app() -> t.Any:
    """Return the ASGI application, with records of its own."""
    app = Flask("<u>shop</u>")
    url = os.environ.get("DATABASE_URL", "sqlite://")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["SECRET_KEY"] = os.environ.get("SECRET_KEY", "not a secret of anybody")
    app.config["RECORDS_EXPLORER"] = {"enabled": True}
    app.config["RECORDS_BOUNDS"] = {"multi": 200}
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords(url_prefix="/api")
    things = records.add(
        "things",
        SQLAlchemyService(
            Thing,
            paginate={"default": 10, "max": 50},
            multi=True,
            converters={sa.BigInteger: Converter(show=str, schema=BIG_INTEGER)},
            whitelist=["$and", "$between", "$null", "$populate", "$search"],
        ),
        public=True,
    )
    records.add(
        "owners", SQLAlchemyService(Owner, whitelist=["$populate"]), public=True
    )
    events = SQLAlchemyService(Event)
    records.add("log/events", events, methods=["find", "create"], public=True)

    records.add("stars", SQLAlchemyService(Star, multi=True), public=True)
    records.add("labels", SQLAlchemyService(Label), public=True)
    shelves = SQLAlchemyService(
        Shelf, whitelist=["$populate"], writable_relations=["labels"]
    )
    records.add("shelves", shelves, public=True)
    records.add("words", Words(), public=True)
    records.add("status", Status(), public=True)
    notes = {"methods": ["find", "count"], "events": ["counted"]}
    records.add("users/<user_id>/notes", Notes(), public=True, **notes)

    @things.before("create", "update", "patch")
    def refuse(method: str, context: HookContext) -> None:
        for body in context.bodies:
            if body.get("name") == "refused":
                raise BadRequest(MARKUP, errors={"name": MARKUP})

            if body.get("name") == "broken":
                raise GeneralError("The shelf has fallen")

    realtime = Realtime(records)
    things.publish()(lambda event, record, context: ["anonymous"])
    records.init_app(app)
    realtime.init_app(app)
    Explorer(records).init_app(app)

    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            sa.event.listen(db.engine, "connect", check_references)

        db.create_all()

        # Each has the identifier of its place.
        for record in _examples():
            db.session.add(record)
            db.session.flush()

        db.session.commit()

    return realtime.asgi(app)


def check_references(connection: t.Any, record: t.Any) -> None:
    """Let SQLite check foreign keys, as other databases do."""
    connection.execute("PRAGMA foreign_keys = ON")


def create_members() -> t.Any:
    """Return the ASGI application of members: the first sees what others see."""
    app = Flask("members")
    app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["DATABASE_URL"]
    app.config["SECRET_KEY"] = os.environ["SECRET_KEY"]
    app.config["RECORDS_EXPLORER"] = {"enabled": True}
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords(allow=dict.fromkeys(["update", "patch", "remove"], True))
    authentication = AuthenticationService(tokens=TableTokens(Token))
    records.add("authentication", authentication)
    members = SQLAlchemyService(Member, hidden=["password"])
    added = records.add("users", members, public=["create"])
    added.before("create", "update", "patch")(hash_password())
    memos = SQLAlchemyService(Memo, paginate={"default": 10})
    records.add("memos", memos, readable={"memberId": FromUser("id")})
    realtime = Realtime(records)
    records.init_app(app)
    realtime.init_app(app)
    Explorer(records, as_user=lambda user: user["id"] == 1).init_app(app)

    with app.app_context():
        db.create_all()

    return realtime.asgi(app)


def create_many() -> t.Any:
    """Return the ASGI application of 500 services."""
    app = Flask("many")
    app.config["RECORDS_EXPLORER"] = {"enabled": True}
    records = FlaskRecords()

    for number in range(500):
        records.add(f"group-{number // 50}/status-{number}", Status(), public=True)

    realtime = Realtime(records)
    records.init_app(app)
    realtime.init_app(app)
    Explorer(records).init_app(app)
    return realtime.asgi(app)


def _examples() -> list[Base]:
    owner = Owner(name="Ann <b>Lee</b>")
    full = Thing(
        name="Lamp",
        text=f"{MARKUP} " + "A long text. " * 60,
        count=3,
        big=2**60,
        ratio=0.5,
        price=Decimal("9.90"),
        isNew=True,
        color="<b>red</b>",
        madeAt=dt.datetime(2026, 1, 31, 22, 30),
        day=dt.date(2026, 1, 31),
        opens=dt.time(10),
        takes=dt.timedelta(seconds=90),
        token=uuid.UUID(int=7),
        image=PNG * 40,
        notes={"shade": ["round", None, {"<b>key</b>": MARKUP}]},
        ownerId=1,
    )
    setattr(full, "<i>size</i>", "<u>small</u>")
    empty = Thing(name="", text="", isNew=False, notes=[], image=b"")
    others = [Thing(name=f"Thing {n}", count=n, ownerId=1) for n in range(1, 41)]
    lines = [
        Event(text=f"Line {number}", rank=number if number > 3 else None)
        for number in range(1, 121)
    ]
    stars = [
        Star(id=2**53 + number, name=name, facts={"seen": [2**60]}, distance=2**60)
        for number, name in enumerate(["even", "odd"])
    ]
    labels = [Label(name="red"), Label(name="blue")]
    shelf = Shelf(name="Top", owner=owner, labels=labels[:1])
    return [owner, full, empty, Thing(), *others, *lines, *stars, *labels, shelf]
