"""Keys that equal values have in common."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import string
import typing as t
import uuid

if t.TYPE_CHECKING:
    from collections.abc import Hashable

PLAIN = (
    *(bool, int, float, decimal.Decimal, dt.date, dt.time, dt.timedelta),
    *(enum.Enum, uuid.UUID),
)
"""The types whose values all databases compare alike."""

UNKNOWN: t.Final = object()
"""A value that is not in the record, or that only the database can compare."""

MAX_DIGITS: t.Final = 30
"""The length of a decimal up to which all databases compare it exactly."""

MAX_INTERVAL = dt.timedelta(seconds=2**32)
"""The interval up to which the number of its seconds is exact in JSON."""

# Collations may ignore all but letters and digits, and zeros before a number. Some take
# letters for the same, as in Latin, or "ch" for "c", as in Lithuanian.
LETTERS = str.maketrans(
    dict.fromkeys(map(chr, range(128)))
    | {letter: letter.lower() for letter in string.ascii_letters}
    | dict.fromkeys("jyJY", "i")
    | dict.fromkeys("uwUW", "v")
    | dict.fromkeys("hH")
)
DIGITS = str.maketrans(
    dict.fromkeys(map(chr, range(128))) | {digit: digit for digit in "123456789"}
)


def exactly(value: t.Any) -> t.Any:
    """Return a value, or :data:`UNKNOWN` if databases do not compare it exactly."""
    is_inexact = (
        # MariaDB reads the text of a decimal with an exponent as a float.
        (len(text := str(value)) > MAX_DIGITS or "E" in text)
        if isinstance(value, decimal.Decimal)
        else isinstance(value, dt.timedelta) and abs(value) > MAX_INTERVAL
    )
    return UNKNOWN if is_inexact else value


def key_of(value: t.Any) -> Hashable:
    """Return a key that is the same for all values that a database takes for equal, or
    :data:`UNKNOWN` if there is none. Values that differ may have the same one.

    :param value: A value of the type of its field.
    """
    if value is None or isinstance(value, PLAIN):
        return t.cast("Hashable", exactly(value))

    return _key_of_text(value) if isinstance(value, str) else UNKNOWN


def may_equal(value: str, other: t.Any) -> bool:
    """Return ``False`` if a text differs from another value in all collations of
    databases: not only by case, accents, spaces, punctuation or contractions.
    """
    keys = key_of(value), key_of(other)
    return UNKNOWN in keys or keys[0] == keys[1]


def _key_of_text(text: str) -> Hashable:
    if not text.isascii():
        return UNKNOWN

    # Languages contract letters, such as "ccs" for "cscs".
    return frozenset(text.translate(LETTERS)), text.translate(DIGITS)
