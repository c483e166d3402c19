"""Conversions by column type on each database."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.types import NullType, TypeDecorator, TypeEngine

from .. import problems
from . import casts
from .conversions import CONVERSIONS, entry_of, TypeKey
from .database_casts import as_foreign
from .exact_numeric import ExactNumeric
from .python_types import of_python_type, own_python_type
from .refinements import REFINEMENTS
from .values import cast_and_check, Conversion, is_json, nullable

MAX_DIMENSIONS: t.Final = 6
"""The number of dimensions of an array that PostgreSQL takes."""


def conversion_of(
    type_: TypeEngine[t.Any], dialect: sa.Dialect | None = None
) -> Conversion | None:
    """Return the conversion of a column type, or ``None`` if it has no wire form.

    :param dialect: The dialect of the database. What is the same on all by default.
    """
    name = "" if dialect is None else dialect.name
    variant = type_._variant_mapping.get(name, type_)

    # An integer of SQLite that stands for another one holds as much.
    if name != "sqlite" or not isinstance(variant, sa.Integer):
        type_ = variant

    nested = entry_of(type_, NESTED)

    if nested is not None and not isinstance(type_, PLAIN_DECORATORS):
        return nested(type_, dialect)

    make = entry_of(type_, CONVERSIONS)

    if make is None:
        return Conversion(as_foreign, is_foreign=True, compared_by_database=True)

    refine = entry_of(type_, REFINEMENTS.get(name, {}))
    conversion = make(type_)
    return conversion if refine is None else refine(conversion, type_)


def _decorated(
    type_: TypeDecorator[t.Any], dialect: sa.Dialect | None
) -> Conversion | None:
    impl = type_.impl_instance if dialect is None else type_.load_dialect_impl(dialect)
    conversion = conversion_of(impl, dialect)

    if conversion is None:
        return None

    # The type makes its values of those that are selected.
    conversion = replace(conversion, select=None, compared_by_database=True)
    own = own_python_type(type_)
    return conversion if own is None else of_python_type(own, conversion, impl)


def _arrays(type_: t.Any, dialect: sa.Dialect | None) -> Conversion | None:
    item = conversion_of(type_.item_type, dialect)

    # SQLAlchemy has no name for the array of a type that it does not know.
    if item is None or isinstance(type_.item_type, NullType):
        return None

    cast_item = cast_and_check(item)

    # PostgreSQL does not care for the number of dimensions that a column declares.
    is_open = type_.dimensions is None and not is_json(type_.item_type)

    def cast_array(value: t.Any, dimensions: int = type_.dimensions or 1) -> t.Any:
        if not isinstance(value, list):
            raise ValueError(problems.NO_LIST)

        if dimensions > MAX_DIMENSIONS:
            raise ValueError(problems.too_deep(MAX_DIMENSIONS))

        if is_open and any(isinstance(each, list) for each in value):
            return [cast_array(each, dimensions + 1) for each in value]

        if dimensions > 1 and not is_open:
            return [cast_array(each, dimensions - 1) for each in value]

        return [cast_item(each) for each in value]

    array = sa.ARRAY(sa.Text(), dimensions=type_.dimensions)
    return Conversion(
        cast_array,
        is_ordered=False,
        from_text=lambda value: cast_array(casts.of_json_text(value)),
        select=item.select and (lambda column: sa.cast(column, array)),
        schema=_array_schema(item, type_.dimensions or 1, is_open=is_open),
    )


def _array_schema(
    item: Conversion, dimensions: int, *, is_open: bool
) -> Mapping[str, t.Any]:
    """Return the JSON Schema of an array.

    :param is_open: It may have any number of dimensions.
    """
    if is_open:
        return {"type": "array", "items": {}}

    # Any item may be null.
    items: Mapping[str, t.Any] = nullable(item.schema)

    for _ in range(dimensions):
        items = {"type": "array", "items": items}

    return items


PLAIN_DECORATORS = (sa.Interval, ExactNumeric)
"""The decorators with a conversion of their own."""

NESTED: Mapping[TypeKey, Callable[[t.Any, sa.Dialect | None], Conversion | None]] = {
    sa.ARRAY: _arrays,
    # The content of a pickle has no form on the wire.
    sa.PickleType: lambda type_, dialect: None,
    "postgresql.DOMAIN": lambda type_, dialect: conversion_of(type_.data_type, dialect),
    TypeDecorator: _decorated,
}
"""The conversions of types that are made of others."""
