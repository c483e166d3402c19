"""JSON Schemas as types of Python."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable

    from ..service.schemas import Schema

ANY: t.Final = "t.Any"

PRIMITIVES: t.Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
"""The types of Python by those of JSON Schema."""

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

TYPES: t.Final[Mapping[str, str]] = {
    "date-time": "dt.datetime",
    "date": "dt.date",
    "time": "dt.time",
    "decimal": "Decimal",
    "uuid": "UUID",
    "bytes": "bytes",
}
"""The types of the values of these."""

TYPED_DICT: t.Final = """\
{head}{name} = t.TypedDict(
    "{name}",
    {{
{body}
    }},
)"""
"""The declaration of a type of dicts."""


class Declarations:
    """The types of a module, each after those in it.

    :param taken: The names that the module has for other things.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = taken
        self._texts: dict[str, str] = {}

    def __str__(self) -> str:
        return "\n\n".join(self._texts.values())

    def object_type(self, name: str, schema: Schema, required: Collection[str]) -> str:
        """Declare a type, and return its name.

        :param required: The names of the members that are always there.
        """
        if "properties" not in schema:
            return self.alias(name, self.type_of(schema, name))

        members = [
            (key, self.type_of(each, f"{name}{title(key)}"), _description(each))
            for key, each in schema["properties"].items()
        ]
        return self.dictionary(name, members, required, _description(schema))

    def alias(self, name: str, type_: str) -> str:
        """Declare another name of a type, and return it."""
        return self._declare(
            name, lambda name: f"{name}: t.TypeAlias = {quoted(type_)}"
        )

    def dictionary(
        self,
        name: str,
        members: Iterable[tuple[str, str, str | None]],
        required: Collection[str] = (),
        description: str | None = None,
    ) -> str:
        """Declare a type of dicts, and return its name.

        :param members: The names, types and descriptions of its members.
        """
        lines = []

        for key, type_, text in members:
            type_ = type_ if key in required else f"t.NotRequired[{type_}]"
            lines += _comment(text)
            lines.append(f"{quoted(key)}: {type_},")

        # Names of members may be none of Python, such as "$limit".
        body = "\n".join([f"        {line}" for line in lines])
        head = "\n".join([*_comment(description), ""])
        return self._declare(
            name,
            lambda name: TYPED_DICT.format(head=head, name=name, body=body),
        )

    def type_of(self, schema: Schema, name: str) -> str:
        """Return the type of the values of a schema.

        :param name: The name of the type if it has to be declared.
        """
        # A schema may be true or false, too.
        if not isinstance(schema, Mapping):
            return ANY

        if "const" in schema:
            return _literal([schema["const"]])

        if "enum" in schema:
            return _literal(schema["enum"])

        variants = _variants(schema)

        if variants:
            ends = [title(each.get("title", "")) for each in variants]
            types = [
                self.type_of(each, f"{name}{end}")
                for each, end in zip(variants, ends, strict=True)
            ]
            return _union(types)

        types = [self._type_of_kind(kind, schema, name) for kind in _kinds(schema)]
        return _union(types) if types else ANY

    def _type_of_kind(self, kind: str, schema: Schema, name: str) -> str:
        form = reader_of(schema)

        if kind == "string" and form is not None:
            return TYPES[form]

        if kind == "array":
            return f"list[{self.type_of(schema.get('items', {}), name)}]"

        if kind == "object" and "properties" in schema:
            return self.object_type(name, schema, schema.get("required", ()))

        return "dict[str, t.Any]" if kind == "object" else PRIMITIVES.get(kind, ANY)

    def _declare(self, name: str, text_of: Callable[[str], str]) -> str:
        """Declare a type, under another name if there is one of that name.

        :param text_of: Makes the declaration of the name.
        """
        while name in self._taken or self._texts.get(name, text_of(name)) != text_of(
            name
        ):
            name += "_"

        self._texts[name] = text_of(name)
        return name


def form_of(schema: Schema) -> t.Any:
    """Return the form of the values of a schema as clients read them, or ``None`` if
    they have to convert nothing.
    """
    if not isinstance(schema, Mapping):
        return None

    forms = [form for form in map(form_of, _variants(schema)) if form]

    if forms:
        return forms[0]

    if "items" in schema:
        item = form_of(schema["items"])
        return [item] if item else None

    if "properties" in schema:
        members = {key: form_of(each) for key, each in schema["properties"].items()}
        return {key: form for key, form in members.items() if form} or None

    return reader_of(schema) if "string" in _kinds(schema) else None


def reader_of(schema: Schema) -> str | None:
    """Return the name of the form of a text, or ``None`` for any other text."""
    names = (schema.get("format", ""), schema.get("contentEncoding", ""))
    return next((READERS[name] for name in names if name in READERS), None)


def quoted(text: str) -> str:
    """Return a text as a literal of Python."""
    return json.dumps(text, ensure_ascii=False)


def title(name: str) -> str:
    """Return a name as the end of the name of a type."""
    words = "".join([each if each.isalnum() else " " for each in name]).split()
    return "".join([f"{word[0].upper()}{word[1:]}" for word in words])


def _description(schema: t.Any) -> str | None:
    return schema.get("description") if isinstance(schema, Mapping) else None


def _variants(schema: Schema) -> list[Schema]:
    """Return the schemas one of which values have."""
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


def _kinds(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _union(types: Iterable[str]) -> str:
    unique = list(dict.fromkeys(types))
    return ANY if ANY in unique else " | ".join(unique)


def _literal(values: Iterable[t.Any]) -> str:
    """Return the type of some values. Only some of those of JSON have one."""
    values = list(values)

    if not all(value is None or isinstance(value, (str, int)) for value in values):
        return ANY

    texts = [quoted(each) if isinstance(each, str) else repr(each) for each in values]
    return f"t.Literal[{', '.join(texts)}]"


def _comment(text: str | None) -> list[str]:
    return [f"# {line}".rstrip() for line in (text or "").splitlines()]
