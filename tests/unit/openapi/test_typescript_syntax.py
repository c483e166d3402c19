"""JSON Schemas as types of TypeScript."""

from __future__ import annotations

import pytest

from flask_records.openapi.typescript_syntax import declaration, type_of

TEXT = {"type": "string"}
POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y-y": TEXT},
    "required": ["x"],
}

TYPES = [
    ({}, "any"),
    (TEXT, "string"),
    ({"type": ["integer", "null"]}, "number | null"),
    ({"const": 'a"b'}, '"a\\"b"'),
    ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
    ({"anyOf": [TEXT, {"type": "boolean"}, TEXT]}, "string | boolean"),
    ({"oneOf": [TEXT, {"type": "null"}]}, "string | null"),
    ({"type": "array"}, "any[]"),
    ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
    ({"type": "array", "prefixItems": [TEXT, {"type": "number"}]}, "[string, number]"),
    ({"type": "object"}, "{ [name: string]: any }"),
    ({"type": "object", "additionalProperties": TEXT}, "{ [name: string]: string }"),
    ({"type": "object", "additionalProperties": False}, "{ [name: string]: any }"),
    (POINT, '{ x: number; "y-y"?: string }'),
]


@pytest.mark.parametrize(("schema", "expected"), TYPES)
def test_type(schema, expected):
    assert type_of(schema) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "array", "items": POINT}, "Point[]"),
        ({"anyOf": [POINT, {"type": "null"}]}, "Point | null"),
        (
            {"type": "object", "additionalProperties": POINT},
            "{ [name: string]: Point }",
        ),
        ({"type": "object", "properties": {"at": POINT}}, "{ at?: Point }"),
    ],
)
def test_named_types_are_used_inside_of_others(schema, expected):
    assert type_of(schema, [(POINT, "Point")]) == expected


def test_a_comment_ends_where_its_text_does():
    schema = POINT | {"description": "A place. */ x"}

    assert declaration("Point", schema, ["x"]).startswith("/** A place. *\\/ x */\n")
