"""The calls that the messages of clients make."""

from __future__ import annotations

import typing as t

from ..errors import BadRequest, MethodNotAllowed, not_an_object, NotFound
from ..http.error_handler import body_of
from ..http.formatter import dumps
from ..http.routes import current_routes
from ..names import method_named, METHODS_BY_NAME
from ..query.bounds import check_answer, current_bounds, shorten
from ..service.context import HookContext

if t.TYPE_CHECKING:
    from ..extension import FlaskRecords
    from ..service import Service
    from .connections import Connection

RESERVED: t.Final = ("connect", "connect_error", "disconnect", "disconnecting")
"""The names of the events of Socket.IO itself, which no method may have."""

NO_ATTACHMENTS: t.Final = "Binary data is not supported. Send it as text in base64."


def answer_json(
    records: FlaskRecords,
    connection: Connection,
    method: str,
    message: tuple[t.Any, ...],
    *,
    is_whole: bool = True,
) -> bytes:
    """Return the arguments of the answer to a message as JSON: an error, or ``null``
    and the result.

    :param message: The path of the service, the arguments of the method, and the query.
    :param is_whole: ``False`` if parts of the arguments are attachments.
    """
    try:
        if not is_whole:
            raise BadRequest(NO_ATTACHMENTS)

        context = _context_of(records, connection, method, message)
        return b"[null,%b]" % _run(context)
    except Exception as error:
        failure = "%s %.100r failed."
        visible = records.errors.report(error, failure, method, message[:1])
        return b"[%b]" % dumps(body_of(visible))


def _context_of(
    records: FlaskRecords,
    connection: Connection,
    method: str,
    message: tuple[t.Any, ...],
) -> HookContext:
    """Return the context of a call."""
    path, *arguments = message or (None,)
    service, route = _service(records, path)
    names = method_named(method).arguments
    expected = (*names, "query")

    if len(arguments) > len(expected):
        text = ", ".join(expected)
        raise BadRequest(f"'{method}' takes no arguments after: {text}.")

    values = dict(zip(expected, arguments, strict=False))
    query = values.get("query")

    # Some clients send an empty query as an empty list.
    if query in (None, []):
        query = {}
    elif not isinstance(query, dict):
        raise BadRequest("The query is not an object.")

    current_bounds().check_query(query)

    if "id" in names and "id" not in values:
        raise BadRequest(f"id for '{method}' can not be undefined")

    data = values.get("data")

    # Clients call custom methods without data.
    if data is None and method not in METHODS_BY_NAME:
        data = {}

    if "data" in names and not isinstance(data, (dict, list)):
        raise not_an_object(method)

    params = connection.params(query)
    params.route = route
    return HookContext(service, method, params, values.get("id"), data)


def _run(context: HookContext) -> bytes:
    """Run a call of a client, and return its result as JSON."""
    service = context.service
    service.check_access(context)

    if context.method not in service.methods:
        raise MethodNotAllowed(
            f"Method '{context.method}' not allowed on service '{service.path}'"
        )

    return service.answer(context, _encode)


def _encode(context: HookContext) -> bytes:
    return check_answer(context.method, dumps(context.sent, context.params.user))


def _service(records: FlaskRecords, path: t.Any) -> tuple[Service, dict[str, t.Any]]:
    if not isinstance(path, str):
        raise NotFound("Invalid service path")

    service_path, route = current_routes().service_at(path)

    if service_path is None or service_path not in records.services:
        raise NotFound(f"Service '{shorten(path.strip('/'))}' not found")

    return records.services[service_path], route
