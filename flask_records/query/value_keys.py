"""Keys that equal values have in common."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
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
    """Return ``False`` if a text differs from another value by more than case, accents
    and spaces at the end.
    """
    keys = key_of(value), key_of(other)
    return UNKNOWN in keys or keys[0] == keys[1]


def _key_of_text(text: str) -> Hashable:
    # Only the database knows which accents and control characters it ignores.
    if not (text.isascii() and text.isprintable()):
        return UNKNOWN

    return text.casefold().rstrip()
