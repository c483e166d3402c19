"""Schemas of models of pydantic, dataclasses and typed dicts."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing as t
from collections.abc import Iterator
from collections.abc import Mapping
from functools import cached_property

from pydantic import AliasChoices
from pydantic import AliasPath
from pydantic import BaseModel
from pydantic import PydanticUserError
from pydantic import SecretBytes
from pydantic import SecretStr
from pydantic import TypeAdapter
from pydantic import ValidationError

from ..problems import NESTED_TOO_DEEP
from ..problems import Problem
from ..problems import TOO_MANY_PROBLEMS
from ..query.casts import as_bytes
from .json_schema import inlined
from .pydantic_parts import adapter_of_part
from .pydantic_problems import MAX_LISTED
from .pydantic_problems import problems_of
from .pydantic_problems import pruned
from .schema import Checked
from .schema import PLAIN

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo

    from ..typing import Record

UNIONS: t.Final = (t.Union, types.UnionType)

OTHERS: t.Final[Mapping[t.Any, t.Literal["ignore", "allow"]]] = {
    "ignore": "ignore",
    "allow": "allow",
}
"""The fate of names that a class does not have, by its configuration. They are refused
by default, as by services.
"""


def make(class_: t.Any) -> PydanticSchema:
    """Return the schema of a class."""
    return PydanticSchema(class_)


class PydanticSchema:
    """Checks objects by a class, with pydantic.

    Values are those of Python. Objects and lists in them are in their form in JSON, as
    a column has them, and so are values of other types.

    :param class_: A model, a dataclass, or a ``TypedDict``.
    """

    def __init__(self, class_: t.Any) -> None:
        self._class = class_
        config = getattr(class_, "model_config", None)
        config = config or getattr(class_, "__pydantic_config__", None) or {}
        self.names = dict(_names(class_, config))
        """The fields by their names on the wire."""
        self.others: t.Literal["refuse", "ignore", "allow"] = OTHERS.get(
            config.get("extra"), "refuse"
        )
        """The fate of names that the class does not have."""
        hints = _hints(class_)
        fields = set(self.names.values())
        self._bytes = {
            name for name, field in self.names.items() if _is_bytes(hints[field])
        }
        self._odd = {name for name in fields if not _is_plain(hints[name])}
        self._nullable = {name for name in fields if _default(class_, name) is None}

        self._is_model = isinstance(class_, type) and issubclass(class_, BaseModel)

        # A model may name classes that come later. Others tell at once what is wrong.
        if not self._is_model:
            self._whole  # noqa: B018

    @cached_property
    def _whole(self) -> TypeAdapter[t.Any]:
        return TypeAdapter(self._class)

    @cached_property
    def _part(self) -> TypeAdapter[t.Any]:
        return adapter_of_part(self._class)

    @cached_property
    def _dumps(self) -> dict[str, Callable[..., t.Any]]:
        """Functions that return values in JSON, by the names of their fields."""
        hints = _hints(self._class)
        return {name: _dump_of(hints[name]) for name in self._odd}

    @cached_property
    def _validate_whole(self) -> Callable[[t.Any], t.Any]:
        return self._whole.validator.validate_python

    @cached_property
    def _validate_part(self) -> Callable[[t.Any], t.Any]:
        return self._part.validator.validate_python

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Checked:
        """Return an object with its values converted, or with its problems. A default
        of null is not filled in, so that a column has its own.

        :param is_partial: ``True`` to look at what is there only.
        """
        validate = self._validate_part if is_partial else self._validate_whole
        problems: dict[str, Problem] = {}

        if self._bytes and not self._bytes.isdisjoint(data):
            data = self._with_bytes(data, problems)

        try:
            value = validate(data)
        except ValidationError as error:
            return Checked({}, _found(error, validate, data) | problems)

        values = self._values(value, data, is_partial=is_partial)

        if self._odd:
            self._make_plain(values, problems)

        return Checked(values, problems)

    def _values(
        self, value: t.Any, data: Mapping[str, t.Any], *, is_partial: bool
    ) -> Record:
        values: Record = value.__dict__ if self._is_model else _fields_of(value)

        if len(values) != len(data) or is_partial:
            sent = getattr(value, "model_fields_set", None)

            if sent is None:
                sent = {self.names.get(name, name) for name in data}

            skipped = values.keys() if is_partial else self._nullable
            values = {
                name: each
                for name, each in values.items()
                if name in sent or name not in skipped
            }

        return values

    def _make_plain(self, values: Record, problems: dict[str, Problem]) -> None:
        """Replace the values that columns do not take."""
        for name, dump in self._dumps.items():
            value: t.Any = values.get(name)

            if type(value) in PLAIN:
                continue

            if isinstance(value, (SecretBytes, SecretStr)):
                values[name] = value.get_secret_value()
                continue

            try:
                values[name] = dump(value, mode="json", by_alias=True, warnings=False)
            except ValueError:
                problems[name] = NESTED_TOO_DEEP

    def _with_bytes(
        self, data: Mapping[str, t.Any], problems: dict[str, Problem]
    ) -> Mapping[str, t.Any]:
        """Return an object with bytes in place of base64."""
        changed = dict(data)

        for name in self._bytes & data.keys():
            if data[name] is not None:
                try:
                    changed[name] = as_bytes(data[name])
                except ValueError as error:
                    problems[name] = Problem.of(error)
                    changed[name] = b""

        return changed

    def shown(self, value: t.Any) -> t.Any:
        """Return a result in its form for clients, without what the class does not
        have.

        :raises ValueError: It does not fit.
        """
        try:
            valid = self._whole.validate_python(value, from_attributes=True)
        except ValidationError as error:
            found = problems_of(error)
            text = ", ".join(f"'{name}' {problem}" for name, problem in found.items())
            raise ValueError(text) from None

        return self._whole.dump_python(valid, by_alias=True)

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of objects that are checked in whole or in part, or of
        results.
        """
        adapter = self._part if mode == "partial" else self._whole
        direction: t.Any = "serialization" if mode == "shown" else "validation"
        made = inlined(adapter.json_schema(mode=direction, by_alias=True))

        for name, schema in made.get("properties", {}).items():
            if mode == "partial":
                schema.pop("default", None)

            if name in self._bytes and schema.get("format") == "binary":
                del schema["format"]
                schema["contentEncoding"] = "base64"

        return made


