"""Models that a single statement writes as well as the unit of work."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Shade(enum.Enum):
    red = "r"
    green = "g"


class Owner(Base):
    __tablename__ = "single_owner"

    id: Mapped[int] = mapped_column(primary_key=True)


class Thing(Base):
    """One constraint of each kind, and columns with names of their own."""

    __tablename__ = "single_thing"
    __table_args__ = (
        sa.UniqueConstraint("x", "y"),
        sa.CheckConstraint("amount >= 0", name="single_amount"),
        Base.__table_args__,
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str | None] = mapped_column(sa.String(20), unique=True)
    amount: Mapped[int | None]
    needed: Mapped[str] = mapped_column(sa.String(20), server_default="it's :x")
    owner_id: Mapped[int | None] = mapped_column(sa.ForeignKey("single_owner.id"))
    label: Mapped[str | None] = mapped_column("label_text", sa.String(20))
    rank: Mapped[int | None] = mapped_column("rank_number", key="rank_key")
    color: Mapped[Shade | None]
    short: Mapped[Shade | None] = mapped_column(
        sa.Enum(Shade, values_callable=lambda e: [m.value for m in e], name="shorts")
    )
    word: Mapped[str | None] = mapped_column(sa.Enum("yes", "no", name="single_answer"))
    document: Mapped[Any | None] = mapped_column(sa.JSON)
    at: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    x: Mapped[int | None]
    y: Mapped[int | None]

    owner: Mapped[Owner | None] = relationship()


class Filled(Base):
    """One column of each kind of default."""

    __tablename__ = "single_filled"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    scalar: Mapped[str | None] = mapped_column(sa.String(20), default="free")
    called: Mapped[str] = mapped_column(sa.String(20), default=lambda: "called")
    derived: Mapped[str] = mapped_column(
        sa.String(20), default=lambda context: context.get_current_parameters()["name"]
    )
    zero: Mapped[int] = mapped_column(default=0)
    expression: Mapped[int] = mapped_column(default=sa.literal_column("1 + 2"))
    server: Mapped[str | None] = mapped_column(sa.String(20), server_default="it's :x")
    server_number: Mapped[int] = mapped_column(server_default=sa.text("7"))
    color: Mapped[Shade] = mapped_column(default=Shade.green)
    note: Mapped[str | None] = mapped_column(sa.String(20))


class Sum(Base):
    __tablename__ = "single_sum"

    id: Mapped[int] = mapped_column(primary_key=True)
    one: Mapped[int]
    two: Mapped[int] = mapped_column(sa.Computed("one + one", persisted=True))


class Word(Base):
    __tablename__ = "single_word"

    name: Mapped[str] = mapped_column(sa.String(20), primary_key=True)
    text: Mapped[str | None] = mapped_column(sa.Text)


class Stamp(Base):
    """A primary key that Python makes up, which says nothing of the order."""

    __tablename__ = "single_stamp"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    number: Mapped[int]


MOMENT = dt.datetime(2024, 2, 29, 12, 30, 15, tzinfo=dt.UTC)
ROWS = {
    "single_thing": [
        {"id": 9001, "code": "a", "amount": 1, "owner_id": 1, "label": "l", "rank": 5}
        | {"color": Shade.red, "short": Shade.red, "word": "yes", "x": 1, "y": 1}
        | {"document": {"a": 1}, "at": MOMENT},
        {"id": 9002, "code": "b", "amount": 2, "label": "l", "document": sa.null()},
    ],
    "single_filled": [{"id": 9001, "name": "Ann", "note": "x"}],
    "single_sum": [{"id": 9001, "one": 1}],
    "single_word": [{"name": "a", "text": "Zoë 🎉"}],
}
"""The rows that are stored at first, by table."""

MODELS = {
    "owners": (Owner, {}),
    "things": (Thing, {}),
    "named": (Thing, {"id": "code"}),
    "filled": (Filled, {}),
    "sums": (Sum, {}),
    "words": (Word, {}),
    "stamps": (Stamp, {}),
}
"""The models by the paths of their services, and the options of these."""
