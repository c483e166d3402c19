from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql

from flask_records.http.formatter import dumps
from flask_records.query.database_types import conversion_of
from flask_records.query.values import cast

from ..models import Color

UTC = dt.UTC
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
NOON = dt.datetime(2024, 1, 2, 12)


class Size(enum.Enum):
    """An enum with a name for a member that has one already."""

    small = 1
    tiny = 1
    large = 2


class Shade(enum.Enum):
    dark = "D"
    light = "L"


class Upper(sa.TypeDecorator):
    impl = sa.String(3)
    cache_ok = True


class Whole(sa.TypeDecorator):
    impl = sa.Integer
    cache_ok = True


class Pickled(sa.TypeDecorator):
    impl = sa.PickleType
    cache_ok = True


class Foreign(sa.types.UserDefinedType):
    cache_ok = True


SHADES = sa.Enum(Shade, values_callable=lambda shades: [each.value for each in shades])
WORDS = sa.Enum("yes", "no")
INTEGERS = sa.ARRAY(sa.Integer)


def read(type_, value, *, in_query=True):
    return cast(conversion_of(type_), value, in_query=in_query)


def same(value, expected):
    return value == expected and type(value) is type(expected)


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (sa.Integer(), "5", 5),
        (sa.Integer(), "5.0", 5),
        (sa.Integer(), 5.0, 5),
        (sa.Integer(), Decimal("5.0"), 5),
        (sa.Integer(), str(2**31 - 1), 2**31 - 1),
        (sa.SmallInteger(), str(-(2**15)), -(2**15)),
        (sa.BigInteger(), str(2**63 - 1), 2**63 - 1),
        (sa.Double(), "1e3", 1000.0),
        (sa.Double(), "-.5E-1", -0.05),
        (sa.Double(), 1, 1.0),
        (sa.Float(), Decimal("0.1"), 0.1),
        (sa.Numeric(10, 2), "1.10", Decimal("1.10")),
        (sa.Numeric(10, 2), 0.1, Decimal("0.1")),
        (sa.Numeric(10, 2), "1e3", Decimal("1000")),
        (sa.Numeric(10, 2, asdecimal=False), "1.5", Decimal("1.5")),
        (sa.Boolean(), "true", True),
        (sa.Boolean(), "false", False),
        (sa.Boolean(), "TRUE", True),
        (sa.Boolean(), "off", False),
        (sa.Boolean(), 1, True),
        (sa.String(), "5", "5"),
        (sa.String(), "null", "null"),
        (sa.String(), 5, "5"),
        (sa.String(), True, "true"),
        (sa.String(), ID, str(ID)),
        (sa.DateTime(), "2024-01-02 12:00", NOON),
        (sa.DateTime(), "2024-01-02T12:00:00Z", NOON),
        (sa.DateTime(), "2024-01-02T14:00:00+02:00", NOON),
        (sa.DateTime(), "2024-01-02", dt.datetime(2024, 1, 2)),
        (sa.DateTime(), "1704196800000", NOON),
        (sa.DateTime(), 1704196800000, NOON),
        (sa.DateTime(), "-1", dt.datetime(1969, 12, 31, 23, 59, 59, 999_000)),
        (sa.DateTime(), NOON.replace(tzinfo=UTC), NOON),
        (sa.DateTime(timezone=True), "2024-01-02T12:00", NOON.replace(tzinfo=UTC)),
        (sa.DateTime(timezone=True), "2024-01-02T07:00-05", NOON.replace(tzinfo=UTC)),
        (sa.DateTime(timezone=True), 1704196800000, NOON.replace(tzinfo=UTC)),
        (sa.Date(), "2024-01-02", dt.date(2024, 1, 2)),
        (sa.Date(), "2024-01-02T00:00:00.000Z", dt.date(2024, 1, 2)),
        (sa.Date(), 1704153600000, dt.date(2024, 1, 2)),
        (sa.Time(), "12:30", dt.time(12, 30)),
        (sa.Time(), "12:30:15.25", dt.time(12, 30, 15, 250_000)),
        (sa.Interval(), "60.5", dt.timedelta(minutes=1, milliseconds=500)),
        (sa.Interval(), -1, dt.timedelta(seconds=-1)),
        (sa.Uuid(), str(ID), ID),
        (sa.Uuid(), ID.hex.upper(), ID),
        (sa.Uuid(as_uuid=False), ID.hex, str(ID)),
        (sa.Enum(Color), "red", Color.red),
        (sa.Enum(Size), "large", Size.large),
        (sa.Enum(Size, omit_aliases=False), "tiny", Size.small),
        (SHADES, "D", Shade.dark),
        (WORDS, "yes", "yes"),
        (sa.LargeBinary(), "AP8=", b"\0\xff"),
        (sa.VARBINARY(5), memoryview(b"\0"), b"\0"),
        (sa.JSON(), "1", 1),
        (sa.JSON(), '{"a": [1, null]}', {"a": [1, None]}),
        (sa.JSON(), "a", "a"),
        (sa.JSON(), {"a": "1"}, {"a": "1"}),
        (postgresql.JSONB(), "true", True),
        (INTEGERS, "[1, null]", [1, None]),
        (INTEGERS, ["1", 2], [1, 2]),
        (postgresql.ARRAY(sa.Text), '["a", "null"]', ["a", "null"]),
        (sa.ARRAY(sa.JSON), ["1", [2]], ["1", [2]]),
        (Upper(), 5, "5"),
        (Whole(), "5", 5),
        (Foreign(), "(1,2)", "(1,2)"),
        (sa.types.NullType(), "a", "a"),
    ],
)
def test_value_is_cast(type_, value, expected):
    assert same(read(type_, value), expected)


