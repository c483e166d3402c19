"""Schemas of Structs of msgspec."""

from __future__ import annotations

import enum
import re
import typing as t
from collections.abc import Mapping

import msgspec

from .. import problems
from ..problems import Problem
from ..query.bounds import shortened
from .json_schema import inlined
from .schema import Checked
from .schema import PLAIN

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

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Checked:
        """Return an object with its values converted, or with its problems. A default
        of null is not filled in, so that a column has its own.

        :param is_partial: ``True`` to look at what is there only.
        """
        try:
            return self._each(data) if is_partial else self._whole(data)
        except RecursionError:
            return Checked({}, {"": problems.NESTED_TOO_DEEP})

    def _whole(self, data: Mapping[str, t.Any]) -> Checked:
        try:
            value = msgspec.convert(data, self._class, strict=False)
        except msgspec.ValidationError as error:
            missing = {
                name: problems.REQUIRED
                for name, field in self._fields.items()
                if field.required and name not in data
            }
            found = {**self._each(data).problems, **missing}
            return Checked({}, found or _found("", error))

        fields = (
            (wire, name, getattr(value, name)) for wire, name in self.names.items()
        )
        values = {
            name: _plain(each)
            for wire, name, each in fields
            if wire in data or each is not None
        }
        return Checked(values, {})

    def _each(self, data: Mapping[str, t.Any]) -> Checked:
        """Return the values of an object, each checked by itself."""
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

        return Checked(values, found)

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
    if type(value) in PLAIN or isinstance(value, enum.Enum):
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
