"""Casts of values that only some databases have.

Like those of :mod:`.casts`, each raises :class:`ValueError` with a phrase that follows
the name of the field.
"""

from __future__ import annotations

import datetime as dt
import typing as t
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress

from .. import problems
from . import casts


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


def as_hstore(value: t.Any) -> str:
    """Return the text of an ``hstore``, of an object of texts or of such a text."""
    if not isinstance(value, Mapping):
        return as_foreign(value)

    pairs = sorted((casts.as_text(key), each) for key, each in value.items())
    return ", ".join(f"{_quoted(key)}=>{_hstore_value(each)}" for key, each in pairs)


def hstore_of_query(value: str) -> str:
    """Return the text of an ``hstore``, of JSON text or of such a text."""
    document = casts.of_json_text(value)
    return as_hstore(document if isinstance(document, Mapping) else value)


def as_multirange(value: t.Any) -> str:
    """Return the text of a multirange, of a list of ranges or of such a text."""
    if not isinstance(value, list):
        return as_foreign(value)

    return "{" + ",".join(map(as_foreign, value)) + "}"


def multirange_of_query(value: str) -> str:
    """Return the text of a multirange, of JSON text or of such a text."""
    document = casts.of_json_text(value)
    return as_multirange(document if isinstance(document, list) else value)


def _hstore_value(value: t.Any) -> str:
    return "NULL" if value is None else _quoted(casts.as_text(value))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"'
