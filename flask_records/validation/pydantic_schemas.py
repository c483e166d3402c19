"""Schemas of models of pydantic, dataclasses and typed dicts."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping
from functools import cached_property

from pydantic import BaseModel
from pydantic import PydanticUserError
from pydantic import SecretBytes
from pydantic import SecretStr
from pydantic import TypeAdapter
from pydantic import ValidationError

from ..problems import NESTED_TOO_DEEP
from ..problems import Problem
from ..query.casts import as_bytes
from .pydantic_fields import bare
from .pydantic_fields import hints_of
from .pydantic_fields import is_bytes
from .pydantic_fields import is_plain
from .pydantic_fields import names_of
from .pydantic_json_schema import schema_of
from .pydantic_json_schema import with_base64
from .pydantic_parts import adapter_of_part
from .pydantic_problems import found_in
from .pydantic_problems import problems_of
from .schema import InvalidData
from .schema import is_plain_value

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Record

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
        self.names = dict(names_of(class_, config))
        """The fields by their names on the wire."""
        self.others: t.Literal["refuse", "ignore", "allow"] = OTHERS.get(
            config.get("extra"), "refuse"
        )
        """The fate of names that the class does not have."""
        hints = hints_of(class_)
        self._fields = frozenset(self.names.values())
        self._bytes = {
            name for name, field in self.names.items() if is_bytes(hints[field])
        }
        self._odd = {name for name in self._fields if not is_plain(hints[name])}
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
        hints = hints_of(self._class)
        return {name: _dump_of(hints[name]) for name in self._odd}

    @cached_property
    def _validate_whole(self) -> Callable[[t.Any], t.Any]:
        return self._whole.validator.validate_python

    @cached_property
    def _validate_part(self) -> Callable[[t.Any], t.Any]:
        return self._part.validator.validate_python

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Record:
        """Return the converted values of an object, by the names of the fields. A
        default of null is not filled in, so that a column has its own.

        :param is_partial: ``True`` to look at what is there only.
        :raises InvalidData: It does not fit.
        """
        validate = self._validate_part if is_partial else self._validate_whole
        problems: dict[str, Problem] = {}

        if self._bytes:
            data = self.with_bytes(data, problems)

        try:
            value = validate(data)
        except ValidationError as error:
            raise InvalidData(found_in(error, validate, data) | problems) from None

        values = self.converted(value, data, problems, is_partial=is_partial)

        if problems:
            raise InvalidData(problems)

        return values

    def converted(
        self,
        value: t.Any,
        data: Mapping[str, t.Any],
        problems: dict[str, Problem],
        *,
        is_partial: bool = False,
    ) -> Record:
        """Return the values of an instance of the class, by the names of the fields.

        :param data: The object that it was made of.
        :param problems: It takes the problems of values that have no form in JSON.
        :param is_partial: ``True`` to return what was sent only.
        """
        values: Record = value.__dict__ if self._is_model else _fields_of(value)
        sent = getattr(value, "model_fields_set", None)

        if sent is None:
            sent = {self.names.get(name, name) for name in data}

        # A default has been filled in, or a property is cached beside the fields.
        if is_partial or values.keys() != sent:
            others = () if is_partial else self._fields
            values = {
                name: each
                for name, each in values.items()
                if name in sent or (each is not None and name in others)
            }

        if self._odd:
            self._make_plain(values, problems)

        return values

    def _make_plain(self, values: Record, problems: dict[str, Problem]) -> None:
        """Replace the values that columns do not take."""
        for name, dump in self._dumps.items():
            value: t.Any = values.get(name)

            if is_plain_value(value):
                continue

            if isinstance(value, (SecretBytes, SecretStr)):
                values[name] = value.get_secret_value()
                continue

            try:
                values[name] = dump(value, mode="json", by_alias=True, warnings=False)
            except ValueError:
                problems[name] = NESTED_TOO_DEEP

    def has_made(self, value: t.Any) -> bool:
        """Return ``True`` for a value that the class has made."""
        if isinstance(value, dict):
            return value.keys() <= set(self.names.values())

        return type(value) is self._class

    def with_bytes(
        self, data: Mapping[str, t.Any], problems: dict[str, Problem]
    ) -> Mapping[str, t.Any]:
        """Return an object with bytes in place of base64.

        :param problems: It gets the problems of these.
        """
        if self._bytes.isdisjoint(data):
            return data

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
        return shown_by(self._whole, value)

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of objects that are checked in whole or in part, or of
        results.
        """
        adapter = self._part if mode == "partial" else self._whole
        made = schema_of(adapter, is_shown=mode == "shown")
        properties = made.get("properties", {})

        for name, schema in properties.items():
            # A null that is left to the model may be no value of the field.
            is_null = "type" in schema and schema.get("default", name) is None

            if mode == "partial" or is_null:
                schema.pop("default", None)

            if name in self._bytes:
                properties[name] = with_base64(schema)

        return made


def _dump_of(hint: t.Any) -> Callable[..., t.Any]:
    """Return a function that returns values of a type in JSON."""
    try:
        return TypeAdapter(bare(hint)).serializer.to_python
    # The class may allow types that pydantic does not know, and name later ones.
    except (PydanticUserError, NameError):
        return TypeAdapter(t.Any).serializer.to_python


def shown_by(adapter: TypeAdapter[t.Any], value: t.Any) -> t.Any:
    """Return a result in its form for clients.

    :raises ValueError: It does not fit.
    """
    try:
        valid = adapter.validate_python(value, from_attributes=True)
    except ValidationError as error:
        found = problems_of(error)
        text = ", ".join([f"'{n or 'result'}' {each}" for n, each in found.items()])
        raise ValueError(text) from None

    return adapter.dump_python(valid, by_alias=True)


def _fields_of(value: t.Any) -> Record:
    """Return the fields of an instance of a class that is no model."""
    if isinstance(value, dict):
        return value

    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
