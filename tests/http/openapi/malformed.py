"""Values that do not fit a JSON Schema, whatever a server may convert."""

from __future__ import annotations

HUGE = 10**400
DEEP = 150
NULL = {"type": "null"}


def nested(depth):
    """A list in lists, and objects in them."""
    value = "x"

    for level in range(depth):
        value = {"a": value} if level % 2 else [value]

    return value


def malformed(schema):
    """The values of a body that a schema refuses. Text may stand for values of other
    types, and numbers for text.
    """
    options = [each for each in schema.get("anyOf", ()) if each != NULL]

    if options:
        return intersection(*map(malformed, options))

    kinds = schema.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else {*kinds}

    if not kinds:
        # Only a size can be wrong.
        return [nested(DEEP)]

    return [
        *([] if "object" in kinds else [{"a": 1}, {}, nested(DEEP)]),
        *([] if "array" in kinds else [[1], []]),
        *intersection(*[OF_KIND[kind](schema) for kind in sorted(kinds - {"null"})]),
    ]


def intersection(first, *others):
    return [each for each in first if all(each in other for other in others)]


def malformed_text(schema):
    """Other texts than a schema of text allows."""
    values = ["\ud800", "a\ud800"]

    if "enum" in schema:
        return [*values, "nonsense", "x" * 10_000, True, HUGE]

    if "format" in schema or "contentEncoding" in schema:
        return [*values, "nonsense!", "9" * 10_000 + "!", "\0"]

    return [
        *values,
        *(["x" * (schema["maxLength"] + 1)] if "maxLength" in schema else []),
    ]


def malformed_number(schema):
    return ["nonsense", "1x", HUGE, "9" * 1_000 + "x", "\0", "\ud800"]


def malformed_integer(schema):
    limits = [schema.get("minimum"), schema.get("maximum")]
    steps = zip(limits, (-1, 1), strict=True)
    beyond = [limit + step for limit, step in steps if limit is not None]
    huge = HUGE if beyond else 1.5
    numbers = [huge if each is HUGE else each for each in malformed_number(schema)]
    return [*numbers, 1.5, "1.5", True, *beyond, *map(str, beyond)]


def malformed_boolean(schema):
    return ["maybe", 2, 1.5, "\0", "\ud800", HUGE]


def malformed_array(schema):
    items = malformed(schema.get("items", {}))
    return ["nonsense", 1, {"a": 1}, *([each] for each in items)]


OF_KIND = {
    "string": malformed_text,
    "number": malformed_number,
    "integer": malformed_integer,
    "boolean": malformed_boolean,
    "array": malformed_array,
    "object": lambda schema: ["nonsense", 1, [1]],
}
