"""JSON Schemas of the types that annotations name."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing as t
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

from .conversions import CONVERSIONS
from .python_types import TYPES
from .values import Conversion
from .values import nullable

if t.TYPE_CHECKING:
    import sqlalchemy as sa

Schema: t.TypeAlias = Mapping[str, t.Any]

MAX_DEPTH: t.Final = 8
"""The number of levels of a type that are described. A class may name itself."""

NUMBERS: t.Final[Mapping[t.Any, Schema]] = {
    int: {"type": "integer"},
    float: {"anyOf": [{"type": "number"}, {"type": "null"}]},
}
"""The schemas of numbers that no column limits. Those that are not finite are null."""


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


def schema_of_hint(hint: t.Any, depth: int = MAX_DEPTH) -> Schema:
    """Return the JSON Schema of the values of a type in answers. Empty if any value is
    possible, or if the type has no form in JSON that can be told.
    """
    origin = t.get_origin(hint)

    if depth == 0:
        return {}

    if origin is t.Annotated or origin in (t.Required, t.NotRequired):
        return schema_of_hint(t.get_args(hint)[0], depth)

    if origin is t.Literal:
        return {"enum": list(t.get_args(hint))}

    if origin in (t.Union, types.UnionType):
        return _union(t.get_args(hint), depth)

    if hint is None or hint is type(None):
        return {"type": "null"}

    return _of_class(origin or hint, t.get_args(hint), depth)


def conversion_of_class(class_: t.Any) -> Conversion | None:
    """Return the conversion of the values of a class, or ``None`` if it has none."""
    type_: sa.types.TypeEngine[t.Any] | None = TYPES.get(class_)

    if type_ is None:
        return None

    bases = type(type_).__mro__
    return next(CONVERSIONS[base](type_) for base in bases if base in CONVERSIONS)


def _union(hints: Sequence[t.Any], depth: int) -> Schema:
    others = [each for each in hints if each is not type(None)]
    schemas = [schema_of_hint(each, depth) for each in others]

    # A schema that allows anything allows null.
    if {} in schemas:
        return {}

    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return schema if len(others) == len(hints) else nullable(schema)


def _of_class(class_: t.Any, arguments: Sequence[t.Any], depth: int) -> Schema:
    if not isinstance(class_, type):
        return {}

    if issubclass(class_, enum.Enum):
        return {"enum": [each.value for each in class_]}

    if class_ in NUMBERS:
        return NUMBERS[class_]

    if t.is_typeddict(class_) or dataclasses.is_dataclass(class_):
        return _object(class_, depth)

    if issubclass(class_, Mapping):
        values = schema_of_hint(arguments[1], depth - 1) if arguments[1:] else {}
        return {"type": "object", "additionalProperties": values or True}

    conversion = conversion_of_class(class_)

    if conversion is not None and class_ is not list:
        return conversion.schema

    if issubclass(class_, (list, Sequence)):
        item = arguments[0] if arguments and class_ is not tuple else t.Any
        return {"type": "array", "items": schema_of_hint(item, depth - 1)}

    return {}


def _object(class_: t.Any, depth: int) -> Schema:
    """Return the schema of a typed dict, or of a dataclass."""
    try:
        hints = t.get_type_hints(class_)
    except (NameError, TypeError):
        return {"type": "object"}

    required = getattr(class_, "__required_keys__", hints.keys())
    return {
        "type": "object",
        "properties": {n: schema_of_hint(hints[n], depth - 1) for n in hints},
        "required": [name for name in hints if name in required],
    }
