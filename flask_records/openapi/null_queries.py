"""Comparisons with null, in the schemas of queries."""

from __future__ import annotations

import typing as t

from ..query.values import nullable

if t.TYPE_CHECKING:
    from ..service.schemas import Schema

TAKES_NULL: t.Final = ("$eq", "$ne")
"""The operators whose value may be null."""

TAKES_NULLS: t.Final = ("$in", "$nin")
"""The operators with a list of values, which may be null."""


def with_nulls(query: Schema, record: Schema) -> Schema:
    """Return the schema of queries with null as a value of the fields that may be null,
    but for text: a query string has no null, only the empty text.

    :param query: The schema of a query, whose fields have a value or operators.
    :param record: The schema of a record.
    """
    fields = record.get("properties", {})
    properties = {
        name: _compared_with_null(each) if _may_be_null(fields.get(name, {})) else each
        for name, each in query.get("properties", {}).items()
    }
    return {**query, "properties": properties} if properties else query


def _compared_with_null(schema: Schema) -> Schema:
    value, *operators = schema.get("anyOf", (schema,))

    if not operators or _is_text(value):
        return schema

    allowed = dict(operators[-1].get("properties", {}))

    for name in TAKES_NULL:
        if name in allowed:
            allowed[name] = nullable(allowed[name])

    for name in TAKES_NULLS:
        if name in allowed:
            allowed[name] = {**allowed[name], "items": nullable(allowed[name]["items"])}

    return {
        "anyOf": [
            nullable(value),
            *operators[:-1],
            operators[-1] | {"properties": allowed},
        ]
    }


def _may_be_null(schema: Schema) -> bool:
    types = schema.get("type", ())
    return "null" in types or any(map(_may_be_null, schema.get("anyOf", ())))


def _is_text(schema: Schema) -> bool:
    return schema.get("type") == "string" and not {"format", "pattern", "enum"} & {
        *schema
    }
