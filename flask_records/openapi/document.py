"""The OpenAPI document of an application."""

from __future__ import annotations

import json
import typing as t

from flask import current_app, has_request_context, request

from ..authentication import Strategy
from ..authentication.records import current_records
from ..authentication.strategies import ACCESS_TOKEN
from ..http.formatter import dumps
from ..http.routes import current_routes, fill_placeholders
from ..service.context import Params
from .description import describe, type_names
from .operations import (
    answer,
    DIRECTION_NAME,
    ENDS,
    ERROR,
    ERROR_SCHEMA,
    ERRORS,
    Operations,
    PIECES,
    reference,
)
from .reference import current_settings, current_title

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..authentication.records import AuthenticationRecords
    from ..service.schemas import Schema
    from ..typing import Record

REALTIME: t.Final = "records_realtime"
"""The key of ``app.extensions`` with the connections that get events."""

SOCKET: t.Final = "records_realtime.socket"
"""The endpoint of clients of Socket.IO."""

STREAM: t.Final = "records_realtime.stream"
"""The endpoint of the stream of events over HTTP."""

SCHEMES: t.Final[Mapping[str, str]] = {"jwt": "token"}
"""The names of schemes that differ from their strategies."""

FAILED: t.Final = (
    "These services are left out, since their descriptions fail (see the log of the"
    " application):"
)
"""Begins the description of a document that is not whole."""

UNKNOWN: t.Final[Schema] = {"type": "apiKey", "in": "header", "name": "Authorization"}
"""The scheme of a strategy that has none of its own."""


def document(params: Params | None = None) -> Record:
    """Return the OpenAPI document of the services of the current application, as JSON
    values.

    :param params: The params of a caller, with its login, for what the caller may use.
        By default, it has all methods, and the fields that anonymous clients see.
    """
    return t.cast("Record", json.loads(document_text(params)))


def document_text(params: Params | None = None) -> bytes:
    """Return :func:`document` as JSON text."""
    records, settings = current_records, current_settings()
    prefix = current_routes().url_prefix
    schemes = _schemes(records)
    # Type names are the same in the documents of all callers.
    names = type_names(ENDS, [ERROR, DIRECTION_NAME])
    schemas: dict[str, t.Any] = {ERROR: ERROR_SCHEMA}
    paths: dict[str, t.Any] = {}
    tags: list[Mapping[str, str]] = []
    caller = params or Params(provider="rest")
    services = describe(caller, only_usable=params is not None)
    sound = tuple(service for service in services if service.is_sound())
    failed = ", ".join(each.path for each in services if each not in sound)

    for service in sound:
        strategies = records.accesses[service.path].strategies
        accepted = [SCHEMES.get(name, name) for name in strategies]
        schemed: list[Schema] = [{name: []} for name in accepted if name in schemes]
        operations = Operations(service, sound, names, schemed)
        text = {"description": service.text} if service.text else {}
        tags.append({"name": service.tag, **text})
        schemas |= operations.schemas()
        paths |= {f"{prefix}{path}": item for path, item in operations.paths()}

    if STREAM in current_app.view_functions:
        path, operation = _stream([{}, *({name: []} for name in schemes)])
        paths[path] = {"get": operation}
        tags.append({"name": path.strip("/")})

    error = reference(ERROR)
    root = request.script_root if has_request_context() else ""
    content = {
        "openapi": "3.1.0",
        "info": {
            "title": current_title(),
            "version": settings.version,
            **({"description": f"{FAILED} {failed}."} if failed else {}),
        },
        "servers": [{"url": root or "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {n: answer(text, error) for n, text in ERRORS.values()},
            **({"securitySchemes": schemes} if schemes else {}),
        },
        "tags": tags,
    }
    return dumps(content)


def _stream(security: list[dict[str, t.Any]]) -> tuple[str, dict[str, t.Any]]:
    """Return the path of the stream of events, with its operation."""
    path = next(current_app.url_map.iter_rules(STREAM)).rule.rstrip("/")
    return path, {
        "operationId": "streamEvents",
        "tags": [path.strip("/")],
        "summary": "Get events as they happen",
        "description": "Each has the name of the 'event', its 'data' and the 'path' of"
        " its service. The first one is 'connected'.",
        "responses": {"200": PIECES, "default": reference(ERROR, "responses")},
        "security": security,
    }


def _schemes(records: AuthenticationRecords) -> dict[str, Schema]:
    """Return the schemes of all strategies that read the headers of requests."""
    root = fill_placeholders(current_routes().url_prefix, "{{{}}}".format)
    paths = " or ".join(f"POST {root}/{path}" for path in records.authentications)
    token = f"The {ACCESS_TOKEN} of the answer to {paths}."
    return {
        SCHEMES.get(name, name): {
            "description": token if name in SCHEMES else f"The strategy '{name}'.",
            **(strategy.scheme or UNKNOWN),
        }
        for authentication in records.authentications.values()
        for name, strategy in authentication.strategies.items()
        if isinstance(strategy, Strategy) and strategy.parse is not None
    }
