"""Values that are answered are found, sorted and taken back, on every database."""

from __future__ import annotations

import enum
import json
from contextlib import contextmanager
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import column_property
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import ExactNumeric
from flask_records import FlaskRecords
from flask_records import Params
from flask_records import SQLAlchemyService

from ..databases import served


class Size(enum.Enum):
    small = "S"
    large = "L"


UNSIGNED = mysql.INTEGER(unsigned=True)
INTEGER = sa.Integer().with_variant(UNSIGNED, "mysql", "mariadb")

TYPES = {
    # The type, the databases that have it or all, then what is sent and answered.
    "float": (sa.Double(), None, [(0.1, 0.1), (-1.5e30, -1.5e30), (1 / 3, None)]),
    "real": (
        sa.REAL(),
        ("sqlite", "mariadb"),
        [(0.1, 0.1), (16777216, 16777216.0), (1234567.8, None), (1e-45, None)],
    ),
    "decimal_float": (sa.Float(53, asdecimal=True), None, [(1 / 3, str(1 / 3))]),
    "numeric": (
        sa.Numeric(),
        ("sqlite", "postgresql"),
        [("9.90", None), ("123456789.12", "123456789.12"), ("-0.000001", None)],
    ),
    "integral": (sa.Numeric(10), None, [("10", "10"), (0, "0")]),
    "plain_numeric": (
        sa.Numeric(12, 4, asdecimal=False),
        None,
        [(0.1, 0.1), ("12345678.1234", 12345678.1234)],
    ),
    "exact": (
        ExactNumeric(18, 4),
        None,
        [
            ("12345678901234.5678", "12345678901234.5678"),
            ("-0.0001", "-0.0001"),
            ("9.9", "9.9000"),
        ],
    ),
    "unsigned": (UNSIGNED, ("mariadb",), [(2**32 - 1, 2**32 - 1), (0, 0)]),
    "variant": (INTEGER, ("mariadb",), [(2**32 - 1, 2**32 - 1)]),
    "tiny": (mysql.TINYINT(), ("mariadb",), [(-128, -128), (127, 127)]),
    "bit": (mysql.BIT(8), ("mariadb",), [(0, 0), (255, 255)]),
    "year": (mysql.YEAR(), ("mariadb",), [(0, 0), (1901, 1901), (2155, 2155)]),
    "set": (mysql.SET("a", "b", "c"), ("mariadb",), [("a,c", "a,c"), ("", "")]),
    "stamp": (
        mysql.TIMESTAMP(fsp=6),
        ("mariadb",),
        [("2038-01-19T03:14:07.999999Z", "2038-01-19T03:14:07.999999Z")],
    ),
    "aware": (
        sa.DateTime(timezone=True),
        None,
        [("0001-01-02T00:00:00Z", "0001-01-02T00:00:00.000Z")],
    ),
    "zoned": (
        sa.Time(timezone=True),
        ("postgresql",),
        [("10:00:00+02:00", "10:00:00+02:00"), ("10:00:00", "10:00:00+00:00")],
    ),
    "interval": (
        sa.Interval(),
        None,
        [(-86400, -86400.0), (253402300799 - 86400, 253402300799.0 - 86400)],
    ),
    "bytes": (sa.LargeBinary(), None, [("", ""), ("AP8Q", "AP8Q")]),
    "enums": (
        sa.ARRAY(sa.Enum(Size)),
        ("postgresql",),
        [(["small", "large"], ["small", "large"]), ([], [])],
    ),
    "bits": (postgresql.BIT(3), ("postgresql",), [("010", "010"), ("111", "111")]),
    "range": (postgresql.INT4RANGE(), ("postgresql",), [("[1,5)", "[1,5)")]),
    "matrix": (
        postgresql.ARRAY(sa.SmallInteger, dimensions=2),
        ("postgresql",),
        [([[1, 2], [3, 4]], [[1, 2], [3, 4]])],
    ),
    "uuid": (
        sa.Uuid(),
        None,
        [("12345678-1234-8234-9234-123456789012",) * 2, ("f" * 32, None)],
    ),
    "chars": (sa.CHAR(5), None, [("ab", None), ("abcde", "abcde")]),
}
UNORDERED = ("enums", "matrix", "set")

# SQLAlchemy 2.1 warns of its own types.
pytestmark = pytest.mark.filterwarnings("ignore:Type object")


@contextmanager
def client_of(type_, url, **key):
    """A client of a service whose records have one value."""

    class Base(DeclarativeBase):
        pass

    class Thing(Base):
        __tablename__ = "thing"

        if not key:
            id: Mapped[int] = mapped_column(primary_key=True)

        value = mapped_column(type_, **key)
        note: Mapped[str | None] = mapped_column(sa.String(20))

    records, db = FlaskRecords(), SQLAlchemy(model_class=Base)
    service = SQLAlchemyService(Thing, multi=True, whitelist=["$null", "$regex"])
    records.add("things", service, public=True)

    with served(db, records, url) as app:
        with app.app_context():
            sa.event.listen(db.engine, "checkout", go_far_east)

        app.db, app.model = db, Thing
        yield app.test_client()


def go_far_east(connection, *rest):
    if type(connection).__module__.startswith("psycopg"):
        connection.cursor().execute("SET SESSION TIME ZONE 'Asia/Tokyo'")


def has(url, databases):
    return databases is None or sa.make_url(url).get_backend_name() in databases


