"""The OpenAPI document of an application over HTTP, and the page that shows it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from flask import current_app, make_response, render_template, request, url_for

from ..authentication.access import params_of_visitor
from ..authentication.records import current_records
from ..http.developer_pages import (
    page_blueprint,
    PageSettings,
    PATH,
    protect,
    send_json,
)
from ..http.routes import current_routes
from ..settings import TEXT

if t.TYPE_CHECKING:
    from flask import Flask, Response

    from ..http.developer_pages import Views
    from ..http.error_handler import ErrorHandler
    from ..http.routes import Routes

SETTING: t.Final = "RECORDS_OPENAPI"
"""The key of ``app.config`` that has the settings of an application."""

NAME: t.Final = "records_openapi"
"""The name of the blueprint, and the key of ``app.extensions`` with the settings."""

FILES_PATH: t.Final = "/flask_records/openapi"
"""The path of the files of the page, below the prefix of services."""


@dataclass(frozen=True, kw_only=True)
class ReferenceSettings(PageSettings):
    """The settings of an application: ``RECORDS_OPENAPI``."""

    document: str = "/openapi.json"
    """The path of the OpenAPI document, below the prefix of services."""

    page: str = "/docs"
    """The path of the page that shows the OpenAPI document."""

    title: str | None = None
    """The title of the document. The name of the application by default."""

    version: str = "1"
    """The version of the document."""

    CHECKS = {
        **PageSettings.CHECKS,
        "document": PATH,
        "page": PATH,
        "title": TEXT.or_none(),
        "version": TEXT,
    }


def init_app(app: Flask, routes: Routes, errors: ErrorHandler) -> None:
    """Add the document and the page to an application that may have them.

    :raises RuntimeError: A setting is not valid.
    """
    settings = ReferenceSettings.of(app.config.get(SETTING), SETTING)
    app.extensions[NAME] = settings

    if settings.document == settings.page:
        raise RuntimeError(f"{SETTING} has the same path twice: {settings.page!r}.")

    if settings.is_on(app):
        views: Views = {
            "document": (settings.document, _send_document),
            "page": (settings.page, _send_page),
        }
        pages = page_blueprint(NAME, __package__, errors, FILES_PATH, views)
        routes.add(app, pages)


def current_settings() -> ReferenceSettings:
    """Return the settings of the current application."""
    return t.cast("ReferenceSettings", current_app.extensions[NAME])


def current_title() -> str:
    """Return the title of the current application."""
    return current_settings().title or current_app.name


def _send_document(**route: t.Any) -> Response:
    """Send the document for the caller, or as anonymous clients may see it."""
    # Applications without the page do not need it.
    from .document import document_text

    is_own, settings = request.args.get("for") == "me", current_settings()
    params = None

    if is_own or settings.needs_login:
        params = params_of_visitor(request.headers)
        settings.check(params)

    return send_json(document_text(params if is_own else None))


def _send_page(**route: t.Any) -> Response:
    page = render_template(
        "flask_records/reference.html",
        route=route,
        login=_login(route),
        has_logins=bool(current_records.authentications),
    )
    return protect(make_response(page))


def _login(route: dict[str, t.Any]) -> dict[str, str] | None:
    """Return the address and the fields of logins with a password, if there are any."""
    for path, issuer in current_records.authentications.items():
        fields = issuer.login_fields

        if fields is not None:
            url = url_for(current_routes().endpoint_of(path), **route)
            return {"url": url, **fields}

    return None
