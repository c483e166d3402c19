"""The services of an application, as the explorer shows them to one caller."""

from __future__ import annotations

import typing as t

from flask import current_app
from flask import request
from flask import url_for

from ..errors import RecordsError
from ..globals import current_records
from ..openapi.calls import BODIES
from ..openapi.calls import Calls
from ..openapi.events import event_names
from ..openapi.rights import usable_services
from ..pagination import Pagination
from ..service.schemas import CustomSchemas
from ..signals import READS

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..authentication import AuthenticationService
    from ..context import Params
    from ..service import Service
    from ..service.schemas import Schemas
    from ..typing import Record

LOCAL: t.Final = "local"
"""The strategy of logins with a password."""

REALTIME: t.Final = "records_realtime"
"""The key of ``app.extensions`` with the connections that get events."""

FILES: t.Final = "flask_records.static"
"""An endpoint below the prefix of services."""


def description_for(params: Params, route: Mapping[str, t.Any]) -> Record:
    """Return what the explorer shows to a caller: the services that the caller may
    use, each with the methods that the caller may call, as JSON values.

    :param params: The params of the caller, with its login.
    :param route: The values of placeholders in the prefix of services.
    """
    services = usable_services(current_records.services.values(), params)
    authenticator = params.authenticator
    return {
        **entrance(route),
        "hasCalls": current_app.debug,
        "user": _user(params),
        "userPath": authenticator.users_path if authenticator else None,
        "services": [_described(service, params) for service in services],
    }


def entrance(route: Mapping[str, t.Any]) -> Record:
    """Return what a caller needs to log in: no more than the application tells anybody.

    :param route: The values of placeholders in the prefix of services.
    """
    root = url_for(FILES, filename="-", **route).removesuffix("/flask_records/-")
    issuers = current_records.authentications.items()
    return {
        "name": current_app.name,
        "prefix": root,
        "realtime": _realtime(),
        "logins": [_login(path, issuer, root) for path, issuer in issuers],
    }


def _realtime() -> Record | None:
    server = current_app.extensions.get(REALTIME)

    if server is None:
        return None

    return {"path": f"{request.script_root}{server.wsgi.path.rstrip('/')}"}


def _login(path: str, issuer: AuthenticationService, root: str) -> Record:
    settings = issuer.settings
    local = {"username": issuer.username, "password": issuer.password}
    return {
        "path": path,
        "local": local if LOCAL in settings.strategies else None,
        "oauth": [
            {"name": name, "title": each.title, "url": f"{root}/oauth/{name}"}
            for name, each in settings.oauth.providers.items()
        ],
    }


def _user(params: Params) -> t.Any:
    """Return the caller as the caller may see it, or at least its identifier."""
    authenticator = params.authenticator

    if authenticator is None or params.user_id is None:
        return None

    try:
        return authenticator.users.part_of_call(params).get(params.user_id)
    except RecordsError:
        return {authenticator.id: params.user_id}


def _described(service: Service, params: Params) -> Record:
    """Return the description of a service with the methods that the caller may use."""
    schemas = service.capabilities.schemas_for(params)
    sizes = getattr(service.target, "pagination", None)
    sizes = sizes if isinstance(sizes, Pagination) else Pagination()
    return {
        "path": service.path,
        "description": Calls(service, schemas).description,
        "methods": [n for n in service.methods if n not in service.custom_methods],
        "publicMethods": [name for name in service.methods if name in service.public],
        "customMethods": service.custom_methods,
        "custom": {n: _custom(schemas, n) for n in service.custom_methods},
        "events": _events(service, schemas, params),
        "id": service.capabilities.id,
        "isPaged": schemas.is_paged,
        "pageSize": sizes.default,
        "maxPageSize": sizes.max,
        "multi": [name for name in service.methods if name in schemas.multi],
        **_used(service, schemas),
    }


def _used(service: Service, schemas: Schemas) -> Record:
    """Return what the methods of a service need. The schema of anything is in the place
    of others, which would tell fields to callers that may not read them.
    """
    is_read = not frozenset(READS).isdisjoint(service.methods)
    return {
        "record": schemas.record if is_read else {},
        "query": schemas.query if is_read else {},
        "relations": {
            name: {"path": each.path, "isList": each.is_list, "field": each.field}
            for name, each in schemas.relations.items()
            if is_read
        },
        **{
            name: getattr(schemas, name) if name in service.methods else {}
            for name in BODIES
        },
    }


def _custom(schemas: Schemas, method: str) -> Record:
    return schemas.custom.get(method, CustomSchemas())._asdict()


def _events(service: Service, schemas: Schemas, params: Params) -> list[str]:
    """Return the names of the events that a caller of a service may get."""
    # Others make changes that the caller may not make.
    whole = current_records.services[service.path]
    is_accepted = current_records.accepts(whole, params) or not whole.public.isdisjoint(
        READS
    )
    return list(event_names(whole, schemas)) if is_accepted else []
