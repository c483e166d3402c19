"""JSON Schemas as types of TypeScript."""

from __future__ import annotations

import json
import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ..service.schemas import Schema

    Named: t.TypeAlias = Sequence[tuple[Schema, str]]

NAME = re.compile(r"[A-Za-z_$][\w$]*")

PRIMITIVES: t.Final[Mapping[str, str]] = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
"""The types of TypeScript by those of JSON Schema."""


def declaration(
    name: str,
    schema: Schema,
    required: Collection[str],
    others: Iterable[str] = (),
    *,
    named: Named = (),
) -> str:
    """Return the declaration of a type.

    :param required: The names of the properties that are always there.
    :param others: More members.
    :param named: Types for the values of properties.
    """
    if "properties" not in schema:
        return f"export type {name} = {type_of(schema)}\n"

    members = [
        _comment(each)
        + member(key, type_of(each, named), is_optional=key not in required)
        for key, each in schema["properties"].items()
    ]
    return f"{_comment(schema)}{interface(name, [*members, *others])}"


def interface(name: str, members: Iterable[str]) -> str:
    """Return the declaration of an interface.

    :param name: Its name, with what follows it.
    :param members: The members, each in one line or several.
    """
    lines = [f"  {line}" for each in members for line in each.splitlines()]
    return "\n".join([f"export interface {name} {{", *lines, "}\n"])


def member(name: str, type: str, *, is_optional: bool = False) -> str:
    """Return a member of an interface."""
    return f"{quoted(name)}{'?' if is_optional else ''}: {type}"


def type_of(schema: Schema, named: Named = ()) -> str:
    """Return the type of the values of a schema.

    :param named: Schemas whose types have names.
    """
    name = next((name for each, name in named if each == schema), None)

    if name is not None:
        return name

    if "const" in schema:
        return json.dumps(schema["const"])

    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))

    for union in ("anyOf", "oneOf"):
        if union in schema:
            types = [type_of(each, named) for each in schema[union]]
            return " | ".join(dict.fromkeys(types))

    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else (kinds or [])
    return " | ".join([_type_of_kind(kind, schema, named) for kind in kinds]) or "any"


def quoted(name: str) -> str:
    """Return a name as that of a member."""
    return name if NAME.fullmatch(name) else json.dumps(name)


def _type_of_kind(kind: str, schema: Schema, named: Named) -> str:
    """Return the type of the values of a schema that are of one type of JSON."""
    if kind == "array":
        return _array(schema, named)

    return _object(schema, named) if kind == "object" else PRIMITIVES[kind]


def _array(schema: Schema, named: Named) -> str:
    if "prefixItems" in schema:
        return (
            f"[{', '.join([type_of(each, named) for each in schema['prefixItems']])}]"
        )

    item = type_of(schema.get("items", {}), named)
    return f"({item})[]" if " " in item else f"{item}[]"


def _object(schema: Schema, named: Named) -> str:
    if "properties" not in schema:
        values = schema.get("additionalProperties")
        value = type_of(values, named) if isinstance(values, dict) else "any"
        return f"{{ [name: string]: {value} }}"

    required = schema.get("required", ())
    members = [
        member(name, type_of(each, named), is_optional=name not in required)
        for name, each in schema["properties"].items()
    ]
    return f"{{ {'; '.join(members)} }}"


def _comment(schema: Schema) -> str:
    text = schema.get("description")
    return "/** {} */\n".format(text.replace("*/", "*\\/")) if text else ""
