"""The services of an application, as the explorer shows them to one caller."""

from __future__ import annotations

import typing as t
from contextlib import suppress
from urllib.parse import quote
from urllib.parse import urljoin

from flask import current_app
from flask import request
from flask import url_for

from ..errors import BadRequest
from ..errors import RecordsError
from ..globals import current_records
from ..http.placeholders import fill_placeholders
from ..http.placeholders import placeholders_of
from ..http.placeholders import rule_of
from ..http.routes import current_routes
from ..openapi.calls import Calls
from ..openapi.calls import docstring
from ..openapi.document import REALTIME
from ..openapi.rights import services_for
from ..pagination import Pagination
from ..service.schemas import CustomSchemas
from ..signals import BODIES
from ..signals import READS

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping

    from ..authentication.oauth_settings import OAuthSettings
    from ..authentication.service import AuthenticationService
    from ..context import Params
    from ..openapi.rights import DescribedService
    from ..service import Service
    from ..service.schemas import Schemas
    from ..typing import Record


def description_for(params: Params, route: Mapping[str, t.Any]) -> Record:
    """Return what the explorer shows to a caller: the services that the caller may
    use, each with the methods that the caller may call, as JSON values.

    :param params: The params of the caller, with its login.
    :param route: The values of placeholders in the prefix of services.
    """
    services = list(services_for(params, only_usable=True))
    readable = {each.service.path for each in services if _is_readable(each.service)}
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


def _is_readable(service: Service) -> bool:
    """Return whether a service, with the methods that a caller may use, shows records
    to the caller.
    """
    return not frozenset(READS).isdisjoint(service.methods)


def _described(shown: DescribedService, readable: Collection[str]) -> Record:
    """Return the description of a service, as JSON values.

    :param shown: The service with what the caller may use.
    :param readable: The paths of the services that show records to the caller.
    """
    service, schemas, events = shown
    sizes = getattr(service.target, "pagination", None)
    sizes = sizes if isinstance(sizes, Pagination) else Pagination()
    return {
        "path": service.path,
        "placeholders": placeholders_of(rule_of(service.path)),
        "description": Calls(service, schemas).description,
        "methods": [n for n in service.methods if n not in service.custom_methods],
        "publicMethods": [name for name in service.methods if name in service.public],
        "customMethods": service.custom_methods,
        "custom": {n: _custom(service, schemas, n) for n in service.custom_methods},
        "events": events,
        "id": service.capabilities.id,
        "isPaged": schemas.is_paged,
        "pageSize": sizes.default,
        "maxPageSize": sizes.max,
        "multi": [name for name in service.methods if name in schemas.multi],
        **_bodies(service, schemas),
        **(_shown(schemas, readable) if _is_readable(service) else NOTHING),
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


def _bodies(service: Service, schemas: Schemas) -> Record:
    """Return the schemas of bodies, empty for methods that the caller may not use."""
    return {
        name: getattr(schemas, name) if name in service.methods else {}
        for name in BODIES
    }


def _custom(service: Service, schemas: Schemas, method: str) -> Record:
    known = schemas.custom.get(method, CustomSchemas())
    text = docstring(getattr(service.target, method))
    return {**known._asdict(), "description": text}
