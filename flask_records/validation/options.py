"""The option ``schemas`` of a service."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Collection, Mapping

from ..signals import BODIES, METHODS
from .schema import DataSchema, is_class

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
