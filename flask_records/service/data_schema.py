"""Schemas of models of pydantic."""

from __future__ import annotations

import enum
import re
import typing as t
from collections.abc import Mapping
from functools import cached_property
from itertools import islice

from pydantic import BaseModel, create_model, SecretBytes, SecretStr, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ..problems import (
    NESTED_TOO_DEEP,
    NOT_VALID,
    Problem,
    REQUIRED,
    TOO_MANY_PROBLEMS,
    UNKNOWN_FIELD,
)
from ..query.bounds import MAX_ERRORS, shorten
from ..typing import PLAIN_TYPES

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import Record

MAPPINGS: t.Final = ("properties", "patternProperties", "dependentSchemas")
"""The keywords of JSON Schema with schemas by name."""

VALUES: t.Final = ("default", "const", "enum", "examples")
"""The keywords with values."""

LEFT_OUT: t.Final = frozenset({"$defs", "$ref", "title", "discriminator"})
"""The keywords that refer to other places, or repeat a name."""

OWN_PROBLEMS: t.Final[Mapping[str, Problem]] = {
    "missing": REQUIRED,
    "extra_forbidden": UNKNOWN_FIELD,
    "unexpected_keyword_argument": UNKNOWN_FIELD,
}
"""The problems that columns have, too, by pydantic's types of errors."""

MAX_LISTED: t.Final = 1000
"""The number of errors up to which they are named: half a million take a second."""

SUBJECT: t.Final = re.compile(r"^(\w+|\w+ input) (?=should )")
"""The word for the value in a message of pydantic."""

NO_NAME: t.Final = """\
The field '{name}' of {model} has several names, a path, or the name of another field. \
Give it one 'alias'.\
"""

PLAIN_BYTES: t.Final = """\
The field '{name}' of {model} would take base64 for text. Declare it as Base64Bytes of \
pydantic.\
"""


class DataSchema:
    """Checks objects by a model of pydantic. Values of types that no column has are in
    their form in JSON.

    :raises TypeError: A field has no name of its own, or is of plain bytes.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self.names: Mapping[str, str] = dict(_names_of(model))
        """The fields by their names on the wire: their aliases, and their own."""
        self.fields = frozenset(self.names.values())
        """The names of the fields."""
        self._model = model
        # A service decides about other names, not pydantic.
        self._body = _variant(model, populate_by_name=True, extra="ignore")
        self.others = model.model_config.get("extra") or "forbid"
        """``"allow"``, ``"ignore"`` or ``"forbid"``, for other names."""
        fields = model.model_fields
        self._excluded = frozenset(n for n, each in fields.items() if each.exclude)
        self._needed = frozenset(
            name
            for name, field in fields.items()
            if field.default is not None or field.default_factory is not None
        )
        self.filled = frozenset(n for n in self._needed if not fields[n].is_required())
        """The fields with a default other than null, which is filled in."""

    @cached_property
    def _part(self) -> type[BaseModel]:
        """The model without required fields and without validators of the whole."""
        part = _variant(self._body)
        validators = part.__pydantic_decorators__.model_validators

        for name, validator in [*validators.items()]:
            if validator.info.mode != "before":
                del validators[name]

        for field in part.model_fields.values():
            field.default, field.default_factory = None, None
            field.validate_default = False

        part.model_rebuild(force=True)
        return part

    def check(
        self, data: Record, *, is_partial: bool = False
    ) -> tuple[Record, Record, dict[str, Problem]]:
        """Return the converted values of an object by the names of the fields, the
        values by other names as they are, and the problems. A default of null is left
        to the column.

        :param is_partial: ``True`` to look at what is there only. Validators of the
            whole model would judge by values that the record may not have: they run if
            all fields with another default than null are there.
        """
        is_whole = not is_partial or self._needed.issubset(map(self.names.get, data))
        model = self._body if is_whole else self._part
        others = {name: data[name] for name in data if name not in self.names}

        try:
            value: BaseModel = model.__pydantic_validator__.validate_python(data)
        except ValidationError as error:
            return {}, others, _problems_of(error, data)

        names, filled = value.model_fields_set, () if is_partial else self.fields
        values: Record = {
            name: each
            for name, each in vars(value).items()
            if name in names or (each is not None and name in filled)
            if name not in self._excluded
        }
        problems: dict[str, Problem] = {}

        for name, each in values.items():
            if type(each) not in PLAIN_TYPES:
                try:
                    values[name] = _plain(each)
                except ValueError:
                    problems[name] = NESTED_TOO_DEEP

        return values, others, problems

    def show(self, value: t.Any) -> t.Any:
        """Return a result in its form for clients.

        :raises ValueError: It does not fit.
        """
        try:
            valid = self._model.model_validate(value, from_attributes=True)
        except ValidationError as error:
            wrong = _problems_of(error, value)
            text = ", ".join([f"'{n or 'result'}' {each}" for n, each in wrong.items()])
            raise ValueError(text) from None

        return valid.model_dump(by_alias=True)

    def json_schema(
        self, part: t.Literal["body", "patch", "query", "record", "result"]
    ) -> Record:
        """Return the JSON Schema of a part of a call, without references. A result has
        all fields, an unchecked record those without a default. Generators take a
        ``default`` for a value that is always sent, so that it is left out.
        """
        model = self._part if part == "patch" else self._model
        original = model.model_json_schema(
            mode="serialization" if part in ("record", "result") else "validation",
            schema_generator=ResultSchema if part == "result" else WireSchema,
        )
        schema: Record = _inline(original, original.get("$defs", {}), ())
        return schema


class WireSchema(GenerateJsonSchema):
    """Makes the JSON Schemas of values on the wire."""

    def handle_invalid_for_json_schema(self, schema: t.Any, error_info: str) -> t.Any:
        """Return the schema of a type that JSON Schema has no word for: any value."""
        return {}

    def default_schema(self, schema: t.Any) -> t.Any:
        """Return the schema of a value without its default."""
        return self.generate_inner(schema["schema"])


class ResultSchema(WireSchema):
    """Makes the JSON Schemas of results that a model has checked."""

    def field_is_required(self, field: t.Any, total: bool) -> bool:
        """Return ``True`` for a field that is always there."""
        may_lack = field["type"] == "typed-dict-field" or field.get(
            "serialization_exclude_if"
        )
        return not may_lack or super().field_is_required(field, total)


def _names_of(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield the names on the wire of the fields of a model, each with the field's."""
    for name, field in model.model_fields.items():
        alias = field.validation_alias or field.alias or name

        if not isinstance(alias, str) or alias in model.model_fields.keys() - {name}:
            raise TypeError(NO_NAME.format(name=name, model=model.__name__))

        types = (field.annotation, *t.get_args(field.annotation))

        # Plain bytes do not say how they are encoded.
        if bytes in types and not any(hasattr(m, "encoder") for m in field.metadata):
            raise TypeError(PLAIN_BYTES.format(name=name, model=model.__name__))

        yield alias, name
        yield name, name


