"""JSON Schemas without references, for documents that have places of their own."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

if t.TYPE_CHECKING:
    from ..typing import Record

MAPPINGS: t.Final = ("properties", "patternProperties", "dependentSchemas")
"""The keywords with schemas by name."""

LISTS: t.Final = ("anyOf", "oneOf", "allOf", "prefixItems")
"""The keywords with lists of schemas."""

SINGLES: t.Final = ("items", "additionalProperties", "not", "contains", "propertyNames")
"""The keywords with a schema."""

LEFT_OUT: t.Final = frozenset({"$defs", "$ref", "title", "discriminator"})
"""The keywords that refer to other places, or repeat a name."""

RECURSION: t.Final = {"type": "object"}
"""The schema of an object inside of one of its own kind."""


def inlined(schema: Mapping[str, t.Any]) -> Record:
    """Return a JSON Schema with what it refers to in its ``$defs`` in these places. An
    object inside of one of its own kind may be any.
    """
    return t.cast("Record", _inlined(schema, schema.get("$defs", {}), ()))


def _inlined(
    schema: t.Any, definitions: Mapping[str, t.Any], outer: tuple[str, ...]
) -> t.Any:
    # True and False are schemas, too.
    if not isinstance(schema, Mapping):
        return schema

    made: dict[str, t.Any] = {}
    name = str(schema.get("$ref", "")).rpartition("/")[2]

    if name in outer:
        made = {**RECURSION}
    elif name in definitions:
        made = _inlined(definitions[name], definitions, (*outer, name))

    for keyword, value in schema.items():
        if keyword in LEFT_OUT:
            continue

        if keyword in MAPPINGS:
            value = {
                key: _inlined(each, definitions, outer) for key, each in value.items()
            }
        elif keyword in LISTS:
            value = [_inlined(each, definitions, outer) for each in value]
        elif keyword in SINGLES:
            value = _inlined(value, definitions, outer)

        made[keyword] = value

    return made
