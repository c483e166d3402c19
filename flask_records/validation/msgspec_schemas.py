"""Schemas of Structs of msgspec."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

import msgspec

from .. import problems
from ..problems import Problem
from ..query.bounds import shortened
from .json_schema import inlined
from .schema import InvalidData
from .schema import is_plain_value

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Record

PLACE = re.compile(r"(.*?)(?: - at `\$?(.*)`)?", re.DOTALL)
"""A message of msgspec, and the path that it ends with."""

INDEX = re.compile(r"\[([0-9]+|\.\.\.)\]")

EXPECTED = re.compile(r"Expected `([a-z]+)(?: \| null)?`, got `.*`", re.DOTALL)

TYPES: t.Final[Mapping[str, Problem]] = {
    "str": problems.NO_TEXT,
    "int": problems.NO_INTEGER,
    "float": problems.NO_NUMBER,
    "decimal": problems.NO_NUMBER,
    "bool": problems.NO_BOOLEAN,
    "array": problems.NO_LIST,
    "object": problems.NO_OBJECT,
    "datetime": problems.NO_MOMENT,
    "date": problems.NO_DATE,
    "uuid": problems.NO_UUID,
    "bytes": problems.NO_BASE64,
}
"""The problems of values of other types, by the type that is needed."""

PHRASES: t.Final[tuple[tuple[re.Pattern[str], Callable[..., Problem]], ...]] = (
    (EXPECTED, lambda kind: TYPES.get(kind, problems.NOT_VALID)),
    (
        re.compile(r"Expected `str.*` of length <= ([0-9]+)"),
        lambda number: problems.too_long(int(number), "characters"),
    ),
    (
        re.compile(r"Expected `str.*` of length >= ([0-9]+)"),
        lambda number: problems.too_short(int(number), "characters"),
    ),
    (
        re.compile(r"Expected `.*` of length <= ([0-9]+)"),
        lambda number: problems.too_long(int(number), "items"),
    ),
    (
        re.compile(r"Expected `.*` of length >= ([0-9]+)"),
        lambda number: problems.too_short(int(number), "items"),
    ),
    (re.compile(r"Expected `.*` matching regex '(.*)'", re.DOTALL), problems.no_match),
    (
        re.compile(r"Expected `.*` ([<>]=? [-+.0-9e]+)"),
        lambda limit: Problem(f"should be {limit}", "out_of_range"),
    ),
    (
        re.compile(r"Invalid enum value .*", re.DOTALL),
        lambda: Problem("is none of the choices", "choice"),
    ),
)
"""The problems of messages."""

NAMED: t.Final[tuple[tuple[re.Pattern[str], Problem], ...]] = (
    (re.compile(r"Object missing required field `(.*)`"), problems.REQUIRED),
    (re.compile(r"Object contains unknown field `(.*)`"), problems.UNKNOWN_FIELD),
)
"""The problems of messages that name a field of the object at their place."""


def make(class_: t.Any) -> StructSchema:
    """Return the schema of a class."""
    return StructSchema(class_)


class StructSchema:
    """Checks objects by a Struct of msgspec. Of the problems inside of one field, the
    first is told.

    :param class_: The class.
    """

    others: t.Literal["refuse", "ignore", "allow"] = "refuse"
    """The fate of names that the class does not have."""

    def __init__(self, class_: t.Any) -> None:
        self._class = class_
        self._fields = {
            field.encode_name: field for field in msgspec.structs.fields(class_)
        }
        self.names = {wire: field.name for wire, field in self._fields.items()}
        """The fields by their names on the wire."""

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Record:
        """Return the converted values of an object, by the names of the fields. A
        default of null is not filled in, so that a column has its own.

        :param is_partial: ``True`` to look at what is there only.
        :raises InvalidData: It does not fit.
        """
        try:
            if not is_partial:
                return self._whole(data)

            values, found = self._each(data)
        except RecursionError:
            raise InvalidData({"": problems.NESTED_TOO_DEEP}) from None

        if found:
            raise InvalidData(found)

        return values

    def _whole(self, data: Mapping[str, t.Any]) -> Record:
        try:
            value = msgspec.convert(data, self._class, strict=False)
        except msgspec.ValidationError as error:
            missing = {
                name: problems.REQUIRED
                for name, field in self._fields.items()
                if field.required and name not in data
            }
            found = {**self._each(data)[1], **missing}
            raise InvalidData(found or _found("", error)) from None

        fields = (
            (wire, name, getattr(value, name)) for wire, name in self.names.items()
        )
        return {
            name: _plain(each)
            for wire, name, each in fields
            if wire in data or each is not None
        }

    def _each(self, data: Mapping[str, t.Any]) -> tuple[Record, dict[str, Problem]]:
        """Return the values of an object, each checked by itself, and its problems."""
        values: Record = {}
        found: dict[str, Problem] = {}

        for wire, value in data.items():
            field = self._fields[wire]

            try:
                converted = msgspec.convert(value, field.type, strict=False)
            except msgspec.ValidationError as error:
                found |= _found(wire, error)
            else:
                values[field.name] = _plain(converted)

        return values, found

    def shown(self, value: t.Any) -> t.Any:
        """Return a result in its form for clients, without what the class does not
        have.

        :raises ValueError: It does not fit.
        """
        try:
            valid = msgspec.convert(value, self._class, from_attributes=True)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None

        return msgspec.to_builtins(valid)

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of objects that are checked in whole or in part, or of
        results.
        """
        made = inlined(msgspec.json.schema(self._class))

        if mode == "partial":
            made.pop("required", None)

            for schema in made["properties"].values():
                schema.pop("default", None)

        return made


def _plain(value: t.Any) -> t.Any:
    """Return a value as a column takes it: one of Python, or in its form in JSON."""
    if is_plain_value(value):
        return value

    return msgspec.to_builtins(value, str_keys=True)


def _found(name: str, error: msgspec.ValidationError) -> dict[str, Problem]:
    """Return the problem of an error by its path.

    :param name: The name of the field, or an empty text for the object.
    """
    match = t.cast("re.Match[str]", PLACE.fullmatch(str(error)))
    text, path = match[1], INDEX.sub(r".\1", match[2] or "")
    place = f"{name}{path}"

    # The class itself has raised it.
    if error.__cause__ is not None:
        return {place: Problem.of(error.__cause__)}

    for pattern, problem in NAMED:
        if named := pattern.fullmatch(text):
            return {shortened(f"{place}.{named[1]}"): problem}

    for pattern, make_problem in PHRASES:
        if phrase := pattern.fullmatch(text):
            return {shortened(place): make_problem(*phrase.groups())}

    return {shortened(place): problems.NOT_VALID}
