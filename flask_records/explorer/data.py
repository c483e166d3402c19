"""The services of an application, as the explorer shows them to one caller."""

from __future__ import annotations

import typing as t
from contextlib import suppress
from urllib.parse import quote, urljoin

from flask import current_app, request, url_for

from ..errors import BadRequest, RecordsError
from ..globals import current_records
from ..http.placeholders import fill_placeholders
from ..http.routes import current_routes
from ..openapi.description import describe
from ..openapi.document import REALTIME
from ..signals import BODIES

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..authentication.oauth_settings import OAuthSettings
    from ..authentication.service import AuthenticationService
    from ..context import Params
    from ..openapi.description import ServiceDescription
    from ..service.schemas import Schemas
    from ..typing import Record


def data_for(params: Params, route: Mapping[str, t.Any]) -> Record:
    """Return what the explorer shows to a caller: the services that the caller may
    use, each with the methods that the caller may call, as JSON values.

    :param params: The params of the caller, with its login.
    :param route: The values of placeholders in the prefix of services.
    """
    services = describe(params, only_usable=True)
    readable = {each.path for each in services if each.is_readable}
    authenticator = params.authenticator
    return {
        **entrance(route),
        "user": _user(params),
        "userPath": authenticator.users_path if authenticator else None,
        "services": [_described(each, readable) for each in services],
    }


def entrance(route: Mapping[str, t.Any]) -> Record:
    """Return what a caller needs to log in: no more than the application tells anybody.

    :param route: The values of placeholders in the prefix of services.
    """
    root = _root(route)
    return {
        "name": current_app.name,
        "prefix": root,
        "realtime": _realtime(),
        "logins": [
            _login(path, issuer, root)
            for path, issuer in current_records.authentications.items()
        ],
    }


def _root(route: Mapping[str, t.Any]) -> str:
    """Return the beginning of the addresses of services."""
    prefix = fill_placeholders(
        current_routes().mount.url_prefix,
        lambda name: quote(str(route[name]), safe=""),
    )
    return f"{request.script_root}{prefix}"


def _login(path: str, issuer: AuthenticationService, root: str) -> Record:
    """Return what the page needs to log in at an authentication service.

    :param root: The beginning of the addresses of services.
    """
    settings = issuer.settings.oauth
    back = _way_back(settings)
    return {
        "path": path,
        "local": issuer.login_fields,
        "oauth": [
            {
                "name": name,
                "title": each.title,
                "url": f"{root}/oauth/{name}",
                "redirect": back,
            }
            for name, each in settings.providers.items()
        ],
    }


def _way_back(settings: OAuthSettings) -> str | None:
    """Return the ``redirect`` that leads from a provider back to the page, or ``None``
    if the application lets nobody return there.
    """
    page = url_for(".page", **(request.view_args or {}))
    url = urljoin(request.host_url, page)

    for redirect in (page, page.removeprefix(request.script_root), url):
        with suppress(BadRequest):
            target = settings.redirects.target(redirect)

            if target is not None and urljoin(url, target) == url:
                return redirect

    return None


def _realtime() -> Record | None:
    server = current_app.extensions.get(REALTIME)

    if server is None:
        return None

    return {"path": f"{request.script_root}{server.settings.url_path.rstrip('/')}"}


def _user(params: Params) -> t.Any:
    """Return the caller as the caller may see it, or at least its identifier."""
    authenticator = params.authenticator

    if authenticator is None or params.user_id is None:
        return None

    try:
        return authenticator.users.part_of_call(params).get(params.user_id)
    except RecordsError:
        return {authenticator.id: params.user_id}


def _described(service: ServiceDescription, readable: Collection[str]) -> Record:
    """Return what the explorer shows of a service, as JSON values.

    :param readable: The paths of the services that show records to the caller.
    """
    calls = {call.method: call for call in reversed(service.calls)}
    custom = {n: calls[n] for n in service.methods if calls[n].is_custom}
    schemas = service.schemas
    return {
        "path": service.path,
        "placeholders": service.placeholders,
        "description": service.text,
        "methods": [name for name in service.methods if name not in custom],
        "publicMethods": [n for n in service.methods if calls[n].is_public],
        "customMethods": [*custom],
        "custom": {
            name: {"data": call.data, "result": call.result, "description": call.text}
            for name, call in custom.items()
        },
        "events": [*service.events],
        "id": service.id,
        "isPaged": schemas.is_paged,
        "pageSize": service.pages.default,
        "maxPageSize": service.pages.max,
        "multi": [call.method for call in service.calls if call.is_many],
        **{n: getattr(schemas, n) if n in calls else {} for n in BODIES},
        **(_shown(schemas, readable) if service.is_readable else NOTHING),
    }


NOTHING: t.Final[Record] = {
    "record": {},
    "query": {},
    "relations": {},
    "references": {},
}
"""The place of what records show, for callers that may not read them."""


def _shown(schemas: Schemas, readable: Collection[str]) -> Record:
    """Return what records show, and relationships to the records of others."""
    return {
        "record": schemas.record,
        "query": schemas.query,
        "relations": {
            name: {"path": each.path, "isList": each.is_list, "field": each.field}
            for name, each in schemas.relations.items()
            if each.path in readable
        },
        "references": {
            name: path for name, path in schemas.references.items() if path in readable
        },
    }
