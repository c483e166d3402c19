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
from ..http.routes import current_routes
from ..openapi.document import REALTIME
from ..openapi.rights import usable_services
from ..openapi.type_names import PLACEHOLDER
from .services import described
from .services import is_readable

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..authentication import AuthenticationService
    from ..authentication.oauth_settings import OAuthSettings
    from ..context import Params
    from ..typing import Record

PAGE: t.Final = ".page"
"""The endpoint of the page, beside those of what it shows."""

CODE: t.Final = "code"
"""The response of providers' logins that keeps tokens out of addresses."""


def description_for(params: Params, route: Mapping[str, t.Any]) -> Record:
    """Return what the explorer shows to a caller: the services that the caller may
    use, each with the methods that the caller may call, as JSON values.

    :param params: The params of the caller, with its login.
    :param route: The values of placeholders in the prefix of services.
    """
    services = list(usable_services(current_records.services.values(), params))
    readable = {service.path for service in services if is_readable(service)}
    authenticator = params.authenticator
    return {
        **entrance(route),
        "hasCalls": current_app.debug,
        "user": _user(params),
        "userPath": authenticator.users_path if authenticator else None,
        "services": [described(service, params, readable) for service in services],
    }


def entrance(route: Mapping[str, t.Any]) -> Record:
    """Return what a caller needs to log in: no more than the application tells anybody.

    :param route: The values of placeholders in the prefix of services.
    """
    prefix = PLACEHOLDER.sub(
        lambda found: quote(str(route[found[1]]), safe=""),
        current_routes().mount.url_prefix,
    )
    root = f"{request.script_root}{prefix}"
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
    back = _way_back(settings.oauth)
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
            for name, each in settings.oauth.providers.items()
        ],
    }


def _way_back(settings: OAuthSettings) -> str | None:
    """Return the ``redirect`` that leads from a provider back to the page, or ``None``
    if the application lets nobody return there, or would do so with a token in the
    address.
    """
    if settings.response != CODE:
        return None

    page = url_for(PAGE, **(request.view_args or {}))
    url = urljoin(request.host_url, page)

    for redirect in (page, page.removeprefix(request.script_root), url):
        with suppress(BadRequest):
            target = settings.redirects.target(redirect)

            if target is not None and urljoin(url, target) == url:
                return redirect

    return None


def _user(params: Params) -> t.Any:
    """Return the caller as the caller may see it, or at least its identifier."""
    authenticator = params.authenticator

    if authenticator is None or params.user_id is None:
        return None

    try:
        return authenticator.users.part_of_call(params).get(params.user_id)
    except RecordsError:
        return {authenticator.id: params.user_id}
