"""The schemas of the objects that clients send and get, by the option ``schemas``."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import typing as t
import uuid
from collections.abc import Collection, Mapping
from decimal import Decimal

from ..names import BODIES, METHODS

if t.TYPE_CHECKING:
    from ..problems import Problem
    from ..typing import Record

PARTS: t.Final = ("data", "query", "result")
"""The parts of a call that have a schema."""

NO_SCHEMA: t.Final = """\
{place} of '{path}' can't be a schema: {value!r}. Give a model of pydantic, a \
dataclass or a TypedDict. For a list or a single value, give a class with a field for \
it; for a union, an object with the members of DataSchema.\
"""

NO_PACKAGE: t.Final = """\
{place} of '{path}' is {value!r}, which needs 'flask-record-services[pydantic]'.\
"""

PLAIN: t.Final = frozenset(
    {
        *(type(None), str, int, float, bool, bytes, Decimal, uuid.UUID),
        *(dt.datetime, dt.date, dt.time, dt.timedelta),
    }
)
"""The types of values that are taken as they are."""


def is_plain_value(value: t.Any) -> bool:
    """Return ``True`` for a value that is taken as it is, as members of enums are."""
    return type(value) in PLAIN or isinstance(value, enum.Enum)


def is_class(value: t.Any) -> bool:
    """Return ``True`` for a model of pydantic, a dataclass, or a ``TypedDict``."""
    if getattr(value, "__pydantic_root_model__", False):
        return False

    return isinstance(value, type) and (
        hasattr(value, "__pydantic_core_schema__")
        or dataclasses.is_dataclass(value)
        # A class of typing_extensions is not a TypedDict for typing.
        or hasattr(value, "__required_keys__")
    )


class InvalidData(ValueError):
    """An object does not fit a schema.

    :param problems: All problems by their paths, such as ``address.zip``.
    """

    def __init__(self, problems: Mapping[str, Problem]) -> None:
        super().__init__(problems)
        self.problems = problems
        """All problems by their paths."""


@t.runtime_checkable
class DataSchema(t.Protocol):
    """A schema, made of a class of a library, or an object of the application."""

    names: Mapping[str, str]
    """The fields by their names on the wire."""

    others: t.Literal["refuse", "ignore", "allow"]
    """The fate of names that the schema does not have."""

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Record:
        """Return the converted values of an object, by the names of the fields.

        :param data: The object. It has names of the schema only.
        :param is_partial: ``True`` to look at what is there: nothing is required, and
            no default is filled in.
        :raises InvalidData: It does not fit.
        """

    def shown(self, value: t.Any) -> t.Any:
        """Return a result in its form for clients.

        :raises ValueError: It does not fit.
        """

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of objects that are checked in whole or in part, or
        of results, without references.
        """


@dataclasses.dataclass(frozen=True)
class MethodSchemas:
    """The schemas of one method."""

    data: DataSchema | None = None
    """The schema of a body."""

    query: DataSchema | None = None
    """The schema of the query."""

    result: DataSchema | None = None
    """The schema of a record in the result, or of that of a custom method."""


def schemas_of(
    path: str, given: t.Any, methods: Collection[str], *, is_model: bool
) -> dict[str, MethodSchemas]:
    """Return the schemas of a service by method.

    :param path: The path of the service.
    :param given: The option: by method, the class of its data, or a mapping of
        ``data``, ``query`` and ``result`` to classes.
    :param methods: The methods of the service.
    :param is_model: ``True`` if the six methods are those of a model, whose queries and
        records have rules of their own.
    :raises TypeError: The option has another form, or a class makes no schema.
    :raises ValueError: It names something that does not exist.
    :raises RuntimeError: Pydantic is not installed.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            f"'schemas' of '{path}' maps methods to classes:"
            f" schemas={{'create': UserCreate}}, not {given!r}."
        )

    schemas = {}

    for method, parts in given.items():
        if method not in methods:
            raise ValueError(
                f"'schemas' of '{path}' names '{method}', which is not a method of the"
                f" service. It has: {', '.join(methods)}."
            )

        parts = parts if isinstance(parts, Mapping) else {"data": parts}
        _check_parts(path, method, parts, is_model=is_model)
        schemas[method] = MethodSchemas(
            **{
                part: _schema_of(f"schemas[{method!r}][{part!r}]", path, class_)
                for part, class_ in parts.items()
            }
        )

    return schemas


def _check_parts(
    path: str, method: str, parts: Mapping[str, t.Any], *, is_model: bool
) -> None:
    is_own = is_model and method in METHODS
    allowed: tuple[str, ...] = ("data",) if is_own else PARTS

    if method in METHODS and method not in BODIES:
        allowed = tuple(part for part in allowed if part != "data")

    for part in parts:
        if part not in allowed:
            named = ", ".join(allowed) or "none: its columns tell its rules"
            raise ValueError(
                f"'schemas' of '{path}' has '{part}' for '{method}', which takes"
                f" {named}."
            )


def _schema_of(place: str, path: str, value: t.Any) -> DataSchema:
    """Return the schema that a class makes.

    :raises TypeError: It makes none.
    :raises RuntimeError: Pydantic is not installed.
    """
    if isinstance(value, DataSchema) and not isinstance(value, type):
        return value

    if not is_class(value):
        raise TypeError(NO_SCHEMA.format(place=place, path=path, value=value))

    # Pydantic is an extra.
    try:
        from .pydantic_schema import PydanticSchema
    except ModuleNotFoundError as error:
        message = NO_PACKAGE.format(place=place, path=path, value=value)
        raise RuntimeError(message) from error

    return PydanticSchema(value)
