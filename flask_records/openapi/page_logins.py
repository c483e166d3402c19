"""The logins that a page of this package offers."""

from __future__ import annotations

import typing as t
from contextlib import suppress
from urllib.parse import quote
from urllib.parse import urljoin

from flask import request
from flask import url_for

from ..errors import BadRequest
from ..globals import current_records
from ..http.placeholders import fill_placeholders
from ..http.routes import current_routes

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..authentication.oauth_settings import OAuthSettings
    from ..authentication.service import AuthenticationService
    from ..typing import Record

PAGE: t.Final = ".page"
"""The endpoint of the page, beside those of what it shows."""

CODE: t.Final = "code"
"""The response of providers' logins that keeps tokens out of addresses."""


def root_of(route: Mapping[str, t.Any]) -> str:
    """Return the beginning of the addresses of services.

    :param route: The values of placeholders in the prefix of services.
    """
    prefix = fill_placeholders(
        current_routes().mount.url_prefix,
        lambda name: quote(str(route[name]), safe=""),
    )
    return f"{request.script_root}{prefix}"


def page_logins(root: str) -> list[Record]:
    """Return what the page of the request needs to log in, for each authentication
    service, as JSON values: no more than the application tells anybody.

    :param root: The beginning of the addresses of services.
    """
    issuers = current_records.authentications.items()
    return [_login(path, issuer, root) for path, issuer in issuers]


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
