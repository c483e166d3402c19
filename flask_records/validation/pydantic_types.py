"""Schemas of types that are no class: unions, lists and plain values."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from functools import cached_property

from pydantic import PydanticUserError
from pydantic import RootModel
from pydantic import TypeAdapter
from pydantic import ValidationError

from ..problems import Problem
from ..problems import UNKNOWN_FIELD
from ..query.bounds import shortened
from .pydantic_fields import bare
from .pydantic_fields import UNIONS
from .pydantic_json_schema import schema_of
from .pydantic_problems import found_in
from .pydantic_schemas import PydanticSchema
from .pydantic_schemas import shown_by
from .schema import InvalidData
from .schema import is_class

if t.TYPE_CHECKING:
    from ..typing import Record


def make(hint: t.Any) -> UnionSchema | ValueSchema:
    """Return the schema of a type.

    :raises TypeError: It is no type that pydantic knows.
    """
    members = members_of(hint)

    try:
        return UnionSchema(hint, members) if members else ValueSchema(hint)
    except PydanticUserError as error:
        raise TypeError(str(error)) from error


def members_of(hint: t.Any) -> list[PydanticSchema]:
    """Return the schemas of the classes that a type is a union of, or none if it takes
    other values than objects of classes.
    """
    hint = bare(hint)
    origin = t.get_origin(hint)

    if origin is t.Annotated:
        return members_of(t.get_args(hint)[0])

    if origin in UNIONS:
        members = [members_of(each) for each in t.get_args(hint)]
        return [each for some in members for each in some] if all(members) else []

    if isinstance(hint, type) and issubclass(hint, RootModel):
        return members_of(hint.model_fields["root"].annotation)

    return [PydanticSchema(hint)] if is_class(hint) else []


class ValueSchema:
    """Checks values of any type with pydantic. Their objects are dicts of values of
    Python, by the names of the fields.

    :param hint: The type.
    """

    is_object = False
    names: t.Final[Mapping[str, str]] = {}
    others: t.Literal["refuse", "ignore", "allow"] = "allow"

    def __init__(self, hint: t.Any) -> None:
        self._adapter = TypeAdapter[t.Any](hint)

    def check(self, data: t.Any, *, is_partial: bool = False) -> t.Any:
        """Return a converted value.

        :raises InvalidData: It does not fit.
        """
        validate = self._adapter.validator.validate_python

        try:
            value = validate(data)
        except ValidationError as error:
            raise InvalidData(found_in(error, validate, data)) from None

        return self._adapter.dump_python(value)

    def shown(self, value: t.Any) -> t.Any:
        """Return a result in its form for clients.

        :raises ValueError: It does not fit.
        """
        return shown_by(self._adapter, value)

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of the values that clients send, or get."""
        return schema_of(self._adapter, is_shown=mode == "shown")


class UnionSchema:
    """Checks objects by one of several classes, which pydantic finds.

    :param hint: The type.
    :param members: The schemas of the classes.
    """

    is_object = True

    def __init__(self, hint: t.Any, members: list[PydanticSchema]) -> None:
        self._hint = hint
        self._members = members
        self.names = {
            wire: name for each in members for wire, name in each.names.items()
        }
        """The fields of all classes by their names on the wire."""
        fates = {each.others for each in members}
        self.others = fates.pop() if len(fates) == 1 else "refuse"
        """The fate of names that no class has."""
        # It tells at once what is wrong.
        self._adapter  # noqa: B018

    @cached_property
    def _adapter(self) -> TypeAdapter[t.Any]:
        return TypeAdapter(self._hint)

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Record:
        """Return the converted values of an object, by the names of the fields.

        :param is_partial: ``True`` to look at what is there only.
        :raises InvalidData: It does not fit. The problems are those of the class that
            it is closest to.
        """
        if is_partial:
            values, problems = self._closest(data, is_partial=True)
        else:
            values, problems = self._whole(data)

        if problems:
            raise InvalidData(problems)

        return values

    def _whole(self, data: Mapping[str, t.Any]) -> tuple[Record, dict[str, Problem]]:
        validate = self._adapter.validator.validate_python
        problems: dict[str, Problem] = {}
        sent = data

        for member in self._members:
            sent = member.with_bytes(sent, problems)

        try:
            value = validate(sent)
        except ValidationError as error:
            closest = {} if _is_of_tag(error) else self._closest(data)[1]
            return {}, {**(closest or found_in(error, validate, data)), **problems}

        member = self._member_of(value)
        values = member.converted(_unwrapped(value), sent, problems)
        return values, {**problems, **_unknown(member, data)}

    def _closest(
        self, data: Mapping[str, t.Any], *, is_partial: bool = False
    ) -> tuple[Record, dict[str, Problem]]:
        """Return what the class says whose constants fit, with the fewest problems."""
        found: list[tuple[Record, dict[str, Problem]]] = []

        for member in self._members:
            own = {name: data[name] for name in data if name in member.names}
            unknown = _unknown(member, data)

            try:
                found.append((member.check(own, is_partial=is_partial), unknown))
            except InvalidData as error:
                found.append(({}, {**error.problems, **unknown}))

        return min(found, key=lambda each: _distance(each[1]))

    def _member_of(self, value: t.Any) -> PydanticSchema:
        value = _unwrapped(value)
        exact = [each for each in self._members if each.has_made(value)]
        return exact[0] if exact else self._members[0]

    def shown(self, value: t.Any) -> t.Any:
        """Return a result in its form for clients, without what its class does not
        have.

        :raises ValueError: It does not fit.
        """
        return shown_by(self._adapter, value)

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of objects that are checked in whole or in part, or of
        results.
        """
        schemas = [each.json_schema(mode) for each in self._members]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _unknown(member: PydanticSchema, data: Mapping[str, t.Any]) -> dict[str, Problem]:
    if member.others != "refuse":
        return {}

    return {shortened(name): UNKNOWN_FIELD for name in data if name not in member.names}


def _is_of_tag(error: ValidationError) -> bool:
    """Return ``True`` if an object does not tell its class, which is its only error."""
    # To read all errors of a great object takes seconds.
    is_only = error.error_count() == 1
    return is_only and error.errors()[0]["type"].startswith("union_tag")


def _distance(problems: Mapping[str, Problem]) -> tuple[int, int]:
    own = [each for name, each in problems.items() if "." not in name]
    return sum(each.code == "choice" for each in own), len(problems)


def _unwrapped(value: t.Any) -> t.Any:
    while isinstance(value, RootModel):
        value = value.root

    return value
