"""The fields of classes that pydantic checks."""

from __future__ import annotations

import enum
import types
import typing as t
from collections.abc import Iterator
from collections.abc import Mapping

from pydantic import AliasChoices
from pydantic import AliasPath
from typing_extensions import ReadOnly

from .schema import PLAIN

if t.TYPE_CHECKING:
    from pydantic.fields import FieldInfo

UNIONS: t.Final = (t.Union, types.UnionType)

QUALIFIERS: t.Final = (t.Required, t.NotRequired, ReadOnly)
"""The words about a field of a ``TypedDict`` that stand around its type."""


def names_of(class_: t.Any, config: Mapping[str, t.Any]) -> Iterator[tuple[str, str]]:
    """Yield the names on the wire of the fields of a class, each with the field's."""
    fields: dict[str, FieldInfo] | None = getattr(class_, "__pydantic_fields__", None)

    if fields is None:
        for name in t.get_type_hints(class_):
            yield name, name

        return

    by_name = config.get("populate_by_name") or config.get("validate_by_name")

    for name, field in fields.items():
        alias = field.validation_alias or field.alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]

        for choice in choices:
            first = choice.path[0] if isinstance(choice, AliasPath) else choice
            yield str(first or name), name

        if by_name:
            yield name, name


def hints_of(class_: t.Any) -> Mapping[str, t.Any]:
    """Return the types of the fields of a class."""
    fields: dict[str, FieldInfo] | None = getattr(class_, "__pydantic_fields__", None)

    if fields is None:
        return t.get_type_hints(class_, include_extras=True)

    return {
        name: t.Annotated[(field.annotation, *field.metadata)]
        if field.metadata
        else field.annotation
        for name, field in fields.items()
    }


def bare(hint: t.Any) -> t.Any:
    """Return a type without the qualifiers around it, and in place of its alias."""
    while True:
        if t.get_origin(hint) in QUALIFIERS:
            hint = t.get_args(hint)[0]
        # The aliases of typing and typing_extensions are two classes.
        elif hasattr(hint, "__value__"):
            hint = hint.__value__
        else:
            return hint


def is_plain(hint: t.Any) -> bool:
    """Return ``True`` for a type whose values are taken as they are."""
    hint = bare(hint)
    origin = t.get_origin(hint)

    if origin is t.Annotated:
        return is_plain(t.get_args(hint)[0])

    if origin is t.Literal:
        return True

    if origin in UNIONS:
        return all(map(is_plain, t.get_args(hint)))

    return isinstance(hint, type) and (hint in PLAIN or issubclass(hint, enum.Enum))


def is_bytes(hint: t.Any) -> bool:
    """Return ``True`` for bytes, unless the type itself says how they are encoded."""
    hint = bare(hint)

    if t.get_origin(hint) in UNIONS:
        return any(map(is_bytes, t.get_args(hint)))

    if t.get_origin(hint) is t.Annotated:
        base, *rest = t.get_args(hint)
        return is_bytes(base) and not any(hasattr(each, "encoder") for each in rest)

    return hint is bytes
