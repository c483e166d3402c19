"""Conversions of values on the wire to the types of columns."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import sqlalchemy as sa
from sqlalchemy.types import NullType
from sqlalchemy.types import TypeDecorator
from sqlalchemy.types import TypeEngine

from . import casts

Cast: t.TypeAlias = Callable[[t.Any], t.Any]
Check: t.TypeAlias = Callable[[t.Any], None]


def anything(value: t.Any) -> None:
    """Accept every value."""


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
    """``True`` if the column holds text. Elsewhere, the empty text is null."""

    is_ordered: bool = True
    """``True`` if values have an order."""

    from_text: Cast | None = None
    """Casts text in a query, where that differs from text in a body."""

    is_foreign: bool = False
    """``True`` for an unknown type, whose text only the database can read."""

    compared_by_database: bool = False
    """``True`` if only the database can compare values."""


def conversion_of(type_: TypeEngine[t.Any]) -> Conversion | None:
    """Return the conversion of a column type, or ``None`` if it has no wire form."""
    for base in type(type_).__mro__:
        if base in CONVERSIONS:
            make = CONVERSIONS[base]
            return None if make is None else make(type_)

    return Conversion(casts.as_text, is_foreign=True)


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

    # In a body, a column of JSON may hold these texts themselves.
    if value in ("", "null") and (in_query or conversion.from_text is None):
        return None

    cast_text = conversion.from_text if in_query else None
    return (cast_text or conversion.cast)(value)


def cast_and_check(conversion: Conversion) -> Cast:
    """Return a function that casts values of bodies, and refuses what does not fit."""
    cast_value, check = conversion.cast, conversion.check
    is_checked = check is not anything
    empty = () if conversion.is_text or conversion.from_text else ("", "null")

    def cast_stored(value: t.Any) -> t.Any:
        if value is None or (empty and isinstance(value, str) and value in empty):
            return None

        value = cast_value(value)

        if is_checked and value is not None:
            check(value)

        return value

    return cast_stored


def _integers(bits: int) -> Conversion:
    bound = 2 ** (bits - 1)

    def cast_integer(value: t.Any) -> int:
        number = casts.as_integer(value)

        if not -bound <= number < bound:
            raise ValueError("is out of range")

        return number

    return Conversion(cast_integer)


def _at_most(length: int | None, things: str) -> Check:
    """Return the check of a length, or of nothing if there is no limit."""
    if length is None:
        return anything

    def check(value: t.Any) -> None:
        if len(value) > length:
            raise ValueError(f"has more than {length} {things}")

    return check


def _members(type_: sa.Enum) -> dict[str, t.Any]:
    """Return the members of an enum by the text that the database holds."""
    if type_.enum_class is None:
        return dict(zip(type_.enums, type_.enums, strict=True))

    if type_.values_callable is None:
        members = type_.enum_class.__members__
        return {name: members[name] for name in type_.enums}

    return dict(zip(type_.enums, type_.enum_class, strict=False))


def _enums(type_: sa.Enum) -> Conversion:
    members = _members(type_)

    def cast_enum(value: t.Any) -> t.Any:
        if isinstance(value, str) and value in members:
            return members[value]

        if any(value is member for member in members.values()):
            return value

        raise ValueError(f"is none of {', '.join(members)}")

    # Some databases order them as they were declared, others by their names.
    return Conversion(cast_enum, is_ordered=False)


def _numerics(type_: sa.Numeric[t.Any]) -> Conversion:
    if not type_.asdecimal:
        return Conversion(casts.as_float)

    scale, precision = type_.scale, type_.precision

    def check(number: t.Any) -> None:
        exponent = t.cast(int, Decimal(number).normalize().as_tuple().exponent)

        if scale is not None and -exponent > scale:
            raise ValueError(f"has more than {scale} decimal places")

        if precision is not None and number:
            if Decimal(number).adjusted() >= precision - (scale or 0):
                raise ValueError("is out of range")

    return Conversion(casts.as_decimal, check)


def _uuids(type_: sa.Uuid[t.Any]) -> Conversion:
    as_uuid = casts.as_uuid
    return Conversion(as_uuid if type_.as_uuid else lambda value: str(as_uuid(value)))


def _binaries(type_: t.Any) -> Conversion:
    length = getattr(type_, "length", None)
    return Conversion(casts.as_bytes, _at_most(length, "bytes"))


def _arrays(type_: sa.ARRAY[t.Any]) -> Conversion | None:
    item = conversion_of(type_.item_type)

    if item is None:
        return None

    def cast_array(value: t.Any) -> list[t.Any]:
        if not isinstance(value, list):
            raise ValueError("is not a list")

        return [cast(item, each, in_query=False) for each in value]

    return Conversion(
        cast_array,
        is_ordered=False,
        from_text=lambda value: cast_array(casts.of_json_text(value)),
    )


CONVERSIONS: dict[type[t.Any], Callable[[t.Any], Conversion | None] | None] = {
    sa.String: lambda type_: Conversion(
        casts.as_text, _at_most(type_.length, "characters"), is_text=True
    ),
    sa.Enum: _enums,
    sa.SmallInteger: lambda type_: _integers(16),
    sa.Integer: lambda type_: _integers(32),
    sa.BigInteger: lambda type_: _integers(64),
    sa.Numeric: _numerics,
    sa.Float: lambda type_: Conversion(casts.as_float),
    sa.Boolean: lambda type_: Conversion(casts.as_boolean),
    sa.DateTime: lambda type_: Conversion(
        casts.as_moment if type_.timezone else casts.as_naive_moment
    ),
    sa.Date: lambda type_: Conversion(casts.as_date),
    sa.Time: lambda type_: Conversion(casts.as_time),
    sa.Interval: lambda type_: Conversion(casts.as_interval),
    sa.Uuid: _uuids,
    sa.LargeBinary: _binaries,
    sa.BINARY: _binaries,
    sa.VARBINARY: _binaries,
    sa.JSON: lambda type_: Conversion(
        casts.as_json,
        is_ordered=False,
        from_text=lambda value: casts.as_json(casts.of_json_text(value)),
    ),
    sa.ARRAY: _arrays,
    # The content of a pickle has no form on the wire.
    sa.PickleType: None,
    TypeDecorator: lambda type_: conversion_of(type_.impl_instance),
    # The type of an expression without a type.
    NullType: lambda type_: Conversion(casts.as_text),
}
"""The conversions by column type. A type that is not here has that of its nearest base,
and text otherwise.
"""
