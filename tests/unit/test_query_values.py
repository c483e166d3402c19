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


RIGHT = [
    (sa.Integer(), [
        ("5", 5), ("5.0", 5), (5.0, 5), (Decimal("5.0"), 5),
        (str(2**31 - 1), 2**31 - 1),
    ]),
    (sa.SmallInteger(), [(str(-(2**15)), -(2**15))]),
    (sa.BigInteger(), [(str(2**63 - 1), 2**63 - 1)]),
    (sa.Double(), [("1e3", 1000.0), ("-.5E-1", -0.05), (1, 1.0)]),
    (sa.Float(), [(Decimal("0.1"), 0.1)]),
    (sa.Numeric(10, 2), [
        ("1.10", Decimal("1.10")), (0.1, Decimal("0.1")),
        ("1e3", Decimal("1000")),
    ]),
    (sa.Numeric(10, 2, asdecimal=False), [("1.5", Decimal("1.5"))]),
    (sa.Boolean(), [
        ("true", True), ("false", False), ("TRUE", True), ("off", False),
        (1, True),
    ]),
    (sa.String(), [
        ("5", "5"), ("null", "null"), (5, "5"), (True, "true"), (ID, str(ID)),
    ]),
    (sa.DateTime(), [
        ("2024-01-02 12:00", NOON), ("2024-01-02T12:00:00Z", NOON),
        ("2024-01-02T14:00:00+02:00", NOON),
        ("2024-01-02", dt.datetime(2024, 1, 2)), ("1704196800000", NOON),
        (1704196800000, NOON),
        ("-1", dt.datetime(1969, 12, 31, 23, 59, 59, 999_000)),
        (NOON.replace(tzinfo=UTC), NOON),
    ]),
    (sa.DateTime(timezone=True), [
        ("2024-01-02T12:00", NOON.replace(tzinfo=UTC)),
        ("2024-01-02T07:00-05", NOON.replace(tzinfo=UTC)),
        (1704196800000, NOON.replace(tzinfo=UTC)),
    ]),
    (sa.Date(), [
        ("2024-01-02", dt.date(2024, 1, 2)),
        ("2024-01-02T00:00:00.000Z", dt.date(2024, 1, 2)),
        (1704153600000, dt.date(2024, 1, 2)),
    ]),
    (sa.Time(), [
        ("12:30", dt.time(12, 30)),
        ("12:30:15.25", dt.time(12, 30, 15, 250_000)),
    ]),
    (sa.Interval(), [
        ("60.5", dt.timedelta(minutes=1, milliseconds=500)),
        (-1, dt.timedelta(seconds=-1)),
    ]),
    (sa.Uuid(), [(str(ID), ID), (ID.hex.upper(), ID)]),
    (sa.Uuid(as_uuid=False), [(ID.hex, str(ID))]),
    (sa.Enum(Color), [("red", Color.red)]),
    (sa.Enum(Size), [("large", Size.large)]),
    (sa.Enum(Size, omit_aliases=False), [("tiny", Size.small)]),
    (SHADES, [("D", Shade.dark)]),
    (WORDS, [("yes", "yes")]),
    (sa.LargeBinary(), [("AP8=", b"\0\xff")]),
    (sa.VARBINARY(5), [(memoryview(b"\0"), b"\0")]),
    (sa.JSON(), [
        ("1", 1), ('{"a": [1, null]}', {"a": [1, None]}), ("a", "a"),
        ({"a": "1"}, {"a": "1"}),
    ]),
    (postgresql.JSONB(), [("true", True)]),
    (INTEGERS, [("[1, null]", [1, None]), (["1", 2], [1, 2])]),
    (postgresql.ARRAY(sa.Text), [('["a", "null"]', ["a", "null"])]),
    (sa.ARRAY(sa.JSON), [(["1", [2]], ["1", [2]])]),
    (Upper(), [(5, "5")]),
    (Whole(), [("5", 5)]),
    (Foreign(), [("(1,2)", "(1,2)")]),
    (sa.types.NullType(), [("a", "a")]),
]  # fmt: skip
"""Types, values, and what is made of them."""


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [(type_, *pair) for type_, pairs in RIGHT for pair in pairs],
)
def test_value_is_cast(type_, value, expected):
    assert same(read(type_, value), expected)


