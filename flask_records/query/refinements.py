"""Conversions of types whose values are not the same on every database."""

from __future__ import annotations

import datetime as dt
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal

import sqlalchemy as sa

from .. import problems
from ..problems import Problem
from .conversions import scale_of, TypeKey
from .database_casts import as_zoned_time
from .exact_numeric import shortest_decimal, ShortestDecimal
from .values import Conversion

Refine: t.TypeAlias = Callable[[Conversion, t.Any], Conversion]

DAY = dt.timedelta(days=1)

NO_PRECISION = """\
MariaDB rounds numbers to integers in a NUMERIC column without a precision. Give it \
one, as in Numeric(12, 2).\
"""

SINGLE = """\
The database rounds this FLOAT to single precision, so that few numbers are found by \
it. Give the column the type Double.\
"""

SINGLE_KEY = """\
The database rounds this FLOAT, so that a record is not found by it. Give the table \
another primary key, or the column the type Double.\
"""

MAX_DIGITS: t.Final = 15
"""The number of digits that a float holds, whatever they are."""

FEW_DIGITS = """\
SQLite stores the numbers of a NUMERIC column as floats, so that those of more than 15 \
digits are refused. ExactNumeric(18, 2) keeps 18 digits.\
"""


def _refuse(is_wrong: Callable[[t.Any], bool], problem: Problem) -> Refine:
    """Return the refinement that refuses some values in bodies and in queries."""

    def refine(conversion: Conversion, type_: t.Any) -> Conversion:
        def cast(value: t.Any) -> t.Any:
            value = conversion.cast(value)

            if is_wrong(value):
                raise ValueError(problem)

            return value

        return replace(conversion, cast=cast)

    return refine


def _singles(conversion: Conversion) -> Conversion:
    """Return the conversion of floats of single precision, which equal few numbers."""
    return replace(
        conversion,
        compared_by_database=True,
        key_fault=SINGLE_KEY,
        caution=SINGLE,
    )


def _floats_of_postgresql(conversion: Conversion, type_: t.Any) -> Conversion:
    is_single = not isinstance(type_, sa.Double) and 0 < (type_.precision or 53) <= 24
    is_single = is_single or isinstance(type_, sa.REAL)
    return _singles(conversion) if is_single else conversion


def _floats_of_mariadb(conversion: Conversion, type_: t.Any) -> Conversion:
    is_double = isinstance(type_, (sa.Double, sa.REAL))
    is_double = is_double or (type_.precision or 0) > 24
    return conversion if is_double else _singles(conversion)


def _numerics_of_mariadb(conversion: Conversion, type_: t.Any) -> Conversion:
    return replace(conversion, fault=NO_PRECISION if type_.precision is None else None)


def _numerics_of_sqlite(conversion: Conversion, type_: t.Any) -> Conversion:
    scale = scale_of(type_)
    check_before = conversion.check

    def check(number: Decimal) -> None:
        check_before(number)
        stored = float(number)
        read = shortest_decimal(stored) if scale is None else f"{stored:.{scale}f}"

        if Decimal(read) != number:
            raise ValueError(problems.MORE_DIGITS)

    is_short = type_.precision is not None and type_.precision <= MAX_DIGITS
    conversion = replace(
        conversion,
        check=check,
        compared_by_database=not is_short,
        caution=None if is_short else FEW_DIGITS,
    )

    if type_.scale is not None or not type_.asdecimal:
        return conversion

    return replace(
        conversion, select=lambda column: sa.type_coerce(column, ShortestDecimal())
    )


def _times_of_postgresql(conversion: Conversion, type_: t.Any) -> Conversion:
    if not type_.timezone:
        return conversion

    return replace(
        conversion,
        cast=as_zoned_time,
        compared_by_database=True,
        schema={**conversion.schema, "format": "time"},
    )


def _moments_of_postgresql(conversion: Conversion, type_: t.Any) -> Conversion:
    return _NEAR_EDGE(conversion, type_) if type_.timezone else conversion


def _is_near_edge(moment: dt.datetime) -> bool:
    # The driver reads moments in the zone of its connection, where they may be in a
    # year that Python lacks.
    naive = moment.replace(tzinfo=None)
    return naive < dt.datetime.min + DAY or naive > dt.datetime.max - DAY


_NEAR_EDGE = _refuse(_is_near_edge, problems.OUT_OF_RANGE)

OF_MARIADB: Mapping[TypeKey, Refine] = {
    sa.Numeric: _numerics_of_mariadb,
    sa.Float: _floats_of_mariadb,
    sa.Uuid: lambda conversion, type_: replace(conversion, compared_by_database=True),
}

REFINEMENTS: Mapping[str, Mapping[TypeKey, Refine]] = {
    "sqlite": {
        sa.Numeric: _numerics_of_sqlite,
        sa.Float: lambda conversion, type_: conversion,
    },
    "postgresql": {
        sa.String: _refuse(lambda value: "\0" in value, problems.NUL),
        sa.Enum: lambda conversion, type_: conversion,
        sa.Float: _floats_of_postgresql,
        sa.DateTime: _moments_of_postgresql,
        sa.Time: _times_of_postgresql,
    },
    "mariadb": OF_MARIADB,
    "mysql": {base: OF_MARIADB[base] for base in OF_MARIADB if base is not sa.Uuid},
}
"""The conversions of a database that differ from those of all."""
