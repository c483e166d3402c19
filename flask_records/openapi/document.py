"""The OpenAPI document of an application."""

from __future__ import annotations

import json
import typing as t

from flask import current_app

from ..context import Params
from ..globals import current_records
from ..http.formatter import dumps
from ..http.routes import current_routes
from .answers import error_answers
from .answers import ERROR_SCHEMA
from .oauth import OAuthViews
from .oauth import TAG
from .operations import Operations
from .rights import services_for
from .security import schemes_of
from .webhooks import webhooks_of

if t.TYPE_CHECKING:
    from ..typing import Record

REALTIME: t.Final = "records_realtime"
"""The key of ``app.extensions`` with the connections that get events."""

VERSION: t.Final = "3.1.0"
"""The version of OpenAPI."""


def document(params: Params | None = None, *, only_usable: bool = False) -> Record:
    """Return the OpenAPI document of the services of the current application, as JSON
    values.

    :param params: The params of the caller who will see it, with its login. An
        anonymous client by default.
    :param only_usable: Leave out the methods that need a login which the caller does
        not have.
    """
    params = params or Params(provider="rest")
    records = current_records
    prefix = current_routes().mount.url_prefix
    has_events = REALTIME in current_app.extensions
    schemas: dict[str, t.Any] = {"Error": ERROR_SCHEMA}
    paths: dict[str, t.Any] = {}
    webhooks: dict[str, t.Any] = {}
    tags = []

    for each in services_for(params, only_usable=only_usable):
        service = each.service
        operations = Operations(records, service, each.schemas)
        tags.append(operations.tag())
        schemas |= operations.schemas()
        paths |= {f"{prefix}{path}": item for path, item in operations.paths()}

        if has_events:
            webhooks |= webhooks_of(each)

        if service.path in records.authentications:
            views = dict(OAuthViews(records, service).paths())
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
