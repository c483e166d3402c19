"""Values on the wire, converted to values of a column."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator, TypeEngine

from ..problems import INCOMPARABLE, Problem

Cast: t.TypeAlias = Callable[[t.Any], t.Any]
Check: t.TypeAlias = Callable[[t.Any], None]

NULL_TEXTS: t.Final = ("", "null")
"""The texts that are null, where a column can't hold them."""


def anything(value: t.Any) -> None:
    """Accept every value."""


class TypedText(str):
    """Text of a query from a transport that has types, so that it is not JSON text."""


@dataclass(frozen=True)
class Conversion:
    """Converts the values of one column. Each function raises :class:`ValueError` with
    a phrase that follows the name of the field, such as ``is not a number``.
    """

    cast: Cast
    """Casts a value on the wire to the column's type."""

    check: Check = anything
    """Refuses a value that the column can't hold."""

    is_text: bool = False
    """``True`` if the column holds text."""

    null_texts: Collection[str] = NULL_TEXTS
    """The texts that stand for null."""

    is_ordered: bool = True
    """``True`` if values have an order."""

    from_text: Cast | None = None
    """Casts text in a query, where that differs from text in a body."""

    is_foreign: bool = False
    """``True`` for an unknown type, whose text only the database can read."""

    compared_by_database: bool = False
    """``True`` if only the database can compare values."""

    fault: str | None = None
    """A change of the database to values, for which a column of the type is refused."""

    key_fault: str | None = None
    """A reason for which a primary key of the type is refused."""

    caution: str | None = None
    """A limit of the database that the application should know of."""

    select: Callable[[t.Any], t.Any] | None = None
    """Returns the expression that is selected for a column, where that is not the
    column itself.
    """

    show: Cast | None = None
    """Returns the value on the wire of a value that was selected, where the application
    defines it.
    """

    no_order: Problem = INCOMPARABLE
    """The problem of a query that compares or sorts values without an order."""

    schema: Mapping[str, t.Any] = field(default_factory=dict)
    """The JSON Schema of the values on the wire, other than null. Empty if they may be
    anything, such as what a driver makes of a type that only it knows.
    """


def nullable(schema: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    """Return the JSON Schema of values that may be null."""
    if not isinstance(schema.get("type"), str):
        return schema if not schema else {"anyOf": [schema, {"type": "null"}]}

    enum = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **enum}


def is_json(type_: TypeEngine[t.Any]) -> bool:
    """Return ``True`` if a column type holds JSON documents, plain or decorated."""
    if isinstance(type_, TypeDecorator):
        return is_json(type_.impl_instance)

    return isinstance(type_, sa.JSON)


def is_float(type_: TypeEngine[t.Any]) -> bool:
    """Return ``True`` if a column type holds floats, plain or decorated."""
    if isinstance(type_, TypeDecorator):
        return is_float(type_.impl_instance)

    return isinstance(type_, sa.Float)


def cast(conversion: Conversion, value: t.Any, *, in_query: bool) -> t.Any:
    """Cast a value to the type of a column.

    :param value: Text, a JSON value, or a value that has the type already.
    :param in_query: ``True`` for a value of a query, ``False`` for one of a body.
    :raises ValueError: The value does not fit, with a phrase that says why.
    """
    if value is None:
        return None

    if not isinstance(value, str) or conversion.is_text:
        return conversion.cast(value)

    in_query = in_query and not isinstance(value, TypedText)

    # In a body, a column of JSON may hold these texts themselves.
    if value in conversion.null_texts and (in_query or conversion.from_text is None):
        return None

    cast_text = conversion.from_text if in_query else None
    return (cast_text or conversion.cast)(value)


def cast_and_check(conversion: Conversion) -> Cast:
    """Return a function that casts values of bodies, and refuses what does not fit."""
    cast_value, check = conversion.cast, conversion.check
    is_checked = check is not anything
    null_texts = () if conversion.from_text else conversion.null_texts

    def cast_stored(value: t.Any) -> t.Any:
        if value is None or (isinstance(value, str) and value in null_texts):
            return None

        value = cast_value(value)

        if is_checked and value is not None:
            check(value)

        return value

    return cast_stored
