"""The calls that the messages of clients make."""

from __future__ import annotations

import json
import typing as t

from ..context import HookContext
from ..errors import BadRequest
from ..errors import MethodNotAllowed
from ..errors import not_an_object
from ..errors import NotFound
from ..http.error_handler import body_of
from ..http.formatter import checked
from ..http.formatter import dumps
from ..http.routes import current_routes
from ..query.bounds import current_bounds
from ..query.bounds import shortened
from ..query.syntax import MAX_DEPTH
from ..query.values import TypedText

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..extension import FlaskRecords
    from ..service import Service
    from ..typing import Record
    from .connection import Connection

    Message: t.TypeAlias = tuple[t.Any, ...]
    Reader: t.TypeAlias = Callable[[Message], Message]

ARGUMENTS: t.Final = {
    "find": (),
    "get": ("id",),
    "create": ("data",),
    "update": ("id", "data"),
    "patch": ("id", "data"),
    "remove": ("id",),
}
"""The arguments between the path and the query. A custom method has data."""

MAX_LEVELS: t.Final = 3 * MAX_DEPTH
"""The number of levels of a query where texts are marked."""


def answer(
    records: FlaskRecords,
    connection: Connection,
    method: str,
    message: Message,
    read: Reader = tuple,
) -> Record | tuple[None, t.Any]:
    """Return the answer to a message: an error, or ``None`` and the result.

    :param read: Returns the message as JSON has it.
    """
    try:
        connection.count_call()
        context = _context(records, connection, method, read(message))
        context.service.check_access(context)

        if method not in context.service.methods:
            raise MethodNotAllowed(
                f"Method '{method}' not allowed on service '{context.path}'"
            )

        context.service.call(context)
        text = dumps(checked(context.sent, context))
    except Exception as error:
        failure = "%s %.100r failed."
        visible = records.errors.report(error, failure, method, message[:1])
        return body_of(visible)

    # Socket.IO would send bytes as binary data.
    return None, json.loads(text)


def _context(
    records: FlaskRecords, connection: Connection, method: str, message: Message
) -> HookContext:
    path, *arguments = message or (None,)
    service, route = _service(records, path)
    names = ARGUMENTS.get(method, ("data",))
    values = dict(zip((*names, "query"), arguments, strict=False))
    query = values.get("query")

    # Some clients send an empty query as an empty list.
    if query in (None, []):
        query = {}
    elif not isinstance(query, dict):
        raise BadRequest("The query is not an object.")

    current_bounds().check_query(query)

    if "id" in names and "id" not in values:
        raise BadRequest(f"id for '{method}' can not be undefined")

    if "data" in names and not isinstance(values.get("data"), (dict, list)):
        raise not_an_object(method)

    params = connection.params(_typed(query))
    params.route = route
    return HookContext(service, method, params, values.get("id"), values.get("data"))


def _typed(value: t.Any, depth: int = 0) -> t.Any:
    """Return a part of a query whose texts are known to be texts."""
    if isinstance(value, str):
        return TypedText(value)

    # The service refuses groups and documents that nest as deep.
    if depth > MAX_LEVELS:
        return value

    if isinstance(value, list):
        return [_typed(item, depth + 1) for item in value]

    if isinstance(value, dict):
        return {name: _typed(item, depth + 1) for name, item in value.items()}

    return value


def _service(records: FlaskRecords, path: t.Any) -> tuple[Service, dict[str, t.Any]]:
    if not isinstance(path, str):
        raise NotFound("Invalid service path")

    service_path, route = current_routes().service_at(path)

    if service_path is None or service_path not in records.services:
        raise NotFound(f"Service '{shortened(path.strip('/'))}' not found")

    return records.services[service_path], route
