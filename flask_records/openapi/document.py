"""The OpenAPI document of an application."""

from __future__ import annotations

import json
import typing as t

from flask import current_app

from ..context import Params
from ..globals import current_records
from ..http.formatter import dumps
from ..http.routes import current_routes
from .answers import error_answers, ERROR_SCHEMA, JSON
from .description import describe
from .oauth import OAuthViews, TAG
from .operations import ENDS, Operations
from .security import schemes_of
from .type_names import type_names

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..typing import Record
    from .description import ServiceDescription

REALTIME: t.Final = "records_realtime"
"""The key of ``app.extensions`` with the connections that get events."""

VERSION: t.Final = "3.1.0"
"""The version of OpenAPI."""

RESERVED: t.Final = ("Error",)
"""The names of schemas that are not those of services."""

EVENT_SUMMARIES: t.Final = {
    "created": "A record was created",
    "updated": "A record was replaced",
    "patched": "A record was changed",
    "removed": "A record was removed",
}

EVENT_DESCRIPTION: t.Final = (
    "Sent over Socket.IO to the clients that may see it, and not by HTTP."
)


def document(params: Params | None = None, *, only_usable: bool = False) -> Record:
    """Return the OpenAPI document of the services of the current application, as JSON
    values.

    :param params: The params of the caller who will see it, with its login. An
        anonymous client by default.
    :param only_usable: Leave out the methods that need a login which the caller does
        not have.
    """
    params = params or Params(provider="rest")
    return document_of(describe(params, only_usable=only_usable))


def document_of(services: Iterable[ServiceDescription]) -> Record:
    """Return the OpenAPI document of services of the current application, as JSON
    values.
    """
    records = current_records
    prefix = current_routes().mount.url_prefix
    has_events = REALTIME in current_app.extensions
    # They are the same in the documents of all callers.
    names = type_names(dict.fromkeys(records.services), ENDS, RESERVED)
    schemas: dict[str, t.Any] = {"Error": ERROR_SCHEMA}
    paths: dict[str, t.Any] = {}
    webhooks: dict[str, t.Any] = {}
    tags = []

    for service in services:
        operations = Operations(records, service, names[service.path])
        tags.append(operations.tag())
        schemas |= operations.schemas()
        paths |= {f"{prefix}{path}": item for path, item in operations.paths()}

        if has_events:
            webhooks |= _webhooks_of(service, operations)

        if service.path in records.authentications:
            views = dict(OAuthViews(records, service.path, operations.record).paths())
            tags += [TAG] if views else []
            paths |= {f"{prefix}{path}": item for path, item in views.items()}

    components: dict[str, t.Any] = {"schemas": schemas, "responses": error_answers()}

    if records.authentications:
        components["securitySchemes"] = schemes_of(records)

    made = {
        "openapi": VERSION,
        "info": {"title": current_app.name, "version": "1"},
        "paths": paths,
        **({"webhooks": webhooks} if webhooks else {}),
        "components": components,
        "tags": tags,
    }
    return t.cast("Record", json.loads(dumps(made)))


def _webhooks_of(
    service: ServiceDescription, operations: Operations
) -> Iterator[tuple[str, dict[str, t.Any]]]:
    """Yield the events of a service that clients get, by name. OpenAPI has no other
    place for what a server sends by itself.
    """
    for event, schema in service.events.items():
        content = {JSON: {"schema": operations.shown(schema)}}
        yield (
            f"{service.path} {event}",
            {
                "post": {
                    "operationId": f"{operations.name}{event[0].upper()}{event[1:]}",
                    "tags": [service.path],
                    "summary": EVENT_SUMMARIES.get(event, f"The event {event}"),
                    "description": EVENT_DESCRIPTION,
                    "requestBody": {"required": True, "content": content},
                    "responses": {"default": {"description": "There is no answer."}},
                }
            },
        )