@pytest.mark.parametrize(
    ("type_", "value", "phrase"),
    [
        (sa.Integer(), "five", "is not a whole number"),
        (sa.Integer(), " 5", "is not a whole number"),
        (sa.Integer(), "5\n", "is not a whole number"),
        (sa.Integer(), "+5", "is not a whole number"),
        (sa.Double(), " 1.5", "is not a number"),
        (sa.Double(), ".", "is not a number"),
        (sa.Numeric(10, 2), "1.5\n", "is not a number"),
        (sa.Numeric(10, 2), ".", "is not a number"),
        (sa.Interval(), " 1", "is not a number of seconds"),
        (sa.Boolean(), " true", "is neither true nor false"),
        (sa.DateTime(), "2024-01-02\n12:00", "is not an ISO 8601 time"),
        (sa.DateTime(), "2024-01-02é12:00", "is not an ISO 8601 time"),
        (sa.Date(), "2024-01-02\n00:00Z", "is not an ISO 8601 time"),
        (sa.Integer(), "1.5", "is not a whole number"),
        (sa.Integer(), "1_000", "is not a whole number"),
        (sa.Integer(), "9" * 5000, "is not a whole number"),
        (sa.Integer(), 1.5, "is not a whole number"),
        (sa.Integer(), float("nan"), "is not a whole number"),
        (sa.Integer(), True, "is not a whole number"),
        (sa.Integer(), ["1"], "is not a whole number"),
        (sa.Integer(), str(2**31), "is out of range"),
        (sa.Integer(), -(2**31) - 1, "is out of range"),
        (sa.SmallInteger(), 2**15, "is out of range"),
        (sa.BigInteger(), 2**63, "is out of range"),
        (sa.Double(), "one", "is not a number"),
        (sa.Double(), "1_000", "is not a number"),
        (sa.Double(), "nan", "is not a number"),
        (sa.Double(), "1e400", "is not a finite number"),
        (sa.Double(), 10**400, "is not a number"),
        (sa.Double(), [1], "is not a number"),
        (sa.Double(), "1" * 1001, "has more than 1000 characters"),
        (sa.Numeric(), "0." + "1" * 1001, "has more than 1000 characters"),
        (sa.Integer(), "٣", "is not a whole number"),
        (sa.Uuid(), "٣" * 32, "is not a UUID"),
        (sa.Uuid(), "1_1" * 10 + "11", "is not a UUID"),
        (sa.JSON(), "1e400", "has a number that is out of range"),
        (sa.JSON(), '"\\u0000"', "has a NUL character"),
        (sa.JSON(), "[" * 101 + "]" * 101, "nests deeper than 100 levels"),
        (sa.Numeric(10, 2), "one", "is not a number"),
        (sa.Numeric(10, 2), "1_000", "is not a number"),
        (sa.Numeric(10, 2), "NaN", "is not a number"),
        (sa.Numeric(10, 2), "1e999999", "is not a number of a sensible size"),
        (sa.Boolean(), "maybe", "is neither true nor false"),
        (sa.Boolean(), 2, "is neither true nor false"),
        (sa.String(), ["a"], "is not text"),
        (sa.String(), b"a", "is not text"),
        (sa.String(), float("inf"), "is not a finite number"),
        (sa.String(), Decimal("-NaN"), "is not a finite number"),
        (sa.JSON(), float("-inf"), "has a number that is out of range"),
        (sa.String(), "\ud800", "is not valid Unicode text"),
        (sa.JSON(), ["\ud800"], "is not valid Unicode text"),
        (sa.JSON(), {"a": float("nan")}, "has a number that is out of range"),
        (sa.JSON(), {"a": ["\0"]}, "has a NUL character"),
        (sa.DateTime(), "yesterday", "is not an ISO 8601 time"),
        (sa.DateTime(), "2024-13-01", "is not an ISO 8601 time"),
        (sa.DateTime(), "9" * 17, "is not an ISO 8601 time"),
        (sa.DateTime(), 1e300, "is not an ISO 8601 time"),
        (sa.DateTime(), float("nan"), "is not an ISO 8601 time"),
        (sa.DateTime(), "0001-01-01T00:00:00+01:00", "is out of range"),
        (sa.Date(), "soon", "is not an ISO 8601 date"),
        (sa.Date(), "2024-02-30", "is not an ISO 8601 date"),
        (sa.Date(), "2024-01-02T12:00:00", "is not a date, but a time"),
        (sa.Date(), NOON, "is not a date, but a time"),
        (sa.Time(), "noon", "is not an ISO 8601 time of day"),
        (sa.Time(), "25:00", "is not an ISO 8601 time of day"),
        (sa.Time(), "12:00+01:00", "is not a time of day without a zone"),
        (sa.Interval(), "long", "is not a number of seconds"),
        (sa.Interval(), 1e300, "is not a number of seconds"),
        (sa.Uuid(), "12", "is not a UUID"),
        (sa.Enum(Color), "blue", "is none of red, green"),
        (sa.Enum(Color), "1", "is none of red, green"),
        (sa.Enum(Color), Shade.dark, "is none of red, green"),
        (SHADES, "dark", "is none of D, L"),
        (WORDS, "maybe", "is none of yes, no"),
        (sa.LargeBinary(), "AP8", "is not base64"),
        (sa.LargeBinary(), "A P8=", "is not base64"),
        (sa.LargeBinary(), 1, "is not base64"),
        (INTEGERS, {"a": 1}, "is not a list"),
        (INTEGERS, ["one"], "is not a whole number"),
    ],
)
def test_what_does_not_fit_is_told(type_, value, phrase):
    with pytest.raises(ValueError) as caught:
        read(type_, value)

    assert str(caught.value) == phrase