def _variant(model: type[BaseModel], **config: t.Any) -> type[BaseModel]:
    """Return a model that inherits from another one, with a configuration."""
    return create_model(model.__name__, __base__=model, __cls_kwargs__=config)


def _plain(value: t.Any) -> t.Any:
    """Return a value in its form in JSON, if it has one that a column takes.

    :raises ValueError: It nests too deep.
    """
    if isinstance(value, (SecretBytes, SecretStr)):
        return value.get_secret_value()

    if isinstance(value, enum.Enum):
        return value

    try:
        return to_jsonable_python(value, by_alias=True, bytes_mode="base64")
    except PydanticSerializationError:
        return value


def _problems_of(error: ValidationError, data: t.Any) -> dict[str, Problem]:
    """Return the problems of an error by their paths, which are empty for the whole."""
    if error.error_count() > MAX_LISTED:
        return {"": TOO_MANY_PROBLEMS}

    errors = error.errors(include_url=False, include_input=False)
    problems: dict[str, Problem] = {}

    for each in islice(errors, MAX_ERRORS):
        details = t.cast("dict[str, t.Any]", each)
        problem = _problem(details)
        place = _place(details, data)

        if "field" in problem.data:
            place.append(str(problem.data["field"]))

        problems.setdefault(shorten(".".join(place)), problem)

    return problems


def _place(error: Mapping[str, t.Any], data: t.Any) -> list[str]:
    """Return the path of an error, without names of types that pydantic has tried."""
    path, place = error["loc"], []

    for index, part in enumerate(path, 1):
        try:
            data = data[part]
        except (LookupError, TypeError):
            # A field that is missing is not there, and the last part.
            if error["type"] != "missing" or index < len(path):
                continue

        place.append(str(part))

    return place


def _problem(error: Mapping[str, t.Any]) -> Problem:
    """Return the problem of an error of pydantic, whose type is its code."""
    kind, context = error["type"], error.get("ctx", {})

    if kind in OWN_PROBLEMS:
        return OWN_PROBLEMS[kind]

    # A validator of the application has raised it.
    if isinstance(context.get("error"), Exception):
        return Problem.of(context["error"]) or NOT_VALID

    message, count = SUBJECT.subn("", error["msg"])
    text = message if count else f"is not valid: {message}"
    problem = Problem(shorten(text), kind)
    # Some texts in it come from the client.
    problem.data = {
        name: value if isinstance(value, (int, float)) else shorten(str(value))
        for name, value in context.items()
    }
    return problem


def _inline(
    schema: t.Any, definitions: Mapping[str, t.Any], outer: tuple[str, ...]
) -> t.Any:
    """Return a JSON Schema with what it refers to in these places: any object inside of
    one of its own kind, whose definitions are ``outer``.
    """
    if isinstance(schema, list):
        return [_inline(each, definitions, outer) for each in schema]

    # True and False are schemas, and keywords have numbers and texts.
    if not isinstance(schema, Mapping):
        return schema

    whole: dict[str, t.Any] = {}
    name = str(schema.get("$ref", "")).rpartition("/")[2]

    if name in outer:
        whole = {"type": "object"}
    elif name in definitions:
        whole = _inline(definitions[name], definitions, (*outer, name))

    for keyword, value in schema.items():
        if keyword in MAPPINGS:
            whole[keyword] = {
                name: _inline(each, definitions, outer) for name, each in value.items()
            }
        elif keyword in VALUES:
            whole[keyword] = value
        elif keyword not in LEFT_OUT:
            whole[keyword] = _inline(value, definitions, outer)

    return whole
