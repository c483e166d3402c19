"""Records of types that Python compares otherwise match just where the database finds
them.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import column_property
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import BadRequest
from flask_records import FlaskRecords
from flask_records import SQLAlchemyService
from flask_records.http.formatter import dumps

from ...databases import served
from .test_matching import wrong


class Base(DeclarativeBase):
    pass


class Folded(sa.types.TypeDecorator):
    """Text that is compared in lower case."""

    impl = sa.String(20)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else value.lower()


class Negated(sa.types.TypeDecorator):
    """A number whose order in the database is turned round."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else -value

    def process_result_value(self, value, dialect):
        return None if value is None else -value


class Odd(Base):
    __tablename__ = "odd"

    id: Mapped[int] = mapped_column(primary_key=True)
    folded: Mapped[str | None] = mapped_column(Folded)
    negated: Mapped[int | None] = mapped_column(Negated)
    long: Mapped[Decimal | None] = mapped_column(sa.Numeric(38, 18))
    whole: Mapped[Decimal | None] = mapped_column(sa.Numeric(20, 0))
    single: Mapped[float | None] = mapped_column(sa.REAL)
    real: Mapped[float | None] = mapped_column(sa.Float)
    key: Mapped[uuid.UUID | None]
    text_key: Mapped[str | None] = mapped_column(sa.Uuid(as_uuid=False))
    fixed: Mapped[str | None] = mapped_column(sa.CHAR(5))
    span: Mapped[dt.timedelta | None] = mapped_column(sa.Interval)
    moment: Mapped[dt.datetime | None]
    doubled = column_property(sa.literal_column("whole", sa.Numeric(38, 0)))

    @hybrid_property
    def lower(self):
        return self.fixed and self.fixed.lower()

    @lower.inplace.expression
    @classmethod
    def _lower(cls):
        return sa.func.lower(cls.fixed)


UUIDS = [
    "00000000-0000-0000-0000-000000000001",
    "00000001-0000-1000-8000-000000000000",
    "ffffffff-0000-1000-8000-000000000001",
    "00000000-ffff-4fff-bfff-000000000000",
]

POOLS = {
    "folded": ["a", "A", "aB", "AB", "b", ""],
    "negated": [-2, -1, 0, 1, 2],
    "long": ["0.000000000000000001", "-0.5", "0", "12345678901234567890.5", "1E+2"],
    "whole": ["12345678901234567890", "12345678901234567891", "1E+19", "7"],
    "single": [0.1, 0.10000000149011612, 16777216, 16777217, -1e-20],
    "real": [0.1, 0.10000000149011612, 16777217, 1e30],
    "key": UUIDS,
    "text_key": UUIDS,
    "fixed": ["a", "A", "ab ", "ab", "é"],
    "span": [0, 1e-06, 90000.5, 200_000 * 86400 + 0.25],
    "moment": ["2024-01-02T03:04:05.123456Z", "0001-01-01", "9999-12-31T23:59:59Z"],
}
"""The values of each field, besides null."""


@pytest.fixture(scope="module")
def odd(module_url):
    """The service, and records of random values, typed and as they are in JSON."""
    random.seed(12)
    records = FlaskRecords()
    service = SQLAlchemyService(Odd, multi=True, whitelist=["$nor", "$not"])
    odd = records.add("odd", service, public=True)

    with served(SQLAlchemy(model_class=Base), records, module_url) as app:
        with app.app_context():
            for _ in range(40):
                name = random.choice(list(POOLS))
                create(odd, {name: random.choice(POOLS[name])})

            typed = odd._find()
            yield odd, [(record, json.loads(dumps(record))) for record in typed]


def create(odd, values):
    """Create a record, unless the database can't hold a value."""
    try:
        odd._create(values)
    except BadRequest:
        assert set(values) <= {"long", "whole", "moment", "key", "text_key"}


def condition():
    """A random condition of one field or two."""
    name = random.choice([*POOLS, "lower", "id"])
    values = [*POOLS.get(name, ["a", "é", 1][:2] if name == "lower" else [1, 2]), None]
    operator = random.choice(
        ["$eq", "$ne", "$in", "$nin", "$lt", "$lte", "$gt", "$gte"]
    )
    value = random.choices(values, k=2) if "in" in operator else random.choice(values)
    term = {name: {operator: value}}
    shapes = [term, {name: {"$not": {operator: value}}}, {"$nor": [term, {"id": 1}]}]
    return random.choice(shapes)


def test_matching_never_differs_from_the_database(odd):
    service, stored = odd
    random.seed(7)
    differences = []

    for _ in range(400):
        query = condition()

        try:
            differences += [(query, each) for each in wrong(service, stored, query)]
        except BadRequest as error:
            assert list(error.errors) == [name for name in query], query

    assert differences == []
