"""Identifiers made of the columns of a primary key."""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
import typing as t
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sa
from sqlalchemy.sql import operators
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.types import NullType

from ..errors import BadRequest
from ..problems import EQUALITY_ONLY, Problem
from .casts import as_moment
from .conversions import TEXT
from .field import Field
from .values import cast, Conversion

SEPARATOR: t.Final = ","
ESCAPE: t.Final = "~"

ESCAPED = re.compile(r"[~,\[/\\]")
"""The characters of a part that are written as their code: those with a meaning in
identifiers, and those that addresses may lose."""

ESCAPES = re.compile("~([0-9A-Fa-f]{2})")


@dataclass(frozen=True, eq=False)
class CompositeField(Field):
    """An identifier that is made of several fields, and is no column itself."""

    parts: tuple[Field, ...] = ()
    """The fields, in the order of the primary key."""

    def text(self, record: dict[str, t.Any]) -> str | None:
        """Return the identifier of a record, or ``None`` if a part is null."""
        return text_of([record[part.name] for part in self.parts])


def composite_field(name: str, parts: Sequence[Field]) -> CompositeField:
    """Return the identifier that is made of some fields.

    :param name: Its name on the wire.
    """
    parts = tuple(parts)
    conversion = Conversion(
        partial(_cast, parts), null_texts=(), is_ordered=False, schema=TEXT
    )
    return CompositeField(
        name,
        CompositeColumn(name, parts),
        None,
        conversion,
        is_nullable=any(part.is_nullable for part in parts),
        parts=parts,
    )


def text_of(values: Sequence[t.Any]) -> str | None:
    """Return the text of an identifier, by which the values are found again. ``None``
    if a value is null.
    """
    if any(value is None for value in values):
        return None

    return SEPARATOR.join([ESCAPED.sub(_escape, _text(value)) for value in values])


class CompositeColumn(sa.ColumnOperators):
    """The columns of a primary key, compared as one.

    :param name: The name of the identifier.
    """

    type = NullType()

    def __init__(self, name: str, parts: Sequence[Field]) -> None:
        self._name = name
        self._columns = [part.column for part in parts]

    def operate(self, op: OperatorType, *other: t.Any, **options: t.Any) -> t.Any:
        """Return the condition of an operator.

        :raises BadRequest: Identifiers can't be compared by it.
        """
        compare = COMPARISONS.get(op)

        if compare is None:
            why = EQUALITY_ONLY
            raise BadRequest(f"'{self._name}' {why}.", errors={self._name: why})

        return compare(self._columns, other[0])


def _is_equal(columns: Sequence[t.Any], values: Sequence[t.Any]) -> t.Any:
    pairs = zip(columns, values, strict=True)
    return sa.and_(
        *[column == sa.literal(value, column.type) for column, value in pairs]
    )


def _is_in(columns: Sequence[t.Any], keys: Sequence[Sequence[t.Any]]) -> t.Any:
    first, *others = columns
    return sa.tuple_(first, *others).in_([tuple(key) for key in keys])


# No part of a primary key is null.
COMPARISONS: dict[t.Any, Callable[[Sequence[t.Any], t.Any], t.Any]] = {
    operators.eq: _is_equal,
    operators.is_distinct_from: lambda *args: sa.not_(_is_equal(*args)),
    operators.in_op: _is_in,
    operators.is_: lambda columns, null: sa.false(),
    operators.is_not: lambda columns, null: sa.true(),
}
"""The comparisons of columns with the values of an identifier, or with null."""


def _cast(parts: Sequence[Field], value: t.Any) -> tuple[t.Any, ...]:
    """Return the values of an identifier: text, or a list of its parts."""
    items = _items(value) if isinstance(value, str) else value
    values: list[t.Any] = []

    if isinstance(items, (list, tuple)) and len(items) == len(parts):
        pairs = zip(parts, items, strict=True)
        values = [cast(part.conversion, item, in_query=False) for part, item in pairs]

    if not values or any(value is None for value in values):
        names = ", ".join(part.name for part in parts)
        raise ValueError(
            Problem(f"is not made of {names}", "type", expected="identifier")
        )

    return tuple(values)


def _items(text: str) -> t.Any:
    """Return the parts of an identifier that is text, or ``None`` if it is none."""
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None

    # An escape that is not one would name the same record by another text.
    if ESCAPE in ESCAPES.sub("", text):
        return None

    return [ESCAPES.sub(_unescape, part) for part in text.split(SEPARATOR)]


def _escape(match: re.Match[str]) -> str:
    return f"{ESCAPE}{ord(match[0]):02X}"


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _text(value: t.Any) -> str:
    for type_, text in TEXTS.items():
        if isinstance(value, type_):
            return text(value)

    return str(value)


TEXTS: dict[t.Any, Callable[[t.Any], str]] = {
    bool: lambda value: "true" if value else "false",
    dt.datetime: lambda value: as_moment(value).isoformat().replace("+00:00", "Z"),
    dt.timedelta: lambda value: repr(value.total_seconds()),
    (bytes, bytearray, memoryview): lambda value: base64.b64encode(value).decode(),
}
"""The texts of values that ``str()`` does not give, by type."""
