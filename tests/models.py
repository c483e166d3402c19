"""The models that the tests serve."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    # MariaDB compares text without regard to case unless it is told otherwise.
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


membership = sa.Table(
    "membership",
    Base.metadata,
    sa.Column("user_id", sa.ForeignKey("user_account.id"), primary_key=True),
    sa.Column("room_id", sa.ForeignKey("room.id"), primary_key=True),
)


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))
    age: Mapped[int | None]

    messages: Mapped[list[Message]] = relationship(back_populates="user")
    rooms: Mapped[list[Room]] = relationship(secondary=membership)


class Room(Base):
    __tablename__ = "room"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50))

    messages: Mapped[list[Message]] = relationship(
        back_populates="room", cascade="all, delete-orphan"
    )


class Message(Base):
    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(200))
    rank: Mapped[int | None]
    read: Mapped[bool] = mapped_column(default=False)
    room_id: Mapped[int | None] = mapped_column(sa.ForeignKey("room.id"))
    user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("user_account.id"))

    room: Mapped[Room | None] = relationship(back_populates="messages")
    user: Mapped[User | None] = relationship(back_populates="messages")

    @hybrid_property
    def is_long(self) -> bool:
        return len(self.text) > 20

    @is_long.inplace.expression
    @classmethod
    def _is_long(cls) -> sa.ColumnElement[bool]:
        return sa.func.length(cls.text) > 20


def model_of(**members):
    """A model of things, apart from all others, with some members beside the key."""
    base = type("Base", (DeclarativeBase,), {})
    default = {
        "__tablename__": "thing",
        "id": mapped_column(sa.Integer, primary_key=True),
    }
    return type("Thing", (base,), default | members)


class Color(enum.Enum):
    red = 1
    green = 2


class Everything(Base):
    """One column of each type."""

    __tablename__ = "everything"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    integer: Mapped[int | None]
    small: Mapped[int | None] = mapped_column(sa.SmallInteger)
    big: Mapped[int | None] = mapped_column(sa.BigInteger)
    text: Mapped[str | None] = mapped_column(sa.Text)
    short: Mapped[str | None] = mapped_column("short_text", sa.String(10))
    boolean: Mapped[bool | None]
    real: Mapped[float | None] = mapped_column(sa.Double)
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    naive: Mapped[dt.datetime | None] = mapped_column(sa.DateTime)
    aware: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    day: Mapped[dt.date | None]
    clock: Mapped[dt.time | None]
    span: Mapped[dt.timedelta | None] = mapped_column(sa.Interval)
    unique_id: Mapped[uuid.UUID | None]
    color: Mapped[Color | None]
    word: Mapped[str | None] = mapped_column(sa.Enum("yes", "no", name="word"))
    blob: Mapped[bytes | None] = mapped_column(sa.LargeBinary)
    document: Mapped[Any | None] = mapped_column(sa.JSON)


class Animal(Base):
    """The base of joined-table inheritance."""

    __tablename__ = "animal"
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "animal"}

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(20))
    name: Mapped[str] = mapped_column(sa.String(50))


class Dog(Animal):
    __tablename__ = "dog"
    __mapper_args__ = {"polymorphic_identity": "dog"}

    id: Mapped[int] = mapped_column(sa.ForeignKey("animal.id"), primary_key=True)
    breed: Mapped[str | None] = mapped_column(sa.String(50))
