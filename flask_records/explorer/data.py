"""The services of an application, as the explorer shows them to one caller."""

from __future__ import annotations

import typing as t
from contextlib import suppress
from urllib.parse import urljoin

from flask import current_app, request, url_for

from ..database.transaction import undone
from ..errors import NotFound, RecordsError
from ..extension import current_records
from ..http.routes import current_routes
from ..names import BODIES, METHODS, READS
from ..openapi.description import describe, references_of
from ..openapi.document import REALTIME, SOCKET, STREAM
from ..openapi.reference import current_title
from ..query.bounds import current_bounds
from ..service.context import Params

if t.TYPE_CHECKING:
    from ..openapi.description import ServiceDescription
    from ..typing import Record


FAILED: t.Final = "Its description has failed: see the log of the application."


def services_for(params: Params, path: str = "") -> Record:
    """Return the services that a caller may use, each with the methods that the caller
    may call, as JSON values. The one at the path is described whole.
    """
    authenticator = params.authenticator
    services = []

    for each in describe(params, only_usable=True):
        services.append(_summary(each))

        if each.path == path:
            services[-1] |= each.attempt(lambda: service_for(params, path)) or {}

    # Services without records, such as authentication, are last.
    services.sort(key=lambda each: {*READS}.isdisjoint(each["methods"]))
    return {
        **entrance(),
        "user": _user(params),
        "userPath": authenticator.users_path if authenticator else None,
        "endsLogins": bool(authenticator and authenticator.token_store),
        "services": services,
    }


def service_for(params: Params, path: str) -> Record:
    """Return the schemas of a service that a caller may use, as JSON values."""
    services = _usable_with(params, path)
    service = services[path]
    readable = {n: e for n, e in services.items() if {*READS} & {*e.methods}}
    schemas = service.schemas
    calls = {call.method: call for call in reversed(service.calls)}
    details = {
        "record": schemas.record,
        "query": schemas.query,
        "relations": {
            name: {"path": each.path, "isList": each.is_list, "field": each.field}
            for name, each in schemas.relations.items()
            if each.path in readable
        },
        **references_of(path, readable),
    }
    return {
        **(details if path in readable else dict.fromkeys(details, {})),
        **{n: getattr(schemas, n) if n in calls else {} for n in BODIES},
        "custom": {
            name: {"data": call.data, "result": call.result, "description": call.text}
            for name, call in calls.items()
            if call.is_custom
        },
        "pageSize": service.pages.default,
        "maxPageSize": service.pages.max,
        "maxMany": current_bounds().multi,
        "maxScans": current_bounds().scans,
        "multi": [call.method for call in service.calls if call.is_many],
    }


def find_as(params: Params, id: str, path: str, query: Record) -> t.Any:
    """Return what another user finds, by the rules of a service. What its hooks write
    meanwhile is undone. The caller has to be able to get the user, at the
    authentication service of the caller's login, and to use the service.
    """
    issuer = params.authenticator
    service = _usable_with(params, path)[path].service
    record = issuer.users.as_caller(params, is_counted=False).get(id)
    user = issuer.get_user(record[issuer.id])
    login = {"strategy": "jwt"}
    own = Params(provider=params.provider, authentication=login, authenticator=issuer)
    own.authenticated, own.user, own.user_id = True, user, user[issuer.id]
    current_app.logger.info("%s sees %s as %s.", params.user_id, path, own.user_id)

    with undone():
        return service.as_caller(own, is_counted=False).find(query)


def log_out(params: Params, id: str) -> None:
    """Log a user out everywhere, whom the caller has to be able to patch."""
    issuer = params.authenticator

    if issuer is None or issuer.token_store is None:
        raise NotFound("No users are logged out here.")

    with undone():
        issuer.users.as_caller(params).patch(id, {})

    issuer.revoke_user(id)


def _usable_with(params: Params, path: str) -> dict[str, ServiceDescription]:
    """Return the services that a caller may use by path, which include one."""
    services = {each.path: each for each in describe(params, only_usable=True)}

    if path not in services:
        raise NotFound(f"There is no service '{path}' that you may use.")

    return services


def entrance() -> Record:
    """Return what a caller needs to log in, which the application shows to anybody."""
    root = f"{request.script_root}{current_routes().url_prefix}"
    server = current_app.extensions.get(REALTIME)
    path = server and url_for(SOCKET).rstrip("/")
    stream = STREAM in current_app.view_functions and url_for(STREAM).rstrip("/")
    # Werkzeug decodes the host of its own URLs, which some hosts do not survive.
    page = urljoin(f"{request.scheme}://{request.host}", url_for(".page"))
    return {
        "name": current_title(),
        "prefix": root,
        "realtime": server and {"path": path, "stream": stream or None},
        "logins": [
            {
                "path": path,
                "local": issuer.login_fields,
                "oauth": [
                    {
                        "name": name,
                        "title": each.title,
                        "url": f"{root}/oauth/{name}",
                        "redirect": issuer.settings.oauth.redirect_to(
                            page, request.script_root
                        ),
                    }
                    for name, each in issuer.settings.oauth.providers.items()
                ],
            }
            for path, issuer in current_records.authentications.items()
        ],
    }


def _user(params: Params) -> t.Any:
    """Return the caller as the caller may see it, or at least its identifier."""
    issuer = params.authenticator

    if issuer is None or params.user_id is None:
        return None

    with suppress(RecordsError):
        users = issuer.users.as_caller(params, is_counted=False)
        return users.get(params.user_id)

    return {issuer.id: params.user_id}


def _summary(service: ServiceDescription) -> Record:
    """Return what the list of services shows of one, as JSON values."""
    public = service.service.public

    summary = service.attempt(lambda: (service.text, service.is_paged))
    text, is_paged = summary or (FAILED, False)
    return {
        "description": text,
        "isPaged": is_paged,
        "path": service.path,
        "placeholders": service.placeholders,
        "methods": [name for name in service.methods if name in METHODS],
        "publicMethods": [name for name in service.methods if name in public],
        "customMethods": [name for name in service.methods if name not in METHODS],
        "events": service.event_names,
        "id": service.id,
    }
