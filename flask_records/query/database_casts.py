"""Casts of values that only some databases have.

Like those of :mod:`.casts`, each raises :class:`ValueError` with a phrase that follows
the name of the field.
"""

from __future__ import annotations

import datetime as dt
import struct
import typing as t
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
from contextlib import suppress

from .. import problems
from . import casts


def as_single(value: t.Any) -> float:
    """Return a finite number of single precision."""
    try:
        single = struct.pack("<f", casts.as_float(value))
    except OverflowError:
        raise ValueError(problems.OUT_OF_RANGE) from None

    return t.cast(float, struct.unpack("<f", single)[0])


def as_zoned_time(value: t.Any) -> dt.time:
    """Return a time of day with a zone, which is UTC by default."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = dt.time.fromisoformat(value)

    if not isinstance(value, dt.time):
        raise ValueError(problems.NO_TIME)

    return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)


def as_foreign(value: t.Any) -> str:
    """Return the text of a value of a type that only the database knows."""
    is_typed = not isinstance(value, (Mapping, Sequence, Set, bytes))
    return casts.as_text(str(value) if is_typed else value)
