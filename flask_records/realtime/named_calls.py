"""Calls that name their service, as messages of clients do."""

from __future__ import annotations

import typing as t

from ..context import HookContext
from ..errors import BadRequest, MethodNotAllowed, not_an_object, NotFound
from ..http.routes import current_routes
from ..query.bounds import current_bounds, shortened
from ..query.syntax import MAX_DEPTH
from ..query.values import TypedText
from ..signals import method_named

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..context import Params
    from ..extension import FlaskRecords
    from ..service import Service
    from ..typing import Record

MAX_LEVELS: t.Final = 3 * MAX_DEPTH
"""The number of levels of a query where texts are marked."""


def context_of(
    records: FlaskRecords,
    method: str,
    message: Sequence[t.Any],
    params_of: Callable[[Record], Params],
) -> HookContext:
    """Return the context of a call.

    :param message: The path of the service, the arguments of the method, and the query.
    :param params_of: Returns the params of the caller with a query.
    :raises BadRequest: The message does not have these parts.
    :raises NotFound: There is no such service.
    """
    path, *arguments = message or (None,)
    service, route = _service(records, path)
    names = method_named(method).arguments
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

    params = params_of(_typed(query))
    params.route = route
    return HookContext(service, method, params, values.get("id"), values.get("data"))


def run(context: HookContext) -> HookContext:
    """Run a call of a client, and return its context.

    :raises MethodNotAllowed: The service has no such method.
    :raises RecordsError: The client may not make the call, or it has failed.
    """
    service = context.service
    service.check_access(context)

    if context.method not in service.methods:
        raise MethodNotAllowed(
            f"Method '{context.method}' not allowed on service '{service.path}'"
        )

    return service.call(context)


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
