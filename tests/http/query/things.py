"""A model with a field of each type, and the table of queries that are run on it."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import column_property
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import sessionmaker
from sqlalchemy.types import TypeDecorator

from flask_records import Operator
from flask_records import SQLAlchemyService
from flask_records.query.operators import Bound

WHITELIST = "$and $nor $not $like $notLike $ilike $search $null $between".split()
DAY = dt.date(2024, 1, 1)
NOON = dt.datetime(2024, 1, 1, 12)
UTC_NOON = NOON.replace(tzinfo=dt.UTC)
KEY, OTHER_KEY = uuid.UUID(int=7), uuid.UUID(int=8)
NEAR = Operator(lambda column, value: sa.func.abs(column - value) < 2)
ABOVE = Operator(
    lambda column, value: column.is_(None) if value is None else column > value,
    bound=Bound.ONE,
)
OPERATORS = {"$near": NEAR, "$above": ABOVE}


class Color(enum.Enum):
    red = 1
    green = 2


class Stars(TypeDecorator[int]):
    """A number that is stored as so many stars."""

    impl = sa.String(10)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else "*" * int(value)

    def process_result_value(self, value, dialect):
        return None if value is None else str(len(value))


class Cents(TypeDecorator[int]):
    """A number that is compared with the text of another as it is stored."""

    impl = sa.Integer
    cache_ok = True

    def coerce_compared_value(self, op, value):
        return self if isinstance(value, int) else sa.String()

    def process_bind_param(self, value, dialect):
        return None if value is None else value * 100

    def process_result_value(self, value, dialect):
        return None if value is None else value // 100


class Base(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Thing(Base):
    """Everything that a query can compare."""

    __tablename__ = "reuse_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))
    rank: Mapped[int | None]
    big: Mapped[int | None] = mapped_column(sa.BigInteger)
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    real: Mapped[float | None] = mapped_column(sa.Double)
    done: Mapped[bool | None]
    color: Mapped[Color | None]
    word: Mapped[str | None] = mapped_column(sa.Enum("yes", "no", name="reuse_word"))
    naive: Mapped[dt.datetime | None] = mapped_column(sa.DateTime)
    aware: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    day: Mapped[dt.date | None]
    clock: Mapped[dt.time | None]
    span: Mapped[dt.timedelta | None] = mapped_column(sa.Interval)
    key: Mapped[uuid.UUID | None]
    key_text: Mapped[str | None] = mapped_column(sa.Uuid(as_uuid=False))
    blob: Mapped[bytes | None] = mapped_column(sa.LargeBinary)
    document: Mapped[Any | None] = mapped_column(sa.JSON)
    stars: Mapped[int | None] = mapped_column(Stars)
    cents: Mapped[int | None] = mapped_column(Cents)
    secret: Mapped[str | None] = mapped_column(sa.String(20))

    @hybrid_property
    def is_top(self) -> bool:
        return self.rank > 2

    @hybrid_property
    def shout(self) -> str:
        return self.name.upper()

    @shout.inplace.expression
    @classmethod
    def _shout(cls) -> sa.ColumnElement[Any]:
        return sa.func.upper(cls.name)


Thing.next_rank = column_property(Thing.rank + 1)


class Counter(Base):
    """A model whose records are written by single statements."""

    __tablename__ = "reuse_counter"

    id: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int | None]
    big: Mapped[int | None]


def thing(n):
    """The values of a row. The last has none."""
    if n == 6:
        return {"id": 6}

    return {
        "id": n,
        "name": ["", "Ann", "ann", "Zoë", "50%"][n - 1],
        "rank": n % 4,
        "big": [2**63 - 1, -(2**63), 2**31, 0, 1][n - 1],
        "price": Decimal(["0.00", "1.50", "-1.50", "99999999.99", "0.10"][n - 1]),
        "real": [0.1, -1.5e300, 1.0, 2.0, 0.0][n - 1],
        "done": n % 2 == 0,
        "color": Color(1 + n % 2),
        "word": ["yes", "no"][n % 2],
        "naive": NOON + dt.timedelta(hours=n),
        "aware": UTC_NOON + dt.timedelta(hours=n),
        "day": DAY + dt.timedelta(days=n),
        "clock": dt.time(n, 30),
        "span": dt.timedelta(minutes=n),
        "key": uuid.UUID(int=n + 5),
        "key_text": str(uuid.UUID(int=n + 5)),
        "blob": bytes([n]),
        "document": [{"a": n}, n, str(n), True, None][n - 1],
        "stars": n,
        "cents": n,
        "secret": f"secret {n % 2}",
    }


THINGS = [thing(n) for n in range(1, 7)]


def service_over(engine, model=Thing, **options):
    """A service that has built no statement yet."""
    defaults = {"whitelist": WHITELIST, "operators": OPERATORS}
    session = {"session": sessionmaker(engine)}
    return SQLAlchemyService(model, **{**defaults, **session, **options})