def text_of(value):
    return quote(value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize("name", TYPES)
def test_an_answered_value_is_found_and_taken_back(database_url, name):
    type_, databases, values = TYPES[name]

    if not has(database_url, databases):
        return

    with client_of(type_, database_url) as client:
        for sent, expected in values:
            created = client.post("/things", json={"value": sent, "note": "a"})
            record = created.json
            answered = record["value"]
            found = client.get(f"/things?value={text_of(answered)}")
            path = f"/things/{record['id']}"
            patched = client.patch(path, json={"value": answered})
            updated = client.put(path, json=record)
            many = client.patch("/things", json={"value": answered})
            client.delete(path)

            assert created.status_code == 201, created.json
            assert expected is None or answered == expected
            assert found.json == [record]
            assert patched.json == record
            assert updated.json == record
            assert many.json == [record]


@pytest.mark.parametrize("name", [name for name in TYPES if name not in UNORDERED])
def test_answered_values_are_in_order(database_url, name):
    type_, databases, values = TYPES[name]

    if not has(database_url, databases):
        return

    with client_of(type_, database_url) as client:
        for sent, _ in values:
            client.post("/things", json={"value": sent})

        sorted_ = client.get("/things?$sort[value]=1").json

        for index, record in enumerate(sorted_):
            text = text_of(record["value"])
            lower = client.get(f"/things?value[$lt]={text}&$sort[value]=1").json
            upper = client.get(f"/things?value[$gte]={text}&$sort[value]=1").json

            assert (lower, upper) == (sorted_[:index], sorted_[index:])


WRONG = {
    "numeric": [
        ("sqlite", "12345678901234567.1", "has more digits than SQLite keeps"),
        ("sqlite", "1e400", "has more digits than SQLite keeps"),
    ],
    "integral": [(None, "9.9", "has more than 0 decimal places")],
    "plain_numeric": [
        (None, 0.12345, "has more than 4 decimal places"),
        (None, 1e300, "is out of range"),
    ],
    "exact": [
        (None, "0.00001", "has more than 4 decimal places"),
        (None, 10**14, "is out of range"),
        (None, "1." + "0" * 30 + "1", "has more than 4 decimal places"),
    ],
    "unsigned": [("mariadb", -1, "is out of range")],
    "variant": [("mariadb", 2**32, "is out of range")],
    "tiny": [("mariadb", 128, "is out of range")],
    "bit": [("mariadb", 256, "is out of range")],
    "year": [("mariadb", 1900, "is out of range")],
    "set": [("mariadb", "d", "is none of a, b, c")],
    "stamp": [
        ("mariadb", "1969-12-31T00:00:00Z", "does not fit its column"),
        ("mariadb", "2107-01-01T00:00:00Z", "does not fit its column"),
    ],
    "aware": [
        ("postgresql", "9999-12-31T23:00:00Z", "is out of range"),
        ("postgresql", "0001-01-01T01:00:00Z", "is out of range"),
    ],
    "interval": [
        ("sqlite", 10**12, "does not fit its column"),
        ("mariadb", -(10**12), "does not fit its column"),
    ],
    "uuid": [
        (
            "mariadb",
            "12345678-1234-8234-1234-123456789012",
            "does not fit its column",
        )
    ],
    "enums": [("postgresql", ["medium"], "is none of small, large")],
    "bits": [
        ("postgresql", "11", "does not have the number of bits of its column"),
        ("postgresql", "1111", "does not have the number of bits of its column"),
        ("postgresql", "12x", "is not made of 0 and 1"),
    ],
    "matrix": [
        ("postgresql", [1], "is not a list"),
        ("postgresql", [[2**15]], "is out of range"),
    ],
    "chars": [
        (None, "abcdef", "has more than 5 characters"),
        ("postgresql", "\0", "has a NUL character"),
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_that_a_database_cannot_hold_is_refused(database_url, name):
    type_, databases, values = TYPES[name]

    if not has(database_url, databases):
        return

    with client_of(type_, database_url) as client:
        client.post("/things", json={"note": "a"})

        for database, value, why in values_for(database_url, WRONG[name]):
            created = client.post("/things", json={"note": "b", "value": value})
            patched = client.patch("/things/1", json={"value": value, "note": "b"})
            many = client.patch("/things", json={"value": value})

            for response in (created, patched, many):
                assert (response.status_code, response.json.get("errors")) == (
                    400,
                    {"value": why},
                ), (value, database)

        assert [each["note"] for each in client.get("/things").json] == ["a"]


def values_for(url, wrong):
    return [each for each in wrong if each[0] is None or has(url, (each[0],))]


@pytest.mark.parametrize("name", [*TYPES])
def test_python_finds_by_the_values_that_it_gets(database_url, name):
    type_, databases, values = TYPES[name]

    if not has(database_url, databases):
        return

    with client_of(type_, database_url) as client, client.application.app_context():
        things = client.application.extensions["records"]["things"]

        for sent, _ in values:
            record = things.create({"value": sent})
            query = {"value": {"$eq": record["value"]}, "id": record["id"]}

            assert things.find(Params(query)) == [record]
            assert things.update(record["id"], record) == record


@pytest.mark.parametrize(
    ("type_", "value"), [(sa.Enum(Size), "large"), (sa.Double(), 1234567.8)]
)
def test_expressions_are_answered_as_columns_are(database_url, type_, value):
    class Base(DeclarativeBase):
        pass

    class Thing(Base):
        __tablename__ = "thing"

        id: Mapped[int] = mapped_column(primary_key=True)
        value = mapped_column(type_)
        prop = column_property(sa.type_coerce(value, type_))

        @hybrid_property
        def hybrid(self):
            return self.value

    records = FlaskRecords()
    records.add("things", SQLAlchemyService(Thing), public=True)

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        client = app.test_client()
        record = client.post("/things", json={"value": value}).json
        text = text_of(record["value"])

        assert record["value"] == record["prop"] == record["hybrid"]
        assert client.get(f"/things?hybrid={text}&prop={text}").json == [record]
