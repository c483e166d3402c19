"""JSON Schemas by the types that functions are annotated with."""

from __future__ import annotations

import enum
import types
import typing as t
from collections.abc import Callable, Mapping, Sequence

from .types import conversion_of_class
from .values import nullable, Schema

UNIONS: t.Final = (t.Union, types.UnionType)

NUMBERS: t.Final[Mapping[t.Any, Schema]] = {
    int: {"type": "integer"},
    float: {"anyOf": [{"type": "number"}, {"type": "null"}]},
}
"""The schemas of numbers that no column limits. Those that are not finite are null."""


def schema_of_items(function: Callable[..., t.Any]) -> Schema:
    """Return the JSON Schema of the items of the list that a function says it returns.
    Empty if it does not say, or names a type that can't be found.
    """
    try:
        hint = t.get_type_hints(function).get("return")
    except (NameError, TypeError):
        return {}

    is_list = t.get_origin(hint) in (list, Sequence)
    return schema_of_hint(t.get_args(hint)[0]) if is_list else {}


def schema_of_hint(hint: t.Any) -> Schema:
    """Return the JSON Schema of the values of a type in answers: a type of columns, a
    list, a dict, an enum, a ``Literal``, or one of these or null. Empty for others.
    """
    origin, arguments = t.get_origin(hint), t.get_args(hint)

    if origin is t.Literal:
        return {"enum": list(arguments)}

    if origin in UNIONS:
        schema = schema_of_hint(optional(hint))
        return nullable(schema) if schema else {}

    if origin is list:
        return {"type": "array", "items": schema_of_hint(arguments[0])}

    if origin is dict:
        values = schema_of_hint(arguments[1])
        return {"type": "object", "additionalProperties": values}

    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [each.value for each in hint]}

    conversion = conversion_of_class(hint)
    return NUMBERS.get(hint, conversion.schema if conversion else {})


def optional(union: t.Any) -> t.Any:
    """Return the type that a union has beside null, or ``None`` if it has several."""
    hints = [each for each in t.get_args(union) if each is not type(None)]
    return hints[0] if len(hints) == 1 else None
