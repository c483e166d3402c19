"""The types of columns, each with values at its edges."""

import datetime as dt
import enum
import uuid
from dataclasses import replace

import sqlalchemy as sa
from hypothesis import strategies as st
from sqlalchemy.dialects import mysql, postgresql

from .kinds import (
    arrays,
    bytes_,
    choices,
    decimals,
    documents,
    exact,
    floats,
    foreign,
    Kind,
    moment,
    moments,
    numbers,
    texts,
)
from .rules import padded, whole_seconds


class Color(enum.Enum):
    red = 1
    green = 2


class Lower(sa.TypeDecorator):
    """A type of an application, which changes what it stores."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else value.lower()


UUIDS = Kind(
    sa.Uuid(),
    [str(uuid.UUID(int=each)) for each in (1, 2, 2**64, 2**100, 2**127)],
    [str(uuid.UUID(int=2**128 - 1)), str(uuid.UUID(int=0)), "x", "1234"]
    + ["ffffffff-ffff-1fff-bfff-ffffffffffff", "00000000-0000-0000-8000-000000000000"]
    + ["EB6D65402A2D45BEB1A97A6AFB7EDECC", "{0f8fad5b-d9cb-469f-a165-70867728950e}"],
    st.uuids().map(str)
    | st.integers(0, 2**128 - 1).map(lambda n: str(uuid.UUID(int=n))),
    uuid.UUID,
    other_order=["mariadb"],
)
TIMES = Kind(
    sa.Time(),
    ["00:00:00", "12:30:00", "23:59:59"],
    ["23:59:59.999999", "12:30:00.5", "24:00:00", "12:30:00Z", "12:30:00+05:00"],
    st.times().map(dt.time.isoformat),
    dt.time.fromisoformat,
    whole_seconds,
)
SPANS = Kind(
    sa.Interval(),
    [0.0, 1.0, 90061.0, -86400.0],
    [0.5, 1e-6, -0.5, 1e9, -1e9, 1e11, 86399999913600.0, -86399999913600.0, 1e15],
    st.timedeltas().map(dt.timedelta.total_seconds) | st.floats(-1e10, 1e10),
    lambda value: dt.timedelta(seconds=value),
    whole_seconds,
)
BOOLEANS = Kind(sa.Boolean(), [True, False], [2, "x", 1.0, 0, [], "١"], st.booleans())

TYPES = {
    "Integer()": numbers(sa.Integer(), 32),
    "SmallInteger()": numbers(sa.SmallInteger(), 16),
    "BigInteger()": numbers(sa.BigInteger(), 64),
    "Float()": floats(sa.Float(), databases=["sqlite", "postgresql"]),
    "Double()": floats(sa.Double()),
    "Numeric(10, 2)": decimals(sa.Numeric(10, 2), ["9.90", "-99999999.99", "0.01"]),
    "Numeric(20, 10)": decimals(sa.Numeric(20, 10)),
    # MariaDB would round to integers, so that the service refuses to start.
    "Numeric()": decimals(sa.Numeric(), databases=["sqlite", "postgresql"]),
    "Numeric(10, 2, asdecimal=False)": decimals(
        sa.Numeric(10, 2, asdecimal=False), [9.9, -1.5]
    ),
    "Boolean()": BOOLEANS,
    "String(5)": texts(exact(sa.String, 5)),
    "Text()": texts(exact(sa.Text), ["x" * 6000]),
    "CHAR(5)": replace(
        texts(exact(sa.CHAR, 5), stored=padded),
        # Spaces that are added are greater than control characters.
        others=["a ", " a", "  ", "x" * 6, "e\u0301"],
        random=st.text(st.characters(min_codepoint=32), max_size=6),
    ),
    "Date()": Kind(
        sa.Date(),
        ["2024-02-29", "1970-01-01", "2000-12-31"],
        ["0001-01-01", "9999-12-31", "1000-01-01", "2024-02-29T00:00:00Z", 0],
        st.dates().map(dt.date.isoformat),
        lambda value: (
            moment(value).date()
            if isinstance(value, int) or "T" in value
            else dt.date.fromisoformat(value)
        ),
    ),
    "DateTime()": moments(sa.DateTime(), stored=whole_seconds),
    "DateTime(timezone=True)": moments(
        sa.DateTime(timezone=True), stored=whole_seconds
    ),
    "Time()": TIMES,
    "Interval()": SPANS,
    "Uuid()": UUIDS,
    "Uuid(as_uuid=False)": replace(UUIDS, type=sa.Uuid(as_uuid=False)),
    "Enum(Color)": choices(sa.Enum(Color, name="color_of_class")),
    'Enum("red", "green")': choices(sa.Enum("red", "green", name="color_of_texts")),
    'Enum("null", "", "red")': replace(
        choices(sa.Enum("null", "", "red", name="color_of_odd_texts")),
        kept=["null", "", "red"],
        takes_null=True,
    ),
    "LargeBinary()": bytes_(sa.LargeBinary()),
    "LargeBinary(10)": bytes_(sa.LargeBinary(10)),
    "VARBINARY(10)": bytes_(
        sa.VARBINARY(10).with_variant(postgresql.BYTEA(), "postgresql")
    ),
    "JSON()": documents(sa.JSON()),
    "Lower(5)": texts(exact(Lower, 5), stored=lambda _, value: value.lower()),
    "postgresql.JSONB()": documents(postgresql.JSONB(), databases=["postgresql"]),
    "postgresql.ARRAY(Integer)": arrays(sa.Integer(), [[1, 2], [3]], [[2**31]]),
    "postgresql.ARRAY(Text)": arrays(sa.Text(), [["a", "null"], ["", "{,}"]]),
    "postgresql.ARRAY(Enum(Color))": arrays(
        sa.Enum(Color, name="color_of_items"), [["red", "green"]], [["blue"]]
    ),
    "postgresql.ARRAY(Uuid)": arrays(sa.Uuid(), [[str(uuid.UUID(int=1))]]),
    "postgresql.ARRAY(DateTime)": arrays(sa.DateTime(), [["2024-02-29T12:30:15.000Z"]]),
    "postgresql.ARRAY(Numeric)": arrays(sa.Numeric(), [["9.90", "1"]], [["NaN"]]),
    "postgresql.INET()": foreign(
        postgresql.INET(), ["10.0.0.1", "::1"], ["10.0.0.0/8", "x", "300.1.1.1", "\0"]
    ),
    "postgresql.INT4RANGE()": foreign(
        postgresql.INT4RANGE(), [], ["[1,3)", "empty", "x", "[3,1)"]
    ),
    "mysql.TINYINT()": numbers(mysql.TINYINT(), 8, databases=["mariadb"]),
    "mysql.MEDIUMINT()": numbers(mysql.MEDIUMINT(), 24, databases=["mariadb"]),
    "mysql.INTEGER(unsigned=True)": numbers(
        mysql.INTEGER(unsigned=True), 32, unsigned=True, databases=["mariadb"]
    ),
    "mysql.BIGINT(unsigned=True)": numbers(
        mysql.BIGINT(unsigned=True), 64, unsigned=True, databases=["mariadb"]
    ),
    "mysql.BIT(8)": numbers(mysql.BIT(8), 8, unsigned=True, databases=["mariadb"]),
    "mysql.YEAR()": foreign(
        mysql.YEAR(), [], [2024, 1901, 2155, 2156, 0, 1, 99, "x"], "mariadb"
    ),
    "mysql.DATETIME(fsp=6)": moments(mysql.DATETIME(fsp=6), databases=["mariadb"]),
    "mysql.TIME(fsp=6)": replace(
        TIMES,
        type=mysql.TIME(fsp=6),
        stored=lambda database, value: value,
        databases=["mariadb"],
    ),
    'mysql.ENUM("red", "green")': replace(
        choices(mysql.ENUM("red", "green")), databases=["mariadb"]
    ),
}
"""The kinds of columns, by their types as a model writes them."""


def types_of(database):
    """Return the names of the kinds that a database has."""
    return [name for name, kind in TYPES.items() if database in kind.databases]
