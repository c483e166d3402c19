"""Kinds of column types, each with the values that it is tried with."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql

from .oracle import same_document

DATABASES = ("sqlite", "postgresql", "mariadb")


@dataclass(frozen=True)
class Kind:
    """A type of columns, and values of it as they are in JSON."""

    type: Any
    kept: Sequence[Any]
    """Values that are stored and answered on every database of the type."""

    others: Sequence[Any]
    """Values that are stored or refused."""

    random: st.SearchStrategy
    """Any values, which are stored or refused."""

    read: Callable[[Any], Any] = lambda value: value
    """Returns a value that is equal and ordered as those of the database are."""

    stored: Callable[[str, Any], Any] = lambda database, value: value
    """Returns the value that a database makes of one that was read."""

    is_ordered: bool = True
    """``True`` if values are less or greater than others."""

    other_order: Sequence[str] = ()
    """The databases whose order is not that of Python."""

    takes_null: bool = False
    """``True`` if a body may have the texts ``null`` and the empty one as values."""

    is_text: bool = False
    """``True`` if a query string may have them, too."""

    is_foreign: bool = False
    """``True`` if only the database can read a value."""

    is_document: bool = False
    """``True`` if the values of a query string are JSON."""

    is_compared: bool = True
    """``False`` if values are compared with null only."""

    databases: Sequence[str] = DATABASES
    """The databases that have the type."""


def texts(type_, kept=(), others=(), **options):
    """Return a kind of text, of up to five characters."""
    return Kind(
        type_,
        ["", "a", "A", "null", "é", "a b", "😀", "%_\\", "ab\n", *kept],
        ["a ", " a", "  ", "x" * 6, "\0", "a\0b", "ÄÖÜäö", "e\u0301", *others],
        st.text(max_size=6),
        takes_null=True,
        is_text=True,
        **options,
    )


def numbers(type_, bits, unsigned=False, **options):
    """Return a kind of integers."""
    low, high = (
        (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )
    return Kind(
        type_,
        [1, 0, 2, low, high, high - 1],
        [low - 1, high + 1, 2**63, 2**64, -(2**64), 10**30, 1.0, "7", "+7", " 7", "٧"],
        st.integers(low - 2, high + 2) | st.integers(-(2**66), 2**66),
        int,
        **options,
    )


def floats(type_, **options):
    """Return a kind of floats."""
    return Kind(
        type_,
        [0.0, 1.0, -2.5, 1024.0, 0.5],
        [0.1, 1 / 3, 3.5e38, 1e-40, 1e300, 5e-324, -0.0, 16777217, "1e999"],
        st.floats(allow_nan=False, allow_infinity=False)
        | st.floats(width=32, allow_nan=False, allow_infinity=False),
        float,
        **options,
    )


def decimals(type_, kept=("9.90", "0.01", "-1.50"), **options):
    """Return a kind of decimal numbers."""
    return Kind(
        type_,
        ["0", *kept],
        ["123456789.12", "123456789.1200000048", "0.1234567890123456789", "1e20"]
        + ["99999999.99", "100000000", "99999999.995", "1e400", "9" * 40],
        st.decimals(-(10**12), 10**12, allow_nan=False).map(str)
        | st.decimals(-(10**9), 10**9, places=2).map(str),
        lambda value: Decimal(str(value)),
        **options,
    )


def moments(type_, **options):
    """Return a kind of date-times."""
    return Kind(
        type_,
        ["2024-02-29T12:30:15Z", "2000-01-01T00:00:00Z", "1970-01-02T00:00:00Z"],
        ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1000-01-01T00:00:00Z"]
        + ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", -62135596800000]
        + ["0001-01-01T20:00:00Z", "9999-12-31T10:00:00Z", "1969-12-31T23:59:59Z"]
        + ["1970-01-01T00:00:00Z", "2038-01-19T03:14:07Z", "2038-01-19T03:14:08Z"]
        + ["2024-02-29T12:30:15.123Z", "2024-02-29T12:30:15.999999Z", 1709209815000],
        st.builds(
            lambda naive, offset: f"{naive.isoformat()}{offset}",
            st.datetimes(),
            st.sampled_from(["Z", "+14:00", "-12:00", "+05:45"]),
        ),
        moment,
        **options,
    )


def moment(value):
    """Read a date-time, of text or of milliseconds."""
    if isinstance(value, (int, float)):
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=value)

    return dt.datetime.fromisoformat(value).astimezone(dt.UTC)


def bytes_(type_, **options):
    """Return a kind of bytes, of up to ten."""
    return Kind(
        type_,
        ["AAEC", "/w==", "YWJj", "null", ""],
        ["AA==", "AAAAAAAAAAAAAAAAAA==", "IA=="],
        st.binary(max_size=12).map(lambda value: base64.b64encode(value).decode()),
        base64.b64decode,
        takes_null=True,
        **options,
    )


def documents(type_, **options):
    """Return a kind of JSON documents."""
    scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
    return Kind(
        type_,
        [0, 1, True, False, [], {}, "a", [1, None], {"a": {"b": [0.1, "ä"]}}, 2**53 + 1]
        + ["", "null", "5", "[]", "{", '"', {"": None}],
        [1.0, 1.5, -0.0, 1e300, -1e300, 5e-324, 2**63, -(2**63) - 1, 2**64, 10**40]
        + ["\0", ["a\0"], {"\0": 1}, 0.1, 1e22, 123456789012345678901234567890],
        st.recursive(
            # PostgreSQL writes out larger ones, with other digits than Python.
            scalars | st.floats(-1e15, 1e15),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=2), inner, max_size=3)
            ),
            max_leaves=4,
        ).filter(lambda value: value is not None),
        same_document,
        is_ordered=False,
        is_document=True,
        is_compared=False,
        **options,
    )


def arrays(item, kept, others=(), **options):
    """Return a kind of lists."""
    return Kind(
        postgresql.ARRAY(item),
        [[], *kept],
        [[None], [[]], [{}], ["\0"], "x", *others],
        st.lists(st.sampled_from([*kept[0], None]), max_size=3),
        repr,
        is_ordered=False,
        is_document=True,
        databases=["postgresql"],
        **options,
    )


def choices(type_, **options):
    """Return a kind of texts that are listed."""
    return Kind(
        type_,
        ["red", "green"],
        ["RED", "red ", "blue", "1", 1],
        st.sampled_from(["red", "green", "Red", "x", "null", ""]),
        is_ordered=False,
        **options,
    )


def foreign(type_, kept, others, database="postgresql", **options):
    """Return a kind that one database has, which clients send as text."""
    return Kind(
        type_,
        kept,
        others,
        st.sampled_from([*kept, *others]) | st.text(max_size=5),
        is_foreign=True,
        other_order=DATABASES,
        databases=[database],
        **options,
    )


def exact(make, *arguments):
    """Return a type whose texts are compared on servers as in Python."""
    return (
        make(*arguments)
        .with_variant(make(*arguments, collation="C"), "postgresql")
        .with_variant(make(*arguments, collation="utf8mb4_nopad_bin"), "mariadb")
    )