WRONG = [
    (sa.Integer(), "is not a whole number", [
        "five", " 5", "5\n", "+5", "1.5", "1_000", "9" * 5000, 1.5,
        float("nan"), True, ["1"], "٣",
    ]),
    (sa.Double(), "is not a number", [
        " 1.5", ".", "one", "1_000", "nan", 10**400, [1],
    ]),
    (sa.Numeric(10, 2), "is not a number", ["1.5\n", ".", "one", "1_000", "NaN"]),
    (sa.Interval(), "is not a number of seconds", [" 1", "long", 1e300]),
    (sa.Boolean(), "is neither true nor false", [" true", "maybe", 2]),
    (sa.DateTime(), "is not an ISO 8601 time", [
        "2024-01-02\n12:00", "2024-01-02é12:00", "yesterday", "2024-13-01",
        "9" * 17, 1e300, float("nan"),
    ]),
    (sa.Date(), "is not an ISO 8601 time", ["2024-01-02\n00:00Z"]),
    (sa.Integer(), "is out of range", [str(2**31), -(2**31) - 1]),
    (sa.SmallInteger(), "is out of range", [2**15]),
    (sa.BigInteger(), "is out of range", [2**63]),
    (sa.Double(), "is not a finite number", ["1e400"]),
    (sa.Double(), "has more than 1000 characters", ["1" * 1001]),
    (sa.Numeric(), "has more than 1000 characters", ["0." + "1" * 1001]),
    (sa.Uuid(), "is not a UUID", ["٣" * 32, "1_1" * 10 + "11", "12"]),
    (sa.JSON(), "has a number that is out of range", [
        "1e400", float("-inf"), {"a": float("nan")},
    ]),
    (sa.JSON(), "has a NUL character", ['"\\u0000"', {"a": ["\0"]}]),
    (sa.JSON(), "nests deeper than 100 levels", ["[" * 101 + "]" * 101]),
    (sa.Numeric(10, 2), "is not a number of a sensible size", ["1e999999"]),
    (sa.String(), "is not text", [["a"], b"a"]),
    (sa.String(), "is not a finite number", [float("inf"), Decimal("-NaN")]),
    (sa.String(), "is not valid Unicode text", ["\ud800"]),
    (sa.JSON(), "is not valid Unicode text", [["\ud800"]]),
    (sa.DateTime(), "is out of range", ["0001-01-01T00:00:00+01:00"]),
    (sa.Date(), "is not an ISO 8601 date", ["soon", "2024-02-30"]),
    (sa.Date(), "is not a date, but a time", ["2024-01-02T12:00:00", NOON]),
    (sa.Time(), "is not an ISO 8601 time of day", ["noon", "25:00"]),
    (sa.Time(), "is not a time of day without a zone", ["12:00+01:00"]),
    (sa.Enum(Color), "is none of red, green", ["blue", "1", Shade.dark]),
    (SHADES, "is none of D, L", ["dark"]),
    (WORDS, "is none of yes, no", ["maybe"]),
    (sa.LargeBinary(), "is not base64", ["AP8", "A P8=", 1]),
    (INTEGERS, "is not a list", [{"a": 1}]),
    (INTEGERS, "is not a whole number", [["one"]]),
]  # fmt: skip
"""Types, and what is told of values that are not of them."""


@pytest.mark.parametrize(
    ("type_", "value", "phrase"),
    [(type_, value, phrase) for type_, phrase, values in WRONG for value in values],
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
        (sa.LargeBinary(3), b"ttt"),
        (sa.Numeric(5, 2), Decimal("-999.990")),
        (sa.Numeric(5), Decimal("99999")),
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
