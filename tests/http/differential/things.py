"""Records of the usual types, which are queried on each database and in Python."""

from __future__ import annotations

import datetime as dt
import enum
import json
import random
import re
import unicodedata
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, Params, SQLAlchemyService
from flask_records.http.formatter import dumps

from ...databases import served
from ...models_operators import WHITELIST
from .oracle import Comparison, Oracle

TEXTS = ["", "a", "A", "b", "ab", "a ", " a", "null", "é", "E", "ΟΔΟΣ", "οδος", "😀"]
TEXTS += ["%", "_", "\\", "'", '"', "[a]", "*", "1", "1.0", "true", "x" * 50]
MOMENT = dt.datetime(2024, 2, 29, 12, 30, 15)


class Base(DeclarativeBase):
    pass


class Color(enum.Enum):
    red = 1
    green = 2


class Thing(Base):
    __tablename__ = "different_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int | None]
    big: Mapped[int | None] = mapped_column(sa.BigInteger)
    ratio: Mapped[float | None] = mapped_column(sa.Double)
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    done: Mapped[bool | None]
    # Servers order text as SQLite does only if they are told to.
    name: Mapped[str | None] = mapped_column(
        sa.String(50)
        .with_variant(sa.String(50, collation="C"), "postgresql")
        .with_variant(sa.String(50, collation="utf8mb4_nopad_bin"), "mariadb")
    )
    word: Mapped[str | None] = mapped_column(sa.String(50))
    made: Mapped[dt.datetime | None]
    day: Mapped[dt.date | None]
    clock: Mapped[dt.time | None]
    span: Mapped[dt.timedelta | None]
    token: Mapped[uuid.UUID | None]
    color: Mapped[Color | None]
    document: Mapped[Any | None] = mapped_column(sa.JSON)


VALUES = {
    "rank": [0, 1, 2, -1, 2**31 - 1, -(2**31)],
    "big": [0, 2**53, 2**53 + 1, -(2**63), 2**63 - 1],
    "ratio": [0.0, 0.1, 0.30000000000000004, -2.5, 1e300, 5e-324],
    "price": [Decimal(each) for each in ("0.00", "0.10", "9.90", "-99999999.99")],
    "done": [True, False],
    "name": TEXTS,
    "word": TEXTS,
    "made": [MOMENT + dt.timedelta(hours=each) for each in (0, 1, -13)],
    "day": [dt.date(2024, 2, 29), dt.date(2024, 3, 1), dt.date(1900, 1, 1)],
    "clock": [dt.time(0), dt.time(12, 30), dt.time(23, 59, 59)],
    "span": [dt.timedelta(0), dt.timedelta(seconds=90), dt.timedelta(days=-1)],
    "token": [uuid.UUID(int=each) for each in (1, 2, 2**127)],
    "color": ["red", "green"],
    "document": [0, 1, 1.5, -1e300, 2**53 + 1, True, False, "a", "A"]
    + [[], {}, [1], [1, [None]], {"a": 1}, {"a": {"b": "ä", "c": 0.1}}],
}
"""The values of each field, besides null."""

TEXT_FIELDS = {"name", "word"}

UNORDERED = {"word", "color", "document"}
"""The fields that have no order, or another one in each database."""


def _ascii_lower(text):
    return re.sub("[A-Z]", lambda match: match[0].lower(), text)


def _without_accents(text):
    parts = unicodedata.normalize("NFD", text.lower().replace("ς", "σ"))
    return "".join(part for part in parts if not unicodedata.combining(part))


COMPARISONS = {
    # It knows the case of ASCII letters only, and LIKE ignores it.
    "sqlite": dict.fromkeys(
        TEXT_FIELDS, Comparison(any_case=_ascii_lower, case=_ascii_lower)
    ),
    # The collation C knows the case of ASCII letters only.
    "postgresql": {"name": Comparison(any_case=_ascii_lower)},
    # Its default collation knows neither case nor accents, nor spaces at the end.
    "mariadb": {
        "word": Comparison(
            lambda text: _without_accents(text).rstrip(" "),
            _without_accents,
            _without_accents,
            re.IGNORECASE,
        )
    },
}
"""The fields that a database compares in a way of its own."""


def seeds(count=60):
    """Return records of all values, with many equal ones and nulls."""
    generator = random.Random(12)
    names = list(VALUES)
    return [
        {
            "id": id,
            **{
                name: generator.choice([None, *VALUES[name], *VALUES[name]])
                for name in names
            },
        }
        for id in range(1, count + 1)
    ]


@dataclass(frozen=True)
class World:
    """A service of things on one database, and the reference of the same records."""

    app: Any
    client: Any
    service: Any
    engine: Any
    oracle: Oracle

    @classmethod
    @contextmanager
    def on(cls, url):
        """Serve the records from an empty database."""
        db, records = SQLAlchemy(model_class=Base), FlaskRecords(app_errors=True)
        names = [*WHITELIST, "$not", "$nor"]
        added = SQLAlchemyService(
            Thing, multi=True, whitelist=names, paginate={"default": 20, "max": 50}
        )
        service = records.add("things", added, public=True)

        with served(db, records, url) as app:
            with app.app_context():
                engine = db.engine

            oracle = Oracle(seeds(), COMPARISONS[sa.make_url(url).get_backend_name()])
            world = cls(app, app.test_client(), service, engine, oracle)
            world.restore()
            yield world

    def restore(self):
        """Make the records what they are in the beginning."""
        with self.engine.begin() as connection:
            connection.execute(sa.delete(Thing))
            connection.execute(sa.insert(Thing), seeds())

    def rows(self):
        """Return the columns of each record, by its identifier."""
        with self.engine.connect() as connection:
            rows = connection.execute(sa.select(Thing.__table__)).mappings()
            return {row["id"]: dict(row) for row in rows}

    def typed_records(self):
        """Return all records, with values of Python's types."""
        with self.app.app_context():
            return self.service.find(Params(paginate=False))

    def matches(self, records, query):
        """Return what the matcher tells of each record."""
        with self.app.app_context():
            test = self.service.target.matching().test(query)
            return [test(record) for record in records]

    def find(self, query):
        """Return what a call in Python gives, as it is in JSON."""
        with self.app.app_context():
            return in_json(self.service.find(Params(query)))


def in_json(value):
    """Return a value as it is in JSON."""
    return json.loads(dumps(value))
