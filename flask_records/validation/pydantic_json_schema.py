"""JSON Schemas of the types that pydantic checks."""

from __future__ import annotations

import typing as t

from pydantic.json_schema import GenerateJsonSchema

from .json_schema import inlined

if t.TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ..typing import Record

BASE64: t.Final = {"type": "string", "contentEncoding": "base64"}
"""The schema of bytes as services send and take them."""


def schema_of(adapter: TypeAdapter[t.Any], *, is_shown: bool = False) -> Record:
    """Return the JSON Schema of the values that an adapter checks, without references.

    :param is_shown: ``True`` for the form that it gives results.
    """
    mode: t.Any = "serialization" if is_shown else "validation"
    made = adapter.json_schema(mode=mode, schema_generator=WireSchema)
    return inlined(made)


def with_base64(schema: Record) -> Record:
    """Return the schema of a field whose bytes are base64. Its limits are left out,
    since they count bytes, not characters.
    """
    if "anyOf" in schema:
        return {**schema, "anyOf": [with_base64(each) for each in schema["anyOf"]]}

    if schema.get("format") != "binary":
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