def _dump_of(hint: t.Any) -> Callable[..., t.Any]:
    """Return a function that returns values of a type in JSON."""
    if t.get_origin(hint) in (t.Required, t.NotRequired):
        return _dump_of(t.get_args(hint)[0])

    try:
        return TypeAdapter(hint).serializer.to_python
    # The class may allow types that pydantic does not know, and name later ones.
    except (PydanticUserError, NameError):
        return TypeAdapter(t.Any).serializer.to_python


def _found(
    error: ValidationError,
    validate: Callable[[t.Any], t.Any],
    data: Mapping[str, t.Any],
) -> dict[str, Problem]:
    """Return the problems of an object."""
    if error.error_count() <= MAX_LISTED:
        return problems_of(error)

    # To read half a million errors takes a second. Not so many are told.
    try:
        validate({name: pruned(value) for name, value in data.items()})
    except ValidationError as first:
        if first.error_count() <= MAX_LISTED:
            return problems_of(first)

    return {"": TOO_MANY_PROBLEMS}


def _fields_of(value: t.Any) -> Record:
    """Return the fields of an instance of a class that is no model."""
    if isinstance(value, dict):
        return value

    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


def _names(class_: t.Any, config: Mapping[str, t.Any]) -> Iterator[tuple[str, str]]:
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


def _hints(class_: t.Any) -> Mapping[str, t.Any]:
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


def _default(class_: t.Any, name: str) -> t.Any:
    """Return the default of a field, or something else than ``None`` without one."""
    fields = getattr(class_, "__pydantic_fields__", None)
    fields = fields or getattr(class_, "__dataclass_fields__", {})
    return getattr(fields.get(name), "default", class_)


def _is_plain(hint: t.Any) -> bool:
    """Return ``True`` for a type whose values are taken as they are."""
    origin = t.get_origin(hint)

    if origin is t.Annotated:
        return _is_plain(t.get_args(hint)[0])

    if origin is t.Literal:
        return True

    if origin in UNIONS:
        return all(map(_is_plain, t.get_args(hint)))

    return isinstance(hint, type) and (hint in PLAIN or issubclass(hint, enum.Enum))


def _is_bytes(hint: t.Any) -> bool:
    """Return ``True`` for bytes, unless the type itself says how they are encoded."""
    if t.get_origin(hint) in UNIONS:
        return any(map(_is_bytes, t.get_args(hint)))

    if t.get_origin(hint) is t.Annotated:
        base, *rest = t.get_args(hint)
        return base is bytes and not any(hasattr(each, "encoder") for each in rest)

    return hint is bytes
