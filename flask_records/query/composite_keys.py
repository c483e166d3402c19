"""Identifiers made of the columns of a primary key."""

from __future__ import annotations

import base64
import datetime as dt
import re
import typing as t
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sa

from ..problems import Problem
from .casts import moment_text
from .field import Field
from .types import TEXT
from .values import cast, Conversion

SEPARATOR: t.Final = ","
ESCAPE: t.Final = "~"

ESCAPED = re.compile(r"[~,/\\]")
"""The characters of a part that are written as their code: those with a meaning in
identifiers, and those that addresses may lose."""

ESCAPES = re.compile("~([0-9A-Fa-f]{2})")


@dataclass(frozen=True, eq=False)
class CompositeField(Field):
    """An identifier that is made of several fields, compared as a tuple of these."""

    parts: tuple[Field, ...] = ()
    """The fields, in the order of the primary key."""

    def at(self, entity: t.Any) -> t.Any:
        """Return the fields on an alias of the model."""
        return sa.tuple_(*[part.at(entity) for part in self.parts])

    def text(self, record: dict[str, t.Any]) -> str | None:
        """Return the identifier of a record, by which its parts are found again, or
        ``None`` if one is null.
        """
        values = [record[part.name] for part in self.parts]

        if any(value is None for value in values):
            return None

        return SEPARATOR.join([ESCAPED.sub(_escape, _text(value)) for value in values])


def composite_field(name: str, parts: Sequence[Field]) -> CompositeField:
    """Return the identifier that is made of some fields.

    :param name: Its name on the wire.
    """
    conversion = Conversion(
        partial(_cast, parts),
        null_texts=(),
        is_ordered=False,
        is_sorted=False,
        schema=TEXT,
    )
    column = sa.tuple_(*[part.column for part in parts])
    return CompositeField(
        name, column, None, conversion, is_nullable=False, parts=tuple(parts)
    )


def _cast(parts: Sequence[Field], value: t.Any) -> tuple[t.Any, ...]:
    """Return the values of an identifier: text, or a list of its parts."""
    items = _items(value) if isinstance(value, str) else value
    values: list[t.Any] = []

    if isinstance(items, (list, tuple)) and len(items) == len(parts):
        pairs = zip(parts, items, strict=True)
        values = [cast(part.conversion, item) for part, item in pairs]

    if not values or any(value is None for value in values):
        names = ", ".join(part.name for part in parts)
        raise ValueError(
            Problem(f"is not made of {names}", "type", expected="identifier")
        )

    return tuple(values)


def _items(text: str) -> t.Any:
    """Return the parts of an identifier that is text, or ``None`` if it is none."""
    # An escape that is not one would name the same record by another text.
    if ESCAPE in ESCAPES.sub("", text):
        return None

    return [ESCAPES.sub(_unescape, part) for part in text.split(SEPARATOR)]


def _escape(match: re.Match[str]) -> str:
    return f"{ESCAPE}{ord(match[0]):02X}"


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _text(value: t.Any) -> str:
    return TEXTS.get(type(value), str)(value)


TEXTS: t.Final[dict[t.Any, Callable[[t.Any], str]]] = {
    bool: lambda value: "true" if value else "false",
    dt.datetime: moment_text,
    dt.timedelta: lambda value: repr(value.total_seconds()),
    bytes: lambda value: base64.b64encode(value).decode(),
}
"""The texts of values that ``str()`` does not give, by type."""
