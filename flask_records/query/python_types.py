"""Conversions by Python type, for types of the application and for annotations."""

from __future__ import annotations

import datetime as dt
import enum
import types
import typing as t
import uuid
from dataclasses import replace
from decimal import Decimal

import sqlalchemy as sa

from .. import problems
from . import casts
from .conversions import CONVERSIONS
from .values import anything
from .values import Conversion

TYPES: t.Final[dict[type[t.Any], sa.types.TypeEngine[t.Any]]] = {
    bool: sa.Boolean(),
    int: sa.BigInteger(),
    float: sa.Double(),
    str: sa.String(),
    Decimal: sa.Numeric(),
    dt.datetime: sa.DateTime(),
    dt.date: sa.Date(),
    dt.time: sa.Time(),
    dt.timedelta: sa.Interval(),
    uuid.UUID: sa.Uuid(),
    bytes: sa.LargeBinary(),
    list: sa.JSON(),
    dict: sa.JSON(),
}
"""The types of columns for the values of Python types."""


def own_python_type(type_: t.Any) -> type[t.Any] | None:
    """Return the ``python_type`` that a type of the application defines, if it does."""
    is_own = any(
        "python_type" in vars(base)
        for base in type(type_).__mro__
        if not base.__module__.startswith("sqlalchemy.")
    )
    return type_.python_type if is_own else None


def of_python_type(
    class_: t.Any, conversion: Conversion, impl: sa.types.TypeEngine[t.Any]
) -> Conversion:
    """Return the conversion of a type of the application by its Python type.

    :param conversion: That of its implementation, which stays if this is of the same
        Python type, or if the Python type has no form on the wire.
    :param impl: The type that it is implemented by.
    """
    if not isinstance(class_, type) or _is_of(impl, class_):
        return conversion

    if issubclass(class_, enum.Enum):
        made = CONVERSIONS[sa.Enum](sa.Enum(class_))
        made = replace(made, is_ordered=False)
    elif class_ in (list, dict):
        made = _documents(class_)
    elif class_ in TYPES:
        type_ = TYPES[class_]
        bases = type(type_).__mro__
        made = next(CONVERSIONS[base](type_) for base in bases if base in CONVERSIONS)
    else:
        return conversion

    return replace(made, select=None, compared_by_database=True)


def annotated_type(function: t.Any) -> sa.types.TypeEngine[t.Any] | None:
    """Return the type of a column for the values that a function says it returns."""
    try:
        hint = t.get_type_hints(function).get("return")
    except (NameError, TypeError):
        return None

    if t.get_origin(hint) in (t.Union, types.UnionType):
        hints = [each for each in t.get_args(hint) if each is not type(None)]
        hint = hints[0] if len(hints) == 1 else None

    return TYPES.get(t.get_origin(hint) or hint) if hint else None


def _is_of(impl: sa.types.TypeEngine[t.Any], class_: type[t.Any]) -> bool:
    try:
        return impl.python_type is class_
    except NotImplementedError:
        return False


def _documents(class_: type[t.Any]) -> Conversion:
    """Return the conversion of JSON documents that are lists, or objects."""
    problem = problems.NO_LIST if class_ is list else problems.NO_OBJECT

    def cast(value: t.Any) -> t.Any:
        document = casts.as_json(value)

        if not isinstance(document, class_):
            raise ValueError(problem)

        return document

    return Conversion(
        cast,
        anything,
        is_ordered=False,
        from_text=lambda value: cast(casts.of_json_text(value)),
        schema={"type": "array" if class_ is list else "object"},
    )
