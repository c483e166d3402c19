"""Schemas of models of pydantic, dataclasses and typed dicts."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping
from functools import cached_property

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    create_model,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    ValidationError,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypedDict

from ..problems import NESTED_TOO_DEEP, Problem
from ..query.casts import as_bytes
from .pydantic_problems import problems_of
from .schema import InvalidData, is_plain_value, PLAIN

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

    from ..typing import Record

OTHERS: t.Final[Mapping[t.Any, t.Literal["ignore", "allow"]]] = {
    "ignore": "ignore",
    "allow": "allow",
}
"""The fate of names that a class does not have, by its configuration. They are refused
by default, as by services.
"""

MAPPINGS: t.Final = ("properties", "patternProperties", "dependentSchemas")
"""The keywords of JSON Schema with schemas by name."""

VALUES: t.Final = ("default", "const", "enum", "examples")
"""The keywords with values."""

LEFT_OUT: t.Final = frozenset({"$defs", "$ref", "title", "discriminator"})
"""The keywords that refer to other places, or repeat a name."""

RECURSION: t.Final = {"type": "object"}
"""The schema of an object inside of one of its own kind."""


BASE64: t.Final = {"type": "string", "contentEncoding": "base64"}
"""The schema of bytes as services send and take them."""


class PydanticSchema:
    """Checks objects by a class, with pydantic.

    Values are those of Python. Objects and lists in them are in their form in JSON, as
    a column has them, and so are values of other types that have one.

    :param class_: A model, a dataclass, or a ``TypedDict``.
    """

    def __init__(self, class_: t.Any) -> None:
        self._class = class_
        self._is_model = issubclass(class_, BaseModel)
        config = getattr(class_, "model_config", None)
        config = config or getattr(class_, "__pydantic_config__", None) or {}
        self.names: Mapping[str, str] = dict(_names_of(class_, config))
        """The fields by their names on the wire."""
        self.others: t.Literal["refuse", "ignore", "allow"] = OTHERS.get(
            config.get("extra"), "refuse"
        )
        """The fate of names that the class does not have."""
        self._fields = frozenset(self.names.values())
        self._needed = self._fields.difference(_optional_of(class_))

        # A model may name classes that come later. Others tell at once what is wrong.
        if not self._is_model:
            self._whole  # noqa: B018

    @cached_property
    def _whole(self) -> TypeAdapter[t.Any]:
        return TypeAdapter(self._class)

    @cached_property
    def _part(self) -> TypeAdapter[t.Any]:
        return TypeAdapter(_part_of(self._class))

    @cached_property
    def _bytes(self) -> frozenset[str]:
        """The names on the wire of fields that are bytes, but do not say how they are
        encoded.
        """
        fields = {
            self.names.get(name)
            for name, schema in self.json_schema("whole").get("properties", {}).items()
            for each in (schema, *schema.get("anyOf", ()))
            if BASE64.items() <= each.items() and "format" not in each
        }
        return frozenset(name for name, field in self.names.items() if field in fields)

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Record:
        """Return the converted values of an object, by the names of the fields. A
        default of null is not filled in, so that a column has its own.

        :param is_partial: ``True`` to look at what is there only. Validators of the
            whole class run if all fields with another default than null are there:
            they would judge by values that the record may not have.
        :raises InvalidData: It does not fit.
        """
        is_whole = not is_partial or self._needed <= self._fields_in(data)
        adapter = self._whole if is_whole else self._part
        problems: dict[str, Problem] = {}

        if self._bytes and not self._bytes.isdisjoint(data):
            data = self._with_bytes(data, problems)

        try:
            value = adapter.validator.validate_python(data)
        except ValidationError as error:
            raise InvalidData(problems_of(error, data) | problems) from None

        values: Record = vars(value) if self._is_model else _fields_of(value)
        sent = value.model_fields_set if self._is_model else self._fields_in(data)

        # A default has been filled in, or a property is cached beside the fields.
        if len(values) != len(sent):
            filled = frozenset() if is_partial else self._fields
            values = {
                name: each
                for name, each in values.items()
                if name in sent or (each is not None and name in filled)
            }

        if not PLAIN.issuperset(map(type, values.values())):
            _make_plain(values, problems)

        if problems:
            raise InvalidData(problems)

        return values

    def _fields_in(self, data: Mapping[str, t.Any]) -> set[str]:
        return {self.names.get(name, name) for name in data}

    def _with_bytes(
        self, data: Mapping[str, t.Any], problems: dict[str, Problem]
    ) -> Mapping[str, t.Any]:
        """Return an object with bytes in place of base64 and of files.

        :param problems: It gets the problems of these.
        """
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
            text = ", ".join([f"'{n or 'result'}' {each}" for n, each in found.items()])
            raise ValueError(text) from None

        return self._whole.dump_python(valid, by_alias=True)

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of objects that are checked in whole or in part, or of
        results.
        """
        adapter = self._part if mode == "partial" else self._whole
        made = adapter.json_schema(
            mode="serialization" if mode == "shown" else "validation",
            schema_generator=WireSchema,
        )
        schema: Record = _inlined(made, made.get("$defs", {}), ())

        for name, each in schema.get("properties", {}).items():
            # A null that is left to the model may be no value of the field.
            is_null = "type" in each and each.get("default", name) is None

            if mode == "partial" or is_null:
                each.pop("default", None)

        return schema


