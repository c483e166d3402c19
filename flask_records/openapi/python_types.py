"""JSON Schemas as types of Python."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Mapping

from .python_forms import form_of
from .python_forms import kinds
from .python_forms import reader_of
from .python_forms import variants

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Sequence

    from ..service.schemas import Schema

    Named: t.TypeAlias = Sequence[tuple[Schema, str]]

WORD = re.compile(r"\w+")

ANY: t.Final = "t.Any"

PRIMITIVES: t.Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
"""The types of Python by those of JSON Schema."""

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
    """The types of a module, each after those in it but records.

    :param taken: The names that the module has for other things.
    :param reserved: The names that no type inside of another one has.
    :param named: The schemas of records, and the names of their types.
    """

    def __init__(
        self,
        taken: Collection[str] = (),
        reserved: Collection[str] = (),
        named: Named = (),
    ) -> None:
        self._taken = taken
        self._reserved = reserved
        self._named = named
        self._records = {name for _, name in named}
        self._texts: dict[str, str] = {}

    def __str__(self) -> str:
        return "\n\n".join(self._texts.values())

    def object_type(
        self,
        name: str,
        schema: Schema,
        required: Collection[str],
        others: Iterable[tuple[str, str]] = (),
    ) -> str:
        """Declare a type, and return its name.

        :param required: The names of the members that are always there.
        :param others: The names and types of more members.
        """
        if "properties" not in schema:
            return self.alias(name, self.type_of(schema, name))

        members = [
            (key, self.type_of(each, f"{name}{title(key)}"), _description(each))
            for key, each in schema["properties"].items()
        ]
        members += [(key, type_, None) for key, type_ in others]
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
            type_ = self._evaluable(type_)
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

        for each, record in self._named:
            if each == schema:
                return record

        if "const" in schema:
            return _literal([schema["const"]])

        if "enum" in schema:
            return _literal(schema["enum"])

        either = variants(schema)

        if either:
            ends = [title(each.get("title", "")) for each in either]
            types = [
                self.type_of(each, f"{name}{end}")
                for each, end in zip(either, ends, strict=True)
            ]
            return _union(types)

        types = [self._type_of_kind(kind, schema, name) for kind in kinds(schema)]
        return _union(types) if types else ANY

    def _type_of_kind(self, kind: str, schema: Schema, name: str) -> str:
        form = reader_of(schema)

        if kind == "string" and form is not None:
            return TYPES[form]

        if kind == "array":
            return f"list[{self.type_of(schema.get('items', {}), name)}]"

        if kind == "object":
            return self._type_of_object(schema, name)

        return PRIMITIVES.get(kind, ANY)

    def _type_of_object(self, schema: Schema, name: str) -> str:
        if "properties" in schema:
            name = f"{name}_" if name in self._reserved else name
            return self.object_type(name, schema, schema.get("required", ()))

        values = schema.get("additionalProperties")
        # Forms have no values of any name.
        value = ANY if values is None or form_of(values) else self.type_of(values, name)
        return f"dict[str, {value}]"

    def _evaluable(self, type_: str) -> str:
        """Return a type that can be evaluated before records are declared."""
        names = WORD.findall(type_)
        return type_ if self._records.isdisjoint(names) else quoted(type_)

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


def quoted(text: str) -> str:
    """Return a text as a literal of Python."""
    return json.dumps(text, ensure_ascii=False)


def title(name: str) -> str:
    """Return a name as the end of the name of a type."""
    words = "".join([each if each.isalnum() else " " for each in name]).split()
    return "".join([f"{word[0].upper()}{word[1:]}" for word in words])


def _description(schema: t.Any) -> str | None:
    return schema.get("description") if isinstance(schema, Mapping) else None


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
