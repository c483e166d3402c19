"""Conversions and JSON Schemas by Python type."""

from __future__ import annotations

import datetime as dt
import enum
import types
import typing as t
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import sqlalchemy as sa

from .. import problems
from . import casts
from .conversions import CONVERSIONS, entry_of
from .values import anything, Conversion, nullable

Schema: t.TypeAlias = Mapping[str, t.Any]

UNIONS: t.Final = (t.Union, types.UnionType)

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

NUMBERS: t.Final[Mapping[t.Any, Schema]] = {
    int: {"type": "integer"},
    float: {"anyOf": [{"type": "number"}, {"type": "null"}]},
}
"""The schemas of numbers that no column limits. Those that are not finite are null."""


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
    else:
        of_class = conversion_of_class(class_)

        if of_class is None:
            return conversion

        made = of_class

    return replace(made, select=None, compared_by_database=True)


def conversion_of_class(class_: t.Any) -> Conversion | None:
    """Return the conversion of the values of a class, or ``None`` if it has none."""
    type_: sa.types.TypeEngine[t.Any] | None = TYPES.get(class_)

    if type_ is None:
        return None

    make = entry_of(type_, CONVERSIONS)
    return None if make is None else make(type_)


def annotated_type(function: t.Any) -> sa.types.TypeEngine[t.Any] | None:
    """Return the type of a column for the values that a function says it returns."""
    try:
        hint = t.get_type_hints(function).get("return")
    except (NameError, TypeError):
        return None

    if t.get_origin(hint) in UNIONS:
        hint = _optional(hint)

    return TYPES.get(t.get_origin(hint) or hint) if hint else None


def hint_of_items(function: Callable[..., t.Any]) -> t.Any:
    """Return the type of the items of the list that a function says it returns.
    :data:`typing.Any` if it does not say, or names a type that can't be found.

    :raises TypeError: It says that it returns something else.
    """
    try:
        hint = t.get_type_hints(function).get("return", t.Any)
    except (NameError, TypeError):
        return t.Any

    origin = t.get_origin(hint) or hint
    arguments = t.get_args(hint)

    if hint is t.Any or origin in (list, tuple) and not arguments:
        return t.Any

    if not isinstance(origin, type) or not issubclass(origin, Sequence):
        raise TypeError(hint)

    if issubclass(origin, (str, bytes)):
        raise TypeError(hint)

    return arguments[0] if arguments else t.Any


def schema_of_hint(hint: t.Any) -> Schema:
    """Return the JSON Schema of the values of a type in answers: a type of columns, a
    list, a dict, an enum, a ``Literal``, or one of these or null. Empty for others.
    """
    origin, arguments = t.get_origin(hint), t.get_args(hint)

    if origin is t.Literal:
        return {"enum": list(arguments)}

    if origin in UNIONS:
        schema = schema_of_hint(_optional(hint))
        return nullable(schema) if schema else {}

    class_ = origin or hint
    return _schema_of(class_, arguments) if isinstance(class_, type) else {}


def _schema_of(class_: type[t.Any], arguments: Sequence[t.Any]) -> Schema:
    if issubclass(class_, enum.Enum):
        return {"enum": [each.value for each in class_]}

    if class_ in NUMBERS:
        return NUMBERS[class_]

    if issubclass(class_, Mapping):
        values = schema_of_hint(arguments[1]) if arguments[1:] else {}
        return {"type": "object", "additionalProperties": values or True}

    if issubclass(class_, Sequence) and not issubclass(class_, (str, bytes)):
        item = arguments[0] if arguments and class_ is not tuple else t.Any
        return {"type": "array", "items": schema_of_hint(item)}

    conversion = conversion_of_class(class_)
    return conversion.schema if conversion else {}


def _optional(union: t.Any) -> t.Any:
    """Return the type that a union has beside null, or ``None`` if it has several."""
    hints = [each for each in t.get_args(union) if each is not type(None)]
    return hints[0] if len(hints) == 1 else None


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
