"""Conversions by column type, the same on every database."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import sqlalchemy as sa
from sqlalchemy.types import NullType

from .. import problems
from . import casts
from .database_casts import (
    as_foreign,
    as_hstore,
    as_multirange,
    hstore_of_query,
    multirange_of_query,
)
from .exact_numeric import EXACT, ExactNumeric, ShortestDecimal
from .values import anything, Cast, Check, Conversion, NULL_TEXTS, nullable

Make: t.TypeAlias = Callable[[t.Any], Conversion]

TypeKey: t.TypeAlias = type[t.Any] | str
"""A column type. One of a dialect is named, since the import of a dialect takes as long
as that of all our modules of queries.
"""

Entry = t.TypeVar("Entry")

DIALECTS: t.Final = "sqlalchemy.dialects."


def unchecked(cast: Cast, **options: t.Any) -> Make:
    """Return the conversion of a type that holds all that a function returns."""
    conversion = Conversion(cast, **options)
    return lambda type_: conversion


def at_most(length: int | None, things: str) -> Check:
    """Return the check of a length, or of nothing if there is no limit."""
    if length is None:
        return anything

    problem = problems.too_long(length, things)

    def check(value: t.Any) -> None:
        if len(value) > length:
            raise ValueError(problem)

    return check


def whole_numbers(low: int, high: int) -> Conversion:
    """Return the conversion of integers from the lowest to the highest."""

    def cast_integer(value: t.Any) -> int:
        number = casts.as_integer(value)

        if not low <= number <= high:
            raise ValueError(problems.out_of_range(low, high))

        return number

    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Conversion(cast_integer, schema=schema)


TEXT: t.Final[Mapping[str, t.Any]] = {"type": "string"}
"""The JSON Schema of text."""

NUMBER: t.Final[Mapping[str, t.Any]] = {"type": "number"}
"""The JSON Schema of numbers that JSON has."""

DECIMAL: t.Final[Mapping[str, t.Any]] = {"type": "string", "format": "decimal"}
"""The JSON Schema of numbers that are text, to keep all digits."""

SECONDS: t.Final[Mapping[str, t.Any]] = {"type": "number", "description": "Seconds."}
"""The JSON Schema of intervals."""

NO_KEY: t.Final = """\
SQLAlchemy does not find a record by a primary key of the type SET. Give the table \
another one, and this column a unique index.\
"""


def _integers(bits: int) -> Make:
    def make(type_: t.Any) -> Conversion:
        if getattr(type_, "unsigned", False) or getattr(type_, "zerofill", False):
            return whole_numbers(0, 2**bits - 1)

        return whole_numbers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    return make


def _years(type_: t.Any) -> Conversion:
    years = whole_numbers(1901, 2155)

    def cast_year(value: t.Any) -> int:
        # A year that is not known is stored as 0000.
        return 0 if casts.as_integer(value) == 0 else t.cast(int, years.cast(value))

    return Conversion(cast_year, schema={**years.schema, "minimum": 0})


def _texts(type_: sa.String) -> Conversion:
    check = at_most(type_.length, "characters")
    schema = TEXT if type_.length is None else {**TEXT, "maxLength": type_.length}
    return Conversion(casts.as_text, check, is_text=True, null_texts=(), schema=schema)


def members(type_: sa.Enum) -> dict[str, t.Any]:
    """Return the members of an enum by the text that the database holds."""
    if type_.enum_class is None:
        return dict(zip(type_.enums, type_.enums, strict=True))

    if type_.values_callable is None:
        by_name = type_.enum_class.__members__
        return {name: by_name[name] for name in type_.enums}

    return dict(zip(type_.enums, type_.enum_class, strict=False))


def is_ordered_alike(texts: Sequence[str]) -> bool:
    """Return ``True`` if the order of texts is the same by their places and by their
    letters, in all collations.
    """
    joined = "".join(texts)
    is_plain = joined.isascii() and joined.isalnum() and joined in _cases(joined)
    return is_plain and sorted(texts) == list(texts)


def _cases(text: str) -> tuple[str, str]:
    return text.lower(), text.upper()


def _enums(type_: sa.Enum) -> Conversion:
    by_text = members(type_)

    def cast_enum(value: t.Any) -> t.Any:
        if isinstance(value, str) and value in by_text:
            return by_text[value]

        if any(value is member for member in by_text.values()):
            return value

        raise ValueError(problems.no_choice(by_text))

    return Conversion(
        cast_enum,
        null_texts=[text for text in NULL_TEXTS if text not in by_text],
        # Some databases order them as they were declared, others by their names.
        is_ordered=is_ordered_alike(list(by_text)),
        no_order=problems.NO_COMMON_ORDER,
        # An enum goes over the wire as the text in the database.
        select=lambda column: sa.type_coerce(column, sa.String()),
        schema={**TEXT, "enum": list(by_text)},
    )


def scale_of(type_: t.Any) -> int | None:
    """Return the number of decimal places that a type holds, or ``None`` for any."""
    # NUMERIC(10) is NUMERIC(10, 0).
    return 0 if type_.scale is None and type_.precision is not None else type_.scale


def numerics(type_: t.Any) -> Conversion:
    """Return the conversion of exact numbers."""
    scale, precision = scale_of(type_), type_.precision
    lowest = 0 if getattr(type_, "unsigned", False) else None

    def check(number: Decimal) -> None:
        exponent = t.cast(int, number.normalize(EXACT).as_tuple().exponent)

        if scale is not None and -exponent > scale:
            raise ValueError(problems.too_many_places(scale))

        if precision is not None and number:
            if number.adjusted() >= precision - (scale or 0):
                raise ValueError(problems.OUT_OF_RANGE)

        if lowest is not None and number < lowest:
            raise ValueError(problems.OUT_OF_RANGE)

        if not type_.asdecimal and Decimal(repr(float(number))) != number:
            raise ValueError(problems.TOO_PRECISE)

    schema = DECIMAL if type_.asdecimal else NUMBER
    return Conversion(casts.as_decimal, check, schema=schema)


def _floats(type_: t.Any) -> Conversion:
    if not type_.asdecimal:
        return Conversion(casts.as_float, schema=NUMBER)

    return Conversion(
        casts.as_float,
        select=lambda column: sa.type_coerce(column, ShortestDecimal()),
        schema=DECIMAL,
    )


def _bits(type_: t.Any) -> Conversion:
    longest = type_.length or (None if type_.varying else 1)
    shortest = 0 if type_.varying else longest or 0

    def cast_bits(value: t.Any) -> str:
        bits = as_foreign(value)

        if not set(bits) <= {"0", "1"}:
            raise ValueError(problems.NO_BITS)

        # PostgreSQL would cut the text, or fill it up.
        if len(bits) < shortest or (longest and len(bits) > longest):
            raise ValueError(problems.WRONG_BITS)

        return bits

    schema = {**TEXT, "pattern": "^[01]*$"}
    return Conversion(
        cast_bits, is_foreign=True, compared_by_database=True, schema=schema
    )


def _sets(type_: t.Any) -> Conversion:
    def cast_set(value: t.Any) -> str:
        names = casts.as_text(value)

        if names and not set(names.split(",")).issubset(type_.values):
            raise ValueError(problems.no_choice(type_.values))

        return names

    return Conversion(
        cast_set,
        null_texts=(),
        is_ordered=False,
        key_fault=NO_KEY,
        select=lambda column: sa.type_coerce(column, sa.String()),
        schema=TEXT,
    )


def _uuids(type_: sa.Uuid[t.Any]) -> Conversion:
    as_uuid = casts.as_uuid
    cast = as_uuid if type_.as_uuid else lambda value: str(as_uuid(value))
    return Conversion(cast, schema={**TEXT, "format": "uuid"})


def _binaries(type_: t.Any) -> Conversion:
    length = getattr(type_, "length", None)
    # The text "null" is the base64 of three bytes.
    schema = {**TEXT, "contentEncoding": "base64"}
    return Conversion(
        casts.as_bytes, at_most(length, "bytes"), null_texts=(), schema=schema
    )


CONVERSIONS: dict[TypeKey, Make] = {
    sa.String: _texts,
    sa.Enum: _enums,
    sa.SmallInteger: _integers(16),
    sa.Integer: _integers(32),
    sa.BigInteger: _integers(64),
    "mysql.SET": _sets,
    "mysql.TINYINT": _integers(8),
    "mysql.MEDIUMINT": _integers(24),
    "mysql.BIT": lambda type_: whole_numbers(0, 2 ** (type_.length or 1) - 1),
    "mysql.YEAR": _years,
    sa.Numeric: numerics,
    ExactNumeric: numerics,
    sa.Float: _floats,
    sa.Boolean: unchecked(casts.as_boolean, schema={"type": "boolean"}),
    sa.DateTime: lambda type_: Conversion(
        casts.as_moment if type_.timezone else casts.as_naive_moment,
        schema={**TEXT, "format": "date-time"},
    ),
    sa.Date: unchecked(casts.as_date, schema={**TEXT, "format": "date"}),
    # The registry of OpenAPI has this name for times without a zone.
    sa.Time: unchecked(casts.as_time, schema={**TEXT, "format": "time-local"}),
    sa.Interval: unchecked(casts.as_interval, schema=SECONDS),
    "postgresql.BIT": _bits,
    "postgresql.INTERVAL": unchecked(casts.as_interval, schema=SECONDS),
    "postgresql.HSTORE": unchecked(
        as_hstore,
        from_text=hstore_of_query,
        is_foreign=True,
        compared_by_database=True,
        schema={"type": "object", "additionalProperties": nullable(TEXT)},
    ),
    "postgresql.AbstractMultiRange": unchecked(
        as_multirange,
        from_text=multirange_of_query,
        is_foreign=True,
        compared_by_database=True,
        schema={"type": "array", "items": TEXT},
    ),
    sa.Uuid: _uuids,
    sa.LargeBinary: _binaries,
    sa.BINARY: _binaries,
    sa.VARBINARY: _binaries,
    "mysql.TINYBLOB": _binaries,
    "mysql.MEDIUMBLOB": _binaries,
    "mysql.LONGBLOB": _binaries,
    sa.JSON: unchecked(
        casts.as_json,
        is_ordered=False,
        from_text=lambda value: casts.as_json(casts.of_json_text(value)),
    ),
    # The type of an expression without a type.
    NullType: unchecked(casts.as_text, schema=TEXT),
}
"""The conversions by column type. A type that is not here has that of its nearest base,
and text otherwise.
"""


def entry_of(type_: t.Any, table: Mapping[TypeKey, Entry]) -> Entry | None:
    """Return the entry of a column type, or of its nearest base, in a table."""
    for base in type(type_).__mro__:
        for key in (base, _key_of(base)):
            if key in table:
                return table[key]

    return None


def _key_of(class_: type[t.Any]) -> str:
    """Return the name of the type of a dialect, such as ``mysql.SET``."""
    module = class_.__module__

    if not module.startswith(DIALECTS):
        return ""

    return f"{module.removeprefix(DIALECTS).partition('.')[0]}.{class_.__name__}"