class WireSchema(GenerateJsonSchema):
    """Makes the JSON Schemas of values on the wire."""

    def bytes_schema(self, schema: t.Any) -> t.Any:
        """Return the schema of bytes, which are base64."""
        return {**BASE64}

    def handle_invalid_for_json_schema(self, schema: t.Any, error_info: str) -> t.Any:
        """Return the schema of a type that JSON Schema has no word for: any value."""
        return {}


def _names_of(class_: t.Any, config: Mapping[str, t.Any]) -> Iterator[tuple[str, str]]:
    """Yield the names on the wire of the fields of a class, each with the field's."""
    fields: dict[str, FieldInfo] | None = getattr(class_, "__pydantic_fields__", None)

    if fields is None:
        for name in _hints_of(class_):
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


def _optional_of(class_: t.Any) -> Iterator[str]:
    """Yield the fields of a class that may be left out, and are null then."""
    yield from getattr(class_, "__optional_keys__", ())
    fields: dict[str, t.Any] = getattr(class_, "__pydantic_fields__", {})

    if not fields and dataclasses.is_dataclass(class_):
        fields = {each.name: each for each in dataclasses.fields(class_)}

    for name, field in fields.items():
        if field.default is None and not callable(field.default_factory):
            yield name


def _hints_of(class_: t.Any) -> dict[str, t.Any]:
    """Return the types of the fields of a ``TypedDict`` or a dataclass."""
    hints = t.get_type_hints(class_, include_extras=True)

    if not dataclasses.is_dataclass(class_):
        return hints

    return {each.name: hints[each.name] for each in dataclasses.fields(class_)}


def _part_of(class_: t.Any) -> t.Any:
    """Return a class with the fields of another one, of which none is required, and
    without its validators of the whole.
    """
    if not issubclass(class_, BaseModel):
        make: t.Any = TypedDict
        made = make(class_.__name__, _hints_of(class_), total=False)
        made.__pydantic_config__ = {"arbitrary_types_allowed": True}
        return made

    part = create_model(class_.__name__, __base__=class_)
    validators = part.__pydantic_decorators__.model_validators

    for name, validator in [*validators.items()]:
        if validator.info.mode != "before":
            del validators[name]

    for field in part.model_fields.values():
        field.default, field.default_factory = None, None
        field.validate_default = False

    part.model_rebuild(force=True)
    return part


def _fields_of(value: t.Any) -> Record:
    """Return the values of a dict or a dataclass by the names of its fields."""
    if isinstance(value, dict):
        return value

    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


def _make_plain(values: Record, problems: dict[str, Problem]) -> None:
    """Replace the values that columns do not take. Those that have neither a form in
    JSON nor a text, such as files, stay.

    :param problems: It gets the problems of values that nest too deep.
    """
    for name, value in values.items():
        if isinstance(value, (SecretBytes, SecretStr)):
            values[name] = value.get_secret_value()
        elif not is_plain_value(value):
            try:
                values[name] = to_jsonable_python(
                    value, by_alias=True, bytes_mode="base64", fallback=_text_of
                )
            except PydanticSerializationError:
                continue
            except ValueError:
                problems[name] = NESTED_TOO_DEEP


def _text_of(value: t.Any) -> str:
    """Return the text of a value of a type that JSON does not have.

    :raises PydanticSerializationError: Its class defines none.
    """
    class_: t.Any = type(value)

    if class_.__str__ is object.__str__:
        raise PydanticSerializationError("There is no text.")

    return str(value)


def _inlined(
    schema: t.Any, definitions: Mapping[str, t.Any], outer: tuple[str, ...]
) -> t.Any:
    """Return a JSON Schema with what it refers to in these places. An object inside of
    one of its own kind may be any.

    :param definitions: The schemas that it refers to, by name.
    :param outer: The names of those that it is in.
    """
    if isinstance(schema, list):
        return [_inlined(each, definitions, outer) for each in schema]

    # True and False are schemas, and keywords have numbers and texts.
    if not isinstance(schema, Mapping):
        return schema

    made: dict[str, t.Any] = {}
    name = str(schema.get("$ref", "")).rpartition("/")[2]

    if name in outer:
        made = {**RECURSION}
    elif name in definitions:
        made = _inlined(definitions[name], definitions, (*outer, name))

    for keyword, value in schema.items():
        if keyword in MAPPINGS:
            made[keyword] = {
                name: _inlined(each, definitions, outer) for name, each in value.items()
            }
        elif keyword in VALUES:
            made[keyword] = value
        elif keyword not in LEFT_OUT:
            made[keyword] = _inlined(value, definitions, outer)

    return made
