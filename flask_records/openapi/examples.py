"""Examples in documents. All of them are what a client can send, or gets."""

from __future__ import annotations

import typing as t

from ..errors import (
    BadRequest,
    Conflict,
    Forbidden,
    GeneralError,
    MethodNotAllowed,
    NotAuthenticated,
    NotFound,
    TooManyRequests,
    Unavailable,
)

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..service.schemas import Schema
    from ..typing import Record

ERRORS: t.Final[Mapping[str, Record]] = {
    type(error).__name__: error.to_dict()
    for error in (
        BadRequest("Invalid query parameter $foo", {"$foo": "red"}),
        NotAuthenticated("Not authenticated"),
        Forbidden("This needs a login of a user."),
        NotFound("No record found for id '0'"),
        MethodNotAllowed("Method `nope` is not supported by this endpoint."),
        Conflict(
            "Other records still refer to this one.",
            errors={"id": "is still referred to"},
        ),
        TooManyRequests("Too many requests: 20 per 1 minute at most."),
        GeneralError("Internal server error"),
        Unavailable("The database does not answer. Try again."),
    )
}
"""The bodies of errors that are the same for all services, by name."""

COUNTS: t.Final = {"$limit": 10, "$skip": 0}
"""The examples of numbers."""


def body_example(schema: Schema) -> Record | None:
    """Return an example of a body, or ``None`` if the schema does not tell the value of
    a property that is required.

    The values are those of ``examples``, and for other properties that are required
    the default, or the first choice.
    """
    if "examples" in schema:
        return t.cast("Record", schema["examples"][0])

    properties: Mapping[str, Schema] = schema.get("properties", {})
    named = {k: each["examples"][0] for k, each in properties.items() if _has(each)}

    for name in schema.get("required", ()):
        if name not in named:
            choices = _choices(properties.get(name, {}))

            if not choices:
                return None

            named[name] = choices[0]

    # The order is that of the properties.
    return {name: named[name] for name in properties if name in named} or None


def query_example(name: str, schema: Schema) -> t.Any:
    """Return an example of a part of a query, or ``None``.

    :param name: Its name.
    """
    if name in COUNTS:
        return COUNTS[name]

    if name == "$sort" and schema.get("properties"):
        return {next(iter(schema["properties"])): -1}

    if name == "$select":
        return schema["items"]["enum"][:1]

    return None


def _has(schema: Schema) -> bool:
    return bool(schema.get("examples"))


def _choices(schema: Schema) -> list[t.Any]:
    """Return values of a property that are known."""
    if "const" in schema:
        return [schema["const"]]

    return [schema["default"]] if "default" in schema else list(schema.get("enum", ()))
