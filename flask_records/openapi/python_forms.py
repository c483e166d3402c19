"""The forms that values have in JSON, as clients in Python read them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

if t.TYPE_CHECKING:
    from ..service.schemas import Schema

READERS: t.Final[Mapping[str, str]] = {
    "date-time": "date-time",
    "date": "date",
    "time": "time",
    "time-local": "time",
    "decimal": "decimal",
    "uuid": "uuid",
    "base64": "bytes",
}
"""The names of forms of text, as clients have them, by formats."""


def form_of(schema: Schema) -> t.Any:
    """Return the form of the values of a schema as clients read them, or ``None`` if
    they have to convert nothing.
    """
    if not isinstance(schema, Mapping):
        return None

    forms = [form for form in map(form_of, variants(schema)) if form]

    if forms:
        return forms[0] if len(forms) == 1 else tuple(forms)

    if "items" in schema:
        item = form_of(schema["items"])
        return [item] if item else None

    if "properties" in schema:
        members = {key: form_of(each) for key, each in schema["properties"].items()}
        return {key: form for key, form in members.items() if form} or None

    return reader_of(schema) if "string" in kinds(schema) else None


def reader_of(schema: Schema) -> str | None:
    """Return the name of the form of a text, or ``None`` for any other text."""
    names = (schema.get("format", ""), schema.get("contentEncoding", ""))
    return next((READERS[name] for name in names if name in READERS), None)


def variants(schema: Schema) -> list[Schema]:
    """Return the schemas one of which values have."""
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


def kinds(schema: Schema) -> list[str]:
    """Return the types of JSON that values have."""
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else named