TYPES = [
    sa.Integer(),
    sa.Numeric(10, 2),
    sa.Boolean(),
    sa.DateTime(),
    sa.Date(),
    sa.Time(),
    sa.Interval(),
    sa.Uuid(),
    sa.Enum(Color),
    WORDS,
    sa.JSON(),
    INTEGERS,
    Whole(),
]


@pytest.mark.parametrize("type_", TYPES, ids=repr)
@pytest.mark.parametrize("value", ["", "null", None])
def test_empty_text_and_null_are_null_where_there_is_no_text(type_, value):
    assert read(type_, value) is None


@pytest.mark.parametrize(
    ("type_", "value", "in_query", "expected"),
    [
        (sa.LargeBinary(), "", True, b""),
        (sa.LargeBinary(), "", False, b""),
        (sa.LargeBinary(), "null", True, b"\x9e\xe9e"),
        (sa.LargeBinary(), "null", False, b"\x9e\xe9e"),
        (sa.Enum("", "null"), "", True, ""),
        (sa.Enum("", "null"), "null", False, "null"),
    ],
)
def test_texts_that_a_column_can_hold(type_, value, in_query, expected):
    assert read(type_, value, in_query=in_query) == expected


@pytest.mark.parametrize("type_", [*TYPES, sa.String()], ids=repr)
def test_null_of_a_body_is_null(type_):
    assert read(type_, None, in_query=False) is None


@pytest.mark.parametrize(
    "value", ["", "null", "1", "a", '{"a": 1}', 1, [1], {"a": None}]
)
def test_json_of_a_body_stays_as_it_is(value):
    assert same(read(sa.JSON(), value, in_query=False), value)


@pytest.mark.parametrize("value", ["a", "{", "[" * 100_000, "NaN", "Infinity", "[NaN]"])
def test_what_is_no_json_in_a_query_is_text(value):
    assert read(sa.JSON(), value) == value


@pytest.mark.parametrize("depth", [500, 5000])
def test_document_that_nests_too_deep_to_be_sent_is_refused(depth):
    """It could be stored, but no answer that holds it could be made."""
    document = []

    for _ in range(depth):
        document = [document]

    with pytest.raises(ValueError):
        read(sa.JSON(), document, in_query=False)


