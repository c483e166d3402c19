"""Values that are the same once a client has read and sent them."""

from __future__ import annotations

import datetime as dt
import math
import typing as t
from decimal import Decimal

if t.TYPE_CHECKING:
    from collections.abc import Callable


def is_same(sent: t.Any, stored: t.Any) -> bool:
    """Return ``True`` for values that are the same in JSON as clients keep it:
    JavaScript cuts times to milliseconds, and numbers to 53 bits.
    """
    # A number that is not finite is shown as null.
    if isinstance(stored, float) and not math.isfinite(stored):
        stored = None

    # Python takes True for 1.
    if sent == stored and isinstance(sent, bool) == isinstance(stored, bool):
        return True

    for types, is_same in COMPARISONS.items():
        if isinstance(sent, types) and isinstance(stored, types):
            return is_same(sent, stored)

    return False


def _is_same_moment(sent: dt.datetime, stored: dt.datetime) -> bool:
    microseconds = stored.microsecond // 1000 * 1000
    return sent == stored.replace(microsecond=microseconds)


def _is_same_number(sent: t.Any, stored: t.Any) -> bool:
    if isinstance(sent, bool) or isinstance(stored, bool):
        return False

    try:
        return float(sent) == float(stored)
    except OverflowError:
        return False


def _is_same_list(sent: t.Any, stored: t.Any) -> bool:
    pairs = zip(sent, stored, strict=False)
    return len(sent) == len(stored) and all(is_same(*pair) for pair in pairs)


def _is_same_object(sent: t.Any, stored: t.Any) -> bool:
    return sent.keys() == stored.keys() and all(
        is_same(value, stored[name]) for name, value in sent.items()
    )


COMPARISONS: dict[t.Any, Callable[[t.Any, t.Any], bool]] = {
    dt.datetime: _is_same_moment,
    dt.timedelta: lambda sent, stored: sent.total_seconds() == stored.total_seconds(),
    (int, float, Decimal): _is_same_number,
    (list, tuple): _is_same_list,
    dict: _is_same_object,
}
"""The comparisons of values that are not equal, by type."""
