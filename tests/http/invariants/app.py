"""An application whose records are the same before each example."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from .strategies import OTHERS

TEXTS = ["", "a", "A", "b", "ab", "a ", "null", "é", "😀", "%", "_", "\\", "'", "1"]
NUMBERS = [-(2**31), -2, -1, 0, 1, 2, 3, 2**31 - 1]


class Base(DeclarativeBase):
    pass


class Color(enum.Enum):
    red = 1
    green = 2


class Thing(Base):
    __tablename__ = "thing"
    # Servers compare and sort text as SQLite does only if they are told to.
    __table_args__ = {"mariadb_collate": "utf8mb4_nopad_bin"}

    # PostgreSQL counts on from here, whatever identifiers the seeds have.
    id: Mapped[int] = mapped_column(sa.Identity(start=10_000), primary_key=True)
    name: Mapped[str | None] = mapped_column(
        sa.String(50).with_variant(sa.String(50, collation="C"), "postgresql")
    )
    rank: Mapped[int | None]
    password: Mapped[str | None] = mapped_column(sa.String(50))
    owner_id: Mapped[int | None]
    parent_id: Mapped[int | None] = mapped_column(sa.ForeignKey("thing.id"))
    done: Mapped[bool] = mapped_column(default=False)
    made: Mapped[dt.datetime | None]
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    color: Mapped[Color | None]
    document: Mapped[Any | None] = mapped_column(sa.JSON)

    parent: Mapped[Thing | None] = relationship(remote_side=id, viewonly=True)
    children: Mapped[list[Thing]] = relationship(viewonly=True)


def seeds():
    """The records that each example begins with."""
    return [
        {
            "id": id,
            "name": None if place % 6 == 5 else TEXTS[place * 5 % len(TEXTS)],
            "rank": None if place % 7 == 3 else NUMBERS[place * 3 % len(NUMBERS)],
            "password": f"hidden-{place % 5}",
            "owner_id": 2 if id in OTHERS else 1,
            "parent_id": (None, 501, 1, 2)[place % 4] if place > 3 else None,
            "done": place % 2 == 0,
            "made": dt.datetime(2024, 1, 1 + place % 3, 12),
            "price": Decimal(place % 4) / 4,
            "color": (Color.red, Color.green, None)[place % 3],
            "document": ({"a": 1}, [1, "x"], "text")[place % 3],
        }
        for place, id in enumerate([*OTHERS[:2], *range(1, 31), *OTHERS[2:]])
    ]


@dataclass(frozen=True)
class Answer:
    status: int
    content_type: str
    data: bytes


class World:
    """An app whose records are the same before each example."""

    def __init__(self, app, db):
        self.app = app
        self._client = app.test_client()
        self._is_changed = True

        with app.app_context():
            self._engine = db.engine

    def send(self, request):
        response = self._client.open(
            request.path,
            method=request.verb,
            query_string=request.query,
            data=request.body,
            content_type=request.content_type,
            headers={"Accept": request.accept},
        )

        if request.verb not in ("GET", "HEAD") and response.status_code < 300:
            self._is_changed = True

        return Answer(response.status_code, response.content_type, response.data)

    def rows(self):
        with self._engine.connect() as connection:
            return connection.execute(sa.select(Thing.__table__).order_by("id")).all()

    def restore(self):
        """Make the records what they are in the beginning."""
        if not self._is_changed:
            return

        with self._engine.begin() as connection:
            connection.execute(sa.update(Thing).values(parent_id=None))
            connection.execute(sa.delete(Thing))
            connection.execute(sa.insert(Thing), seeds())

        self._is_changed = False


def keep_to_owner(method, context):
    """A row-level rule: all callers are owner 1."""
    context.params.query["owner_id"] = 1