def test_list_of_a_body_is_no_json_text():
    with pytest.raises(ValueError, match="^is not a list$"):
        read(INTEGERS, "[1]", in_query=False)


@pytest.mark.parametrize(
    ("type_", "value", "phrase"),
    [
        (sa.String(3), "four", "has more than 3 characters"),
        (Upper(), "four", "has more than 3 characters"),
        (sa.VARBINARY(3), b"four", "has more than 3 bytes"),
        (sa.LargeBinary(3), b"four", "has more than 3 bytes"),
        (sa.Numeric(5, 2), Decimal("1.005"), "has more than 2 decimal places"),
        (sa.Numeric(5, 2), Decimal("1000"), "is out of range"),
        (sa.Numeric(5, 2), Decimal("-1e3"), "is out of range"),
        (sa.Numeric(5), Decimal("100000"), "is out of range"),
    ],
)
def test_what_the_column_can_not_hold_is_told(type_, value, phrase):
    with pytest.raises(ValueError) as caught:
        conversion_of(type_).check(value)

    assert str(caught.value) == phrase


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (sa.String(3), "ééé"),
        (sa.Text(), "x" * 100_000),
        (sa.LargeBinary(3), b"ttt"),
        (sa.Numeric(5, 2), Decimal("999.99")),
        (sa.Numeric(5, 2), Decimal("-999.990")),
        (sa.Numeric(5, 2), Decimal("0.00")),
        (sa.Numeric(5, 2), Decimal("1e2")),
        (sa.Numeric(5), Decimal("99999")),
        (sa.Numeric(), Decimal("1e100")),
        (sa.Integer(), 5),
    ],
)
def test_what_the_column_can_hold_passes(type_, value):
    assert conversion_of(type_).check(value) is None


@pytest.mark.parametrize("type_", [sa.PickleType(), Pickled(), sa.ARRAY(sa.PickleType)])
def test_pickle_has_no_form_on_the_wire(type_):
    assert conversion_of(type_) is None


@pytest.mark.parametrize(
    ("type_", "is_text", "is_ordered"),
    [
        (sa.String(), True, True),
        (Upper(), True, True),
        (sa.Integer(), False, True),
        (sa.Enum(Color), False, False),
        (sa.Uuid(), False, True),
        (sa.JSON(), False, False),
        (postgresql.JSONB(), False, False),
        (INTEGERS, False, False),
    ],
)
def test_what_types_can_do(type_, is_text, is_ordered):
    conversion = conversion_of(type_)

    assert (conversion.is_text, conversion.is_ordered) == (is_text, is_ordered)


TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10
)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(
    allow_nan=False, allow_infinity=False
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=5,
)
MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
ROUND_TRIPS = {
    sa.Integer(): st.integers(-(2**31), 2**31 - 1),
    sa.BigInteger(): st.integers(-(2**63), 2**63 - 1),
    sa.Double(): st.floats(allow_nan=False, allow_infinity=False),
    sa.Numeric(30, 5): st.decimals(-(10**20), 10**20, places=5),
    sa.Boolean(): st.booleans(),
    sa.Text(): TEXT,
    sa.DateTime(): MOMENTS,
    sa.DateTime(timezone=True): MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC)),
    sa.Date(): st.dates(),
    sa.Time(): st.times(),
    sa.Interval(): st.timedeltas(dt.timedelta(-36_500), dt.timedelta(36_500)),
    sa.Uuid(): st.uuids(),
    sa.LargeBinary(): st.binary(min_size=1, max_size=20),
    sa.JSON(): st.dictionaries(TEXT, DOCUMENTS, max_size=3),
    INTEGERS: st.lists(st.integers(-9, 9) | st.none(), max_size=3),
}


@pytest.mark.parametrize(
    ("type_", "values"), ROUND_TRIPS.items(), ids=map(repr, ROUND_TRIPS)
)
def test_what_is_sent_can_be_read_back(type_, values):
    @given(values)
    def check(value):
        sent = json.loads(dumps(value))
        text = sent if isinstance(sent, str) else json.dumps(sent)

        assert same(read(type_, sent, in_query=False), value)
        assert same(read(type_, text), value)

    check()


@given(
    st.datetimes(
        dt.datetime(2, 1, 1), dt.datetime(9998, 1, 1), timezones=st.timezones()
    )
)
def test_times_of_any_zone_can_be_read_back(moment):
    sent = json.loads(dumps(moment))

    assert read(sa.DateTime(timezone=True), sent) == moment.astimezone(UTC)
