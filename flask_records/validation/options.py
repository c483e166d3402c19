"""The option ``schemas`` of a service."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Collection
from collections.abc import Mapping
from importlib import import_module

from ..signals import METHODS
from .schema import DataSchema
from .schema import is_class
from .schema import takes_objects

if t.TYPE_CHECKING:
    from collections.abc import Callable

BODIES: t.Final = ("create", "update", "patch")
"""Those of the six methods that have data."""

PARTS: t.Final = ("data", "query", "result")
"""The parts of a call that have a schema."""

KINDS: t.Final[Mapping[str, Callable[[t.Any], bool]]] = {
    "pydantic_schemas": is_class,
    "pydantic_types": lambda hint: hint is not None and not isinstance(hint, str),
}
"""The classes and types that a schema is made of, by the module that does it. It is
imported when there is such a class.
"""

NO_KIND: t.Final = """\
{place} of '{path}' can't be a schema: {value!r}. Give a model of pydantic, a \
dataclass, a TypedDict, a union of these, or an object with the members \
of DataSchema. Results, and the data of custom methods, may be of any type.\
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
                part: _schema_of(
                    f"schemas[{method!r}][{part!r}]",
                    path,
                    class_,
                    takes_any=part == "result"
                    or (part == "data" and method not in METHODS),
                )
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


def _schema_of(place: str, path: str, value: t.Any, *, takes_any: bool) -> DataSchema:
    """Return the schema that a class or a type makes.

    :param takes_any: ``True`` for values that need be no objects.
    :raises TypeError: It makes none.
    :raises RuntimeError: Pydantic is not installed.
    """
    if isinstance(value, DataSchema) and not isinstance(value, type):
        return value

    for module, takes in KINDS.items():
        if takes(value):
            try:
                made = _made(module, value)
            except ModuleNotFoundError as error:
                message = NO_PACKAGE.format(place=place, path=path, value=value)
                raise RuntimeError(message) from error

            if made is not None and (takes_any or takes_objects(made)):
                return made

    raise TypeError(NO_KIND.format(place=place, path=path, value=value))


def _made(module: str, value: t.Any) -> DataSchema | None:
    """Return the schema that a module makes, or ``None`` if it knows no such type."""
    try:
        made = import_module(f".{module}", __package__).make(value)
    # An error of pydantic says what is wrong with a class.
    except TypeError:
        if module == "pydantic_types":
            return None

        raise

    return t.cast("DataSchema", made)
