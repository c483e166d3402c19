"""Keys that equal values have in common."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import pytest

from flask_records.query.value_keys import key_of
from flask_records.query.value_keys import may_equal
from flask_records.query.value_keys import UNKNOWN

ALIKE = [
    ("a", "A"),
    ("a", "a "),
    ("ann", "än"),
    ("a\0", "a"),
]
"""Texts that a usual collation takes for equal."""


@pytest.mark.parametrize("pair", ALIKE, ids=str)
def test_texts_that_a_usual_collation_takes_for_equal_may_be_equal(pair):
    assert may_equal(*pair)


@pytest.mark.parametrize(
    "pair",
    [
        ("a", "b"),
        ("room 7", "room 8"),
        ("ann@example.com", "bob@example.com"),
        (str(uuid.UUID(int=1)), str(uuid.UUID(int=2))),
        ("a", None),
    ],
    ids=str,
)
def test_texts_with_other_letters_or_digits_differ(pair):
    assert not may_equal(*pair)


@pytest.mark.parametrize(
    ("value", "other"),
    [(1, 1.0), (1, True), (Decimal("1.00"), 1), (None, None), ("a", "A")],
    ids=str,
)
def test_equal_values_have_the_same_key(value, other):
    assert key_of(value) == key_of(other)


@pytest.mark.parametrize(
    "value",
    ["ä", b"a", {}, [], Decimal("1E+40"), dt.timedelta.max],
    ids=str,
)
def test_value_that_only_the_database_compares_has_no_key(value):
    assert key_of(value) is UNKNOWN
