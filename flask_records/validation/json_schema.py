"""JSON Schemas of the types that pydantic checks, without references."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from pydantic.json_schema import GenerateJsonSchema

if t.TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ..typing import Record

MAPPINGS: t.Final = ("properties", "patternProperties", "dependentSchemas")
"""The keywords with schemas by name."""

VALUES: t.Final = ("default", "const", "enum", "examples")
"""The keywords with values."""

LEFT_OUT: t.Final = frozenset({"$defs", "$ref", "title", "discriminator"})
"""The keywords that refer to other places, or repeat a name."""

RECURSION: t.Final = {"type": "object"}
"""The schema of an object inside of one of its own kind."""

BASE64: t.Final = {"type": "string", "contentEncoding": "base64"}
"""The schema of bytes as services send and take them."""


def schema_of(adapter: TypeAdapter[t.Any], *, is_shown: bool = False) -> Record:
    """Return the JSON Schema of the values that an adapter checks, without references.

    :param is_shown: ``True`` for the form that it gives results.
    """
    mode: t.Any = "serialization" if is_shown else "validation"
    made = adapter.json_schema(mode=mode, schema_generator=WireSchema)
    return inlined(made)


def is_binary(schema: Record) -> bool:
    """Return ``True`` for the schema of bytes, or of bytes and others."""
    return schema.get("format") == "binary" or any(
        map(is_binary, schema.get("anyOf", ()))
    )


def with_base64(schema: Record) -> Record:
    """Return the schema of a field whose bytes are base64. Its limits are left out,
    since they count bytes, not characters.
    """
    if "anyOf" in schema:
        return {**schema, "anyOf": [with_base64(each) for each in schema["anyOf"]]}

    if not is_binary(schema):
        return schema

    limits = ("format", "minLength", "maxLength")
    rest = {name: schema[name] for name in schema if name not in limits}
    return {**rest, **BASE64}


class WireSchema(GenerateJsonSchema):
    """Makes the JSON Schemas of values on the wire."""

    def bytes_schema(self, schema: t.Any) -> t.Any:
        """Return the schema of bytes. Those of results are base64, at all levels."""
        described = super().bytes_schema(schema)
        return with_base64(described) if self.mode == "serialization" else described

    def handle_invalid_for_json_schema(self, schema: t.Any, error_info: str) -> t.Any:
        """Return the schema of a type that JSON Schema has no word for: any value."""
        return {}


def inlined(schema: Mapping[str, t.Any]) -> Record:
    """Return a JSON Schema with what it refers to in its ``$defs`` in these places. An
    object inside of one of its own kind may be any.
    """
    return t.cast("Record", _inlined(schema, schema.get("$defs", {}), ()))


def _inlined(
    schema: t.Any, definitions: Mapping[str, t.Any], outer: tuple[str, ...]
) -> t.Any:
    if isinstance(schema, list):
        return [_inlined(each, definitions, outer) for each in schema]

    # True and False are schemas, and keywords have numbers and texts.
    if not isinstance(schema, Mapping):
        return schema

    made: dict[str, t.Any] = {}
    name = str(schema.get("$ref", "")).rpartition("/")[2]

    if name in outer:
        made = {**RECURSION}
    elif name in definitions:
        made = _inlined(definitions[name], definitions, (*outer, name))

    for keyword, value in schema.items():
        if keyword in MAPPINGS:
            made[keyword] = {
                name: _inlined(each, definitions, outer) for name, each in value.items()
            }
        elif keyword in VALUES:
            made[keyword] = value
        elif keyword not in LEFT_OUT:
            made[keyword] = _inlined(value, definitions, outer)

    return made
